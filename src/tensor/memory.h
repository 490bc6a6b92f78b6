// Allocation of device memory, and buffers that own it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "tensor/device.h"
#include "tensor/quantised.h"

namespace fovea {

constexpr size_t kAlignment = 64;  // one cache line, one AVX-512 register, one AMX tile row

std::byte* allocate_memory(Device device, size_t bytes);  // throws OutOfMemory
void free_memory(Device device, std::byte* data) noexcept;
void zero_memory(Device device, std::byte* data, size_t bytes);
// Copies between any two devices. On return `from` may be changed and any later call may read `to`.
void copy_memory(Device to_device, std::byte* to, Device from_device, const std::byte* from, size_t bytes);

// Copies that a backend derives from the contents of a buffer (packed or rounded weights). The buffer owns them, so
// that they are freed together.
class Buffer;
class Derived {
 public:
  virtual ~Derived() = default;
  // Updates the copies that a captured graph reads. A backend that updates its copies on access does nothing here.
  virtual void refresh(const Buffer&) {}
};

class Buffer {
 public:
  Buffer(Device device, size_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  Device device() const { return device_; }
  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

  // Must be called after the contents of a buffer of weights have changed, so that derived copies are updated.
  void contents_changed() { contents_changed(data_, bytes_); }
  void contents_changed(const std::byte* from, size_t bytes) {
    if (quantised_) quantised_->drop(from, from + bytes);
    version_.fetch_add(1, std::memory_order_relaxed);
  }
  uint64_t version() const { return version_.load(std::memory_order_relaxed); }
  void refresh_derived() {
    const std::lock_guard lock(derived_mutex);
    if (derived) derived->refresh(*this);
  }

  // Defines elements of a buffer on the host by a matrix in 8 bits. No other thread may use the buffer.
  void set_quantised(std::byte* to, QuantisedMatrix matrix);
  // Computes elements that are defined in 8 bits. Must be called before they are read or written, if needs_widening().
  void widen(const std::byte* from, size_t bytes) const { quantised_->widen(from, from + bytes); }
  bool needs_widening() const { return quantised_ && quantised_->pending(); }
  QuantisedRow quantised_row(const std::byte* at, int64_t columns) const {
    return quantised_ ? quantised_->row(at, columns) : QuantisedRow{};
  }

  // The copies of the backend, created on first use and guarded by the mutex.
  std::mutex derived_mutex;
  std::unique_ptr<Derived> derived;

 private:
  Device device_;
  size_t bytes_;
  std::byte* data_;
  std::atomic<uint64_t> version_{1};
  std::unique_ptr<QuantisedContents> quantised_;
};

}  // namespace fovea
