// Temporary memory of kernels. Each thread keeps its own, which only grows, so that the steady state does not allocate
// from the heap. The type `Name` identifies the use:
//
//   float* sums = workspace<float, struct RowSums>(rows);
//
// Two buffers that are in use at the same time need different names.
#pragma once

#include <cstddef>

#include "tensor/memory.h"

namespace fovea::cpu {

class Workspace {
 public:
  Workspace() = default;
  ~Workspace() { free_memory(Device::cpu(), data_); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  // Returns at least `count` elements, aligned to kAlignment. Growing discards the previous contents.
  template <class T> T* get(size_t count) {
    const size_t bytes = count * sizeof(T);
    if (bytes > bytes_) {
      free_memory(Device::cpu(), data_);
      data_ = nullptr;
      bytes_ = 0;
      data_ = allocate_memory(Device::cpu(), bytes);
      bytes_ = bytes;
    }
    return reinterpret_cast<T*>(data_);
  }

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

template <class T, class Name> T* workspace(size_t count) {
  thread_local Workspace memory;
  return memory.get<T>(count);
}

}  // namespace fovea::cpu
