// Memory a kernel needs while it runs: kept by each thread, only ever growing, so that the steady state
// asks nobody for any. `Name` is a type that names the place: scratch<float, struct RowSums>(n). What was
// there before is lost when it grows; two places that are in use at once need two names.
#pragma once

#include <algorithm>
#include <cstddef>

#include "tensor/memory.h"

namespace fovea::cpu {

class Scratch {
 public:
  Scratch() = default;
  ~Scratch() { free_memory(Device::cpu(), data_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::byte* get(size_t bytes) {
    if (bytes > bytes_) {
      const size_t more = std::max(bytes, 2 * bytes_);
      std::byte* data = allocate_memory(Device::cpu(), more);
      free_memory(Device::cpu(), data_);
      data_ = data;
      bytes_ = more;
    }
    return data_;
  }

 private:
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

// count elements, not set, aligned to kAlignment.
template <class T, class Name> T* scratch(size_t count) {
  thread_local Scratch memory;
  return reinterpret_cast<T*>(memory.get(count * sizeof(T)));
}

}  // namespace fovea::cpu
