// Memory, copies, streams and graphs of a CUDA device. One of three files implements it: cuda.cpp; emulated_cuda.cpp,
// where kernels run on the host; or no_cuda.cpp in a build without CUDA, where every call throws Error.
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
// Returns the cudaStream_t of a device. All threads share it, so that a thread may read what another has written
// without synchronisation; a thread that captures a graph uses its own stream meanwhile.
void* stream(Device device);
void use(Device device);          // makes it the current device of this thread
void synchronize(Device device);  // waits for all queued work
// Throws Error when a call of the CUDA runtime failed (`status` is its cudaError_t).
void require(int status, std::string_view what);

size_t memory_size(Device device);  // total size in bytes, used or not
std::byte* allocate(Device device, size_t bytes);
void release(Device device, std::byte* data) noexcept;
void zero(Device device, std::byte* data, size_t bytes);
// A copy to a device passes through pinned memory and is ordered by the stream, so that the host does not wait. A copy
// to the host waits for its completion.
void copy(Device to_device, std::byte* to, Device from_device, const std::byte* from, size_t bytes);

uint64_t copies_to_host(Device device);  // number of copies so far; work that performs one cannot be captured

// A captured CUDA graph: the work is captured once and launched again with one call. Every launch reads and writes the
// same addresses, so the memory must stay allocated. A copy from the host repeats the bytes it had at capture; a copy
// to the host cannot be captured. Other threads may use the device during the capture.
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
  std::vector<std::byte*> copied_;  // pinned sources of the captured copies from the host
};

// Within the scope, the work that this thread captures goes to the side stream: it starts after the work captured
// before and runs concurrently with the work captured afterwards, until the side stream is joined. The side stream has
// a lower priority than the main stream. Has no effect while no graph is captured.
class SideStreamScope {
 public:
  explicit SideStreamScope(Device device);
  ~SideStreamScope();
  SideStreamScope(const SideStreamScope&) = delete;
  SideStreamScope& operator=(const SideStreamScope&) = delete;

 private:
  bool active_ = false;
};
void join_side_stream(Device device);  // makes the main stream wait for the side stream
bool on_side_stream();                 // whether this thread is in a SideStreamScope that has an effect

// A CUDA event in a device's stream, or in the graph that is being captured, for measuring time.
class TimingEvent {
 public:
  explicit TimingEvent(Device device);
  ~TimingEvent();
  TimingEvent(TimingEvent&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  TimingEvent& operator=(TimingEvent&&) = delete;
  // Returns the time between the two events when they last ran. Waits for this one.
  double seconds_since(const TimingEvent& earlier) const;

 private:
  void* event_ = nullptr;  // cudaEvent_t
};

}  // namespace fovea::cuda
