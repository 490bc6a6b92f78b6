#include "tensor/cuda.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "tensor/memory.h"

namespace fovea::cuda {

namespace {

constexpr int kMostDevices = 16;

std::byte* pinned(size_t bytes) {
  void* memory = nullptr;
  require(cudaMallocHost(&memory, bytes), "allocating pinned memory");
  return static_cast<std::byte*>(memory);
}

// A double buffer of pinned memory for copies from the host: the host fills one half while the device reads the other.
// A half is refilled only after the device has read all of it.
class Staging {
 public:
  void send(std::byte* to, const std::byte* from, size_t bytes, cudaStream_t stream) {
    if (memory_ == nullptr) allocate_buffers();
    while (bytes > 0) {
      if (used_ >= kHalf) swap_halves(stream);
      const size_t piece = std::min(bytes, kHalf - used_);
      std::byte* at = memory_ + static_cast<size_t>(half_) * kHalf + used_;
      std::memcpy(at, from, piece);
      require(cudaMemcpyAsync(to, at, piece, cudaMemcpyHostToDevice, stream), "copying to the GPU");
      used_ += (piece + kAlignment - 1) / kAlignment * kAlignment;
      to += piece;
      from += piece;
      bytes -= piece;
    }
  }

 private:
  static constexpr size_t kHalf = size_t{4} << 20;

  void allocate_buffers() {
    for (cudaEvent_t& event : read_) {
      require(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "creating an event");
    }
    memory_ = pinned(2 * kHalf);
  }
  void swap_halves(cudaStream_t stream) {
    require(cudaEventRecord(read_[half_], stream), "recording an event");
    half_ = 1 - half_;
    require(cudaEventSynchronize(read_[half_]), "waiting for copies to the GPU");
    used_ = 0;
  }

  std::byte* memory_ = nullptr;
  cudaEvent_t read_[2] = {};
  int half_ = 0;
  size_t used_ = 0;
};

struct Card {
  cudaStream_t stream = nullptr;
  std::mutex mutex;  // guards staging
  Staging staging;
  std::atomic<uint64_t> copies_to_host = 0;
};

// The capture in progress on this thread. It uses its own streams, so that other threads can continue to queue work.
class Capture {
 public:
  Capture(Device on, std::vector<std::byte*>& copies) : device(on), copied(copies) {
    int least = 0, greatest = 0;
    require(cudaDeviceGetStreamPriorityRange(&least, &greatest), "querying stream priorities");
    require(cudaStreamCreateWithPriority(&main_, cudaStreamNonBlocking, greatest), "creating a stream");
    require(cudaStreamCreateWithPriority(&side_, cudaStreamNonBlocking, least), "creating a stream");
    require(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "creating an event");
  }
  ~Capture() {
    static_cast<void>(cudaEventDestroy(event_));
    static_cast<void>(cudaStreamDestroy(side_));
    static_cast<void>(cudaStreamDestroy(main_));
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  cudaStream_t main_stream() const { return main_; }
  cudaStream_t stream() const { return on_side_stream_ ? side_ : main_; }
  bool on_side_stream() const { return on_side_stream_; }
  bool used_side_stream() const { return used_side_stream_; }
  void begin_side_stream() {
    add_dependency(main_, side_);
    on_side_stream_ = side_pending_ = used_side_stream_ = true;
  }
  void end_side_stream() { on_side_stream_ = false; }
  void join_side_stream() {
    if (side_pending_) add_dependency(side_, main_);
    side_pending_ = false;
  }

  const Device device;
  std::vector<std::byte*>& copied;  // pinned sources of the copies from the host, which the graph owns

 private:
  // Makes `then` wait for the work queued on `first`.
  void add_dependency(cudaStream_t first, cudaStream_t then) {
    require(cudaEventRecord(event_, first), "recording an event");
    require(cudaStreamWaitEvent(then, event_, 0), "waiting for an event");
  }

  cudaStream_t main_ = nullptr, side_ = nullptr;
  cudaEvent_t event_ = nullptr;
  bool on_side_stream_ = false, side_pending_ = false, used_side_stream_ = false;
};
thread_local Capture* current_capture = nullptr;
Capture* capture_on(Device device) {
  return current_capture != nullptr && current_capture->device == device ? current_capture : nullptr;
}

// Cards are never destroyed, because tensors may be freed after the last static object.
Card& card(Device device) {
  static std::mutex mutex;
  static std::array<Card*, kMostDevices> cards = {};
  fovea::check(device.index < device_count(), "cuda: there are {} GPUs, got {}", device_count(), device);
  use(device);
  const std::lock_guard lock(mutex);
  Card*& own = cards[device.index];
  if (own == nullptr) {
    auto fresh = std::make_unique<Card>();
    require(cudaStreamCreateWithFlags(&fresh->stream, cudaStreamNonBlocking), "creating a stream");
    own = fresh.release();
  }
  return *own;
}

// Returns the stream on which this thread queues its work.
cudaStream_t queue(Device device) {
  const Capture* capture = capture_on(device);
  return capture != nullptr ? capture->stream() : card(device).stream;
}

}  // namespace

void require(int status, std::string_view what) {
  const auto error = static_cast<cudaError_t>(status);
  if (error == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  fail("cuda: {} failed: {} ({})", what, cudaGetErrorName(error), cudaGetErrorString(error));
}

bool is_built() { return true; }

int device_count() {
  static const int count = [] {
    int found = 0;
    if (cudaGetDeviceCount(&found) != cudaSuccess) found = 0;
    static_cast<void>(cudaGetLastError());
    return std::min(found, kMostDevices);
  }();
  return count;
}

void use(Device device) {
  thread_local int current = -1;
  if (current == device.index) return;
  fovea::check(device.index < device_count(), "cuda: there are {} GPUs, got {}", device_count(), device);
  require(cudaSetDevice(device.index), "selecting a GPU");
  current = device.index;
}

void* stream(Device device) { return queue(device); }

void synchronize(Device device) { require(cudaStreamSynchronize(card(device).stream), "running kernels"); }

size_t memory_size(Device device) {
  card(device);
  size_t left = 0, all = 0;
  require(cudaMemGetInfo(&left, &all), "querying free memory");
  return all;
}

std::byte* allocate(Device device, size_t bytes) {
  card(device);
  void* data = nullptr;
  const cudaError_t status = cudaMalloc(&data, std::max<size_t>(bytes, 1));
  if (status == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    size_t left = 0, all = 0;
    static_cast<void>(cudaMemGetInfo(&left, &all));
    throw OutOfMemory(
        fmt::format("out of memory: cannot allocate {} bytes on {}: {} of {} are free; try a smaller batch or model",
                    bytes, device, left, all));
  }
  require(status, "allocating GPU memory");
  return static_cast<std::byte*>(data);
}

// cudaFree waits for work that may still use the memory. At the end of the process the runtime may have shut down.
void release(Device device, std::byte* data) noexcept {
  try {
    use(device);
    static_cast<void>(cudaFree(data));
  } catch (const Error&) {
  }
  static_cast<void>(cudaGetLastError());
}

void zero(Device device, std::byte* data, size_t bytes) {
  if (bytes == 0) return;
  require(cudaMemsetAsync(data, 0, bytes, queue(device)), "setting memory to zero");
}

void copy(Device to_device, std::byte* to, Device from_device, const std::byte* from, size_t bytes) {
  if (bytes == 0) return;
  if (from_device.on_host()) {
    if (Capture* capture = capture_on(to_device)) {
      std::byte* source = capture->copied.emplace_back(pinned(bytes));
      std::memcpy(source, from, bytes);
      require(cudaMemcpyAsync(to, source, bytes, cudaMemcpyHostToDevice, capture->stream()), "copying to the GPU");
      return;
    }
    Card& target = card(to_device);
    const std::lock_guard lock(target.mutex);
    target.staging.send(to, from, bytes, target.stream);
  } else if (to_device.on_host()) {
    fovea::check(capture_on(from_device) == nullptr, "cuda: cannot copy to the host while a graph is captured");
    Card& source = card(from_device);
    ++source.copies_to_host;
    require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, source.stream), "copying from the GPU");
    require(cudaStreamSynchronize(source.stream), "running kernels");
  } else if (to_device == from_device) {
    require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, queue(to_device)), "copying on the GPU");
  } else {
    synchronize(from_device);
    synchronize(to_device);
    require(cudaMemcpyPeer(to, to_device.index, from, from_device.index, bytes), "copying between GPUs");
  }
}

uint64_t copies_to_host(Device device) { return card(device).copies_to_host; }

bool Graph::available(Device device) { return !device.on_host(); }

Graph::Graph(Device device, const std::function<void()>& work) : device_(device) {
  card(device);
  cudaGraph_t captured = nullptr;
  const auto destroy_captured = [&] {
    if (captured != nullptr) static_cast<void>(cudaGraphDestroy(captured));
  };
  try {
    Capture capture(device, copied_);
    require(cudaStreamBeginCapture(capture.main_stream(), cudaStreamCaptureModeRelaxed), "capturing a graph");
    current_capture = &capture;
    try {
      work();
      capture.join_side_stream();
    } catch (...) {
      current_capture = nullptr;
      static_cast<void>(cudaStreamEndCapture(capture.main_stream(), &captured));
      throw;
    }
    current_capture = nullptr;
    require(cudaStreamEndCapture(capture.main_stream(), &captured), "capturing a graph");
    cudaGraphExec_t executable = nullptr;
    const unsigned flags = capture.used_side_stream() ? cudaGraphInstantiateFlagUseNodePriority : 0;
    require(cudaGraphInstantiate(&executable, captured, flags), "instantiating a graph");
    graph_ = executable;
  } catch (...) {
    destroy_captured();
    for (std::byte* bytes : copied_) static_cast<void>(cudaFreeHost(bytes));
    static_cast<void>(cudaGetLastError());
    throw;
  }
  destroy_captured();
}

// The graph may still be running.
Graph::~Graph() {
  static_cast<void>(cudaStreamSynchronize(card(device_).stream));
  static_cast<void>(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph_)));
  for (std::byte* bytes : copied_) static_cast<void>(cudaFreeHost(bytes));
  static_cast<void>(cudaGetLastError());
}

void Graph::launch() const {
  require(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph_), card(device_).stream), "launching a graph");
}

SideStreamScope::SideStreamScope(Device device) : active_(capture_on(device) != nullptr && !on_side_stream()) {
  if (active_) current_capture->begin_side_stream();
}
SideStreamScope::~SideStreamScope() {
  if (active_) current_capture->end_side_stream();
}

void join_side_stream(Device device) {
  if (Capture* capture = capture_on(device)) capture->join_side_stream();
}

bool on_side_stream() { return current_capture != nullptr && current_capture->on_side_stream(); }

TimingEvent::TimingEvent(Device device) {
  const cudaStream_t own = queue(device);
  cudaEvent_t event = nullptr;
  require(cudaEventCreate(&event), "creating an event");
  event_ = event;
  const unsigned flags = capture_on(device) != nullptr ? cudaEventRecordExternal : cudaEventRecordDefault;
  require(cudaEventRecordWithFlags(event, own, flags), "recording an event");
}

TimingEvent::~TimingEvent() {
  if (event_ != nullptr) static_cast<void>(cudaEventDestroy(static_cast<cudaEvent_t>(event_)));
}

double TimingEvent::seconds_since(const TimingEvent& earlier) const {
  const auto to = static_cast<cudaEvent_t>(event_);
  require(cudaEventSynchronize(to), "running kernels");
  float milliseconds = 0.0f;
  require(cudaEventElapsedTime(&milliseconds, static_cast<cudaEvent_t>(earlier.event_), to), "measuring");
  return 1e-3 * static_cast<double>(milliseconds);
}

}  // namespace fovea::cuda
