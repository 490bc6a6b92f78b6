// What the tensor room asks of a graphics card: memory, copies and the queue they are ordered on. One of three files
// stands behind it: cuda.cpp, emulated_cuda.cpp where kernels run on the host, or no_cuda.cpp in a build without CUDA,
// where everything is an Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/device.h"

namespace fovea::cuda {

bool is_built();     // whether this build has CUDA
int device_count();  // 0 in a build without CUDA, and on a machine without a card
// The cudaStream_t of a device. All threads queue on the same one, so that what one thread has written another
// may read without waiting; but a thread that records a graph has its own meanwhile.
void* stream(Device device);
void use(Device device);          // makes it the one this thread's CUDA calls are about
void synchronize(Device device);  // waits for everything queued
// Error when a call of the CUDA runtime failed (`status` is its cudaError_t).
void require(int status, std::string_view what);

size_t memory_size(Device device);  // all of it, in bytes, used or not
std::byte* allocate(Device device, size_t bytes);
void release(Device device, std::byte* data) noexcept;
void zero(Device device, std::byte* data, size_t bytes);
// To a device: copied into pinned memory at once and from there in the stream's order, so that the host does not
// wait. From a device: waits.
void copy(Device to_device, std::byte* to, Device from_device, const std::byte* from, size_t bytes);

uint64_t copies_to_host(Device device);  // so far: work that makes any cannot be recorded

// Work on a device's stream, recorded once and queued again with one call. What it reads and writes stays where it
// was: the memory must be there, and hold what the work expects, whenever it is queued. A copy from the host is
// repeated with the bytes it had when it was recorded; a copy to the host cannot be recorded. Other threads may use
// the device meanwhile.
class Graph {
 public:
  static bool available(Device device);
  Graph(Device device, const std::function<void()>& work);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch() const;

 private:
  Device device_;
  void* graph_ = nullptr;           // cudaGraphExec_t
  std::vector<std::byte*> copied_;  // pinned: what was copied from the host
};

// While it lives, what this thread records goes on a branch of the graph: it comes after what was recorded before, and
// beside what is recorded afterwards, until the branches are joined. A branch gives way to the rest where both want the
// card. All of them come after one another. Without effect while nothing is recorded.
class Branch {
 public:
  explicit Branch(Device device);
  ~Branch();
  Branch(const Branch&) = delete;
  Branch& operator=(const Branch&) = delete;

 private:
  bool begun_ = false;
};
void join_branches(Device device);  // what is recorded from now on comes after them
bool on_branch();                   // whether this thread is on one

// A point in a device's stream, or in the graph that is being recorded, for measuring.
class Mark {
 public:
  explicit Mark(Device device);
  ~Mark();
  Mark(Mark&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Mark& operator=(Mark&&) = delete;
  // What the card last took from there to here. Waits for it.
  double seconds_since(const Mark& earlier) const;

 private:
  void* event_ = nullptr;  // cudaEvent_t
};

}  // namespace fovea::cuda
