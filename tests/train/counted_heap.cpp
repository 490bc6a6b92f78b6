// These operators have a file of their own, so that the compiler does not warn of mismatched allocations in tests.
#include "train/counted_heap.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<int64_t> allocations{0};

void* counted(size_t bytes, size_t alignment) {
  allocations.fetch_add(1);
  const bool wide = alignment > alignof(std::max_align_t);
  void* data = nullptr;
  if (wide) {
    if (posix_memalign(&data, alignment, bytes) != 0) data = nullptr;
  } else {
    data = std::malloc(bytes);
  }
  if (data == nullptr) throw std::bad_alloc();
  return data;
}

}  // namespace

int64_t fovea::testing::heap_allocations() { return allocations.load(); }

void* operator new(size_t bytes) { return counted(bytes, 0); }
void* operator new[](size_t bytes) { return counted(bytes, 0); }
// std::stable_sort calls this one and works without a buffer if it returns null.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return counted(bytes, 0);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new(size_t bytes, std::align_val_t alignment) { return counted(bytes, static_cast<size_t>(alignment)); }
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete[](void* data) noexcept { std::free(data); }
void operator delete(void* data, size_t) noexcept { std::free(data); }
void operator delete[](void* data, size_t) noexcept { std::free(data); }
void operator delete(void* data, std::align_val_t) noexcept { std::free(data); }
void operator delete[](void* data, std::align_val_t) noexcept { std::free(data); }
void operator delete(void* data, size_t, std::align_val_t) noexcept { std::free(data); }
void operator delete[](void* data, size_t, std::align_val_t) noexcept { std::free(data); }

// The linker redirects the library's calls of aligned_alloc to this function (see tests/CMakeLists.txt).
extern "C" void* __real_aligned_alloc(size_t alignment, size_t bytes);
extern "C" void* __wrap_aligned_alloc(size_t alignment, size_t bytes) {
  allocations.fetch_add(1);
  return __real_aligned_alloc(alignment, bytes);
}
