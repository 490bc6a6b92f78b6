// The host's memory in a card's place, for kernels that are compiled for the host (see kernels/cuda/emulated).
#include <cstdlib>
#include <cstring>

#include "tensor/cuda.h"

namespace fovea::cuda {

int device_count() { return 1; }
void* stream(Device) {
  static int only;
  return &only;
}
void use(Device) {}
void synchronize(Device) {}
void require(int, std::string_view) {}
std::byte* allocate(Device, size_t bytes) {
  return static_cast<std::byte*>(std::aligned_alloc(256, (bytes / 256 + 1) * 256));
}
void release(Device, std::byte* data) noexcept { std::free(data); }
void zero(Device, std::byte* data, size_t bytes) { std::memset(data, 0, bytes); }
void copy(Device, std::byte* to, Device, const std::byte* from, size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace fovea::cuda
