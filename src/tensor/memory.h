// Memory of a device, and buffers that own a piece of it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "tensor/device.h"

namespace fovea {

constexpr size_t kAlignment = 64;  // one cache line, one AVX-512 register, one AMX tile row

std::byte* allocate_memory(Device device, size_t bytes);  // OutOfMemory when there is none left
void free_memory(Device device, std::byte* data) noexcept;
void zero_memory(Device device, std::byte* data, size_t bytes);
// Between any two devices; on return `from` may be changed and `to` be read by whatever is called next.
void copy_memory(Device to_device, std::byte* to, Device from_device, const std::byte* from, size_t bytes);

// What a backend keeps about a buffer's contents (packed or rounded copies of weights). It belongs to
// the buffer, so that it goes when the buffer goes.
class Buffer;
class Derived {
 public:
  virtual ~Derived() = default;
  // Brings copies up to date that are read by what was recorded before. Nothing to do where copies are made when
  // they are asked for.
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

  // Whoever changes the contents of a buffer that products read as weights says so here.
  void contents_changed() { version_.fetch_add(1, std::memory_order_relaxed); }
  uint64_t version() const { return version_.load(std::memory_order_relaxed); }
  void refresh_derived() {
    const std::lock_guard lock(derived_mutex);
    if (derived) derived->refresh(*this);
  }

  // The backend's copies: made on first use, guarded by the mutex.
  std::mutex derived_mutex;
  std::unique_ptr<Derived> derived;

 private:
  Device device_;
  size_t bytes_;
  std::byte* data_;
  std::atomic<uint64_t> version_{1};
};

}  // namespace fovea
