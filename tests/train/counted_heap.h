// Counts heap allocations of this program: every operator new, and every aligned_alloc of the library.
#pragma once

#include <cstdint>

namespace fovea::testing {

int64_t heap_allocations();

}  // namespace fovea::testing
