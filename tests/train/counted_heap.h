// Counts what this program asks of the heap: every operator new, and every aligned_alloc of the library.
// oneDNN builds a small map of arguments inside each execute; those calls are its own and are left out.
#pragma once

#include <cstdint>

namespace fovea::testing {

int64_t heap_allocations();

}  // namespace fovea::testing
