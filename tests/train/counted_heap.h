// Counts heap allocations of this program: every operator new, and every aligned_alloc of the library. Allocations
// inside oneDNN, which builds a small map of arguments in each execute, are not counted.
#pragma once

#include <cstdint>

namespace fovea::testing {

int64_t heap_allocations();

}  // namespace fovea::testing
