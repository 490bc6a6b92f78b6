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

// Pinned memory that copies from the host pass through, in two halves: one is filled while the card reads the
// other. A half is filled again only when the card has read all of it.
class Staging {
 public:
  void send(std::byte* to, const std::byte* from, size_t bytes, cudaStream_t stream) {
    if (memory_ == nullptr) make();
    while (bytes > 0) {
      if (used_ >= kHalf) turn(stream);
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

  void make() {
    for (cudaEvent_t& event : read_) {
      require(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "creating an event");
    }
    memory_ = pinned(2 * kHalf);
  }
  void turn(cudaStream_t stream) {
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
  std::mutex mutex;  // of the staging
  Staging staging;
  std::atomic<uint64_t> copies_to_host = 0;
};

// The graph that this thread is recording: on streams of its own, so that the others go on.
class Recorder {
 public:
  Recorder(Device on, std::vector<std::byte*>& copies) : device(on), copied(copies) {
    int least = 0, greatest = 0;
    require(cudaDeviceGetStreamPriorityRange(&least, &greatest), "querying stream priorities");
    require(cudaStreamCreateWithPriority(&trunk_, cudaStreamNonBlocking, greatest), "creating a stream");
    require(cudaStreamCreateWithPriority(&branch_, cudaStreamNonBlocking, least), "creating a stream");
    require(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "creating an event");
  }
  ~Recorder() {
    static_cast<void>(cudaEventDestroy(event_));
    static_cast<void>(cudaStreamDestroy(branch_));
    static_cast<void>(cudaStreamDestroy(trunk_));
  }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  cudaStream_t trunk() const { return trunk_; }
  cudaStream_t stream() const { return on_branch_ ? branch_ : trunk_; }
  bool on_branch() const { return on_branch_; }
  bool has_branched() const { return has_branched_; }
  void begin_branch() {
    follow(trunk_, branch_);
    on_branch_ = branches_ = has_branched_ = true;
  }
  void end_branch() { on_branch_ = false; }
  void join_branches() {
    if (branches_) follow(branch_, trunk_);
    branches_ = false;
  }

  const Device device;
  std::vector<std::byte*>& copied;  // what is copied from the host, kept

 private:
  void follow(cudaStream_t first, cudaStream_t then) {
    require(cudaEventRecord(event_, first), "recording an event");
    require(cudaStreamWaitEvent(then, event_, 0), "waiting for an event");
  }

  cudaStream_t trunk_ = nullptr, branch_ = nullptr;
  cudaEvent_t event_ = nullptr;
  bool on_branch_ = false, branches_ = false, has_branched_ = false;
};
thread_local Recorder* recorder = nullptr;
Recorder* recorder_of(Device device) { return recorder != nullptr && recorder->device == device ? recorder : nullptr; }

// Cards are never destroyed: tensors may be freed after the last static object.
Card& card(Device device) {
  static std::mutex mutex;
  static std::array<Card*, kMostDevices> cards = {};
  fovea::check(device.index < device_count(), "cuda: there are {} GPUs, got {}", device_count(), device);
  use(device);
  const std::lock_guard lock(mutex);
  Card*& made = cards[device.index];
  if (made == nullptr) {
    auto fresh = std::make_unique<Card>();
    require(cudaStreamCreateWithFlags(&fresh->stream, cudaStreamNonBlocking), "creating a stream");
    made = fresh.release();
  }
  return *made;
}

// Where this thread queues its work.
cudaStream_t queue(Device device) {
  const Recorder* recording = recorder_of(device);
  return recording != nullptr ? recording->stream() : card(device).stream;
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

// cudaFree waits for work that may still use the memory. At the end of the process the runtime may be gone.
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
    if (Recorder* recording = recorder_of(to_device)) {
      std::byte* kept = recording->copied.emplace_back(pinned(bytes));
      std::memcpy(kept, from, bytes);
      require(cudaMemcpyAsync(to, kept, bytes, cudaMemcpyHostToDevice, recording->stream()), "copying to the GPU");
      return;
    }
    Card& target = card(to_device);
    const std::lock_guard lock(target.mutex);
    target.staging.send(to, from, bytes, target.stream);
  } else if (to_device.on_host()) {
    fovea::check(recorder_of(from_device) == nullptr, "cuda: cannot copy to the host while a graph is captured");
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
  cudaGraph_t recorded = nullptr;
  const auto let_go = [&] {
    if (recorded != nullptr) static_cast<void>(cudaGraphDestroy(recorded));
  };
  try {
    Recorder recording(device, copied_);
    require(cudaStreamBeginCapture(recording.trunk(), cudaStreamCaptureModeRelaxed), "capturing a graph");
    recorder = &recording;
    try {
      work();
      recording.join_branches();
    } catch (...) {
      recorder = nullptr;
      static_cast<void>(cudaStreamEndCapture(recording.trunk(), &recorded));
      throw;
    }
    recorder = nullptr;
    require(cudaStreamEndCapture(recording.trunk(), &recorded), "capturing a graph");
    cudaGraphExec_t made = nullptr;
    const unsigned flags = recording.has_branched() ? cudaGraphInstantiateFlagUseNodePriority : 0;
    require(cudaGraphInstantiate(&made, recorded, flags), "instantiating a graph");
    graph_ = made;
  } catch (...) {
    let_go();
    for (std::byte* bytes : copied_) static_cast<void>(cudaFreeHost(bytes));
    static_cast<void>(cudaGetLastError());
    throw;
  }
  let_go();
}

// It may still be running.
Graph::~Graph() {
  static_cast<void>(cudaStreamSynchronize(card(device_).stream));
  static_cast<void>(cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph_)));
  for (std::byte* bytes : copied_) static_cast<void>(cudaFreeHost(bytes));
  static_cast<void>(cudaGetLastError());
}

void Graph::launch() const {
  require(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph_), card(device_).stream), "launching a graph");
}

Branch::Branch(Device device) : begun_(recorder_of(device) != nullptr && !on_branch()) {
  if (begun_) recorder->begin_branch();
}
Branch::~Branch() {
  if (begun_) recorder->end_branch();
}

void join_branches(Device device) {
  if (Recorder* recording = recorder_of(device)) recording->join_branches();
}

bool on_branch() { return recorder != nullptr && recorder->on_branch(); }

Mark::Mark(Device device) {
  const cudaStream_t own = queue(device);
  cudaEvent_t event = nullptr;
  require(cudaEventCreate(&event), "creating an event");
  event_ = event;
  const unsigned flags = recorder_of(device) != nullptr ? cudaEventRecordExternal : cudaEventRecordDefault;
  require(cudaEventRecordWithFlags(event, own, flags), "recording an event");
}

Mark::~Mark() {
  if (event_ != nullptr) static_cast<void>(cudaEventDestroy(static_cast<cudaEvent_t>(event_)));
}

double Mark::seconds_since(const Mark& earlier) const {
  const auto to = static_cast<cudaEvent_t>(event_);
  require(cudaEventSynchronize(to), "running kernels");
  float milliseconds = 0.0f;
  require(cudaEventElapsedTime(&milliseconds, static_cast<cudaEvent_t>(earlier.event_), to), "measuring");
  return 1e-3 * static_cast<double>(milliseconds);
}

}  // namespace fovea::cuda
