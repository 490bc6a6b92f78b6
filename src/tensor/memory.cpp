#include "tensor/memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "tensor/cuda.h"

namespace fovea {

namespace {

constexpr size_t kHugePage = size_t{1} << 21, kLarge = 2 * kHugePage;

}  // namespace

std::byte* allocate_memory(Device device, size_t bytes) {
  if (!device.on_host()) return cuda::allocate(device, bytes);
  const size_t alignment = bytes >= kLarge ? kHugePage : kAlignment;
  const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* data = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (data == nullptr) {
    throw OutOfMemory(
        fmt::format("out of memory: cannot allocate {} bytes on {}; try a smaller batch or model", bytes, device));
  }
#if defined(MADV_HUGEPAGE)
  // A pass touches hundreds of megabytes, and with small pages TLB misses would take much of its time.
  if (bytes >= kLarge) ::madvise(data, rounded, MADV_HUGEPAGE);
#endif
  return static_cast<std::byte*>(data);
}

void free_memory(Device device, std::byte* data) noexcept {
  if (!device.on_host()) return cuda::release(device, data);
  std::free(data);
}

void zero_memory(Device device, std::byte* data, size_t bytes) {
  if (!device.on_host()) return cuda::zero(device, data, bytes);
  std::memset(data, 0, bytes);
}

void copy_memory(Device to_device, std::byte* to, Device from_device, const std::byte* from, size_t bytes) {
  if (!to_device.on_host() || !from_device.on_host()) return cuda::copy(to_device, to, from_device, from, bytes);
  if (bytes > 0) std::memcpy(to, from, bytes);  // an empty tensor may have a null address
}

Buffer::Buffer(Device device, size_t bytes) : device_(device), bytes_(bytes), data_(allocate_memory(device, bytes)) {}

void Buffer::set_quantised(std::byte* to, QuantisedMatrix matrix) {
  if (matrix.rows * matrix.columns == 0) return;
  if (!quantised_) quantised_ = std::make_unique<QuantisedContents>();
  quantised_->add(reinterpret_cast<float*>(to), std::move(matrix));
  version_.fetch_add(1, std::memory_order_relaxed);
}

Buffer::~Buffer() { free_memory(device_, data_); }

}  // namespace fovea
