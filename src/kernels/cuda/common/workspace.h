// Temporary device memory of kernels. Allocation advances a pointer, and the end of the scope frees the memory. Kernels
// that later reuse the memory are queued after the kernels of the scope, so no synchronisation is needed. Each thread
// has its own workspace and another one for the side stream, both kept until the thread ends: after the first pass
// nothing is allocated, and the addresses in a captured graph stay valid.
#pragma once

#include <cstddef>

#include "kernels/kernels.h"

namespace fovea::cuda {

class Workspace {
 public:
  explicit Workspace(const Stream& stream);
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  template <class T> T* allocate(int64_t count) {
    return reinterpret_cast<T*>(allocate_bytes(static_cast<size_t>(count) * sizeof(T)));
  }

 private:
  std::byte* allocate_bytes(size_t bytes);

  Device device_;
  size_t block_, offset_;  // the position at the start of the scope
};

}  // namespace fovea::cuda
