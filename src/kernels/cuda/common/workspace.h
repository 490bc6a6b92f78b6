// Working memory of kernels. It is taken by moving a pointer and given back when the scope ends; what was launched
// before then runs before whatever is launched on the same memory afterwards. Each thread has its own and keeps it,
// and another one on a branch of a graph: after a first pass nothing is allocated, and the addresses a captured graph
// holds stay valid.
#pragma once

#include <cstddef>

#include "kernels/kernels.h"

namespace fovea::cuda {

class Scratch {
 public:
  explicit Scratch(const Stream& stream);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  template <class T> T* take(int64_t count) {
    return reinterpret_cast<T*>(bytes(static_cast<size_t>(count) * sizeof(T)));
  }

 private:
  std::byte* bytes(size_t count);

  Device device_;
  size_t block_, offset_;  // where it was when the scope began
};

}  // namespace fovea::cuda
