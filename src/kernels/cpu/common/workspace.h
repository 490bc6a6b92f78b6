// Working memory of a kernel: kept by each thread, only ever growing, so that the steady state asks the
// heap for nothing. The type `Name` names the place:
//
//   float* sums = scratch<float, struct RowSums>(rows);
//
// Two places in use at once need two names.
#pragma once

#include <cstddef>

#include "tensor/memory.h"

namespace fovea::cpu {

class Scratch {
 public:
  Scratch() = default;
  ~Scratch() { free_memory(Device::cpu(), data_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // At least `count` elements, aligned to kAlignment. What was there before is lost when it grows.
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

template <class T, class Name> T* scratch(size_t count) {
  thread_local Scratch memory;
  return memory.get<T>(count);
}

}  // namespace fovea::cpu
