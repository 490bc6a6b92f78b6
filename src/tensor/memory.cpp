#include "tensor/memory.h"

#include <cstdlib>
#include <cstring>

namespace fovea {

namespace {

void require_host(Device device) {
  check(device.on_host(), "memory: expected a device this build has, got {} (this is a build without CUDA)", device);
}

}  // namespace

std::byte* allocate_memory(Device device, size_t bytes) {
  require_host(device);
  const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* data = std::aligned_alloc(kAlignment, rounded == 0 ? kAlignment : rounded);
  check(data != nullptr, "memory: expected {} bytes on {}, got none; lower the batch size or the model's", bytes,
        device);
  return static_cast<std::byte*>(data);
}

void free_memory(Device, std::byte* data) noexcept { std::free(data); }

void zero_memory(Device device, std::byte* data, size_t bytes) {
  require_host(device);
  std::memset(data, 0, bytes);
}

void copy_memory(Device to_device, std::byte* to, Device from_device, const std::byte* from, size_t bytes) {
  require_host(to_device);
  require_host(from_device);
  if (bytes > 0) std::memcpy(to, from, bytes);  // an empty one may have no address
}

Buffer::Buffer(Device device, size_t bytes) : device_(device), bytes_(bytes), data_(allocate_memory(device, bytes)) {}

Buffer::~Buffer() { free_memory(device_, data_); }

}  // namespace fovea
