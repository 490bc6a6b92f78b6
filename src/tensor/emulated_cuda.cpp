// Host memory that takes the place of device memory, for CUDA kernels compiled for the host (see
// kernels/cuda/emulated).
#include <cstdlib>
#include <cstring>

#include "tensor/cuda.h"

namespace fovea::cuda {

bool is_built() { return true; }
int device_count() { return 1; }
void* stream(Device) {
  static int only;
  return &only;
}
void use(Device) {}
void synchronize(Device) {}
void require(int, std::string_view) {}
size_t memory_size(Device) { return size_t{1} << 32; }
std::byte* allocate(Device, size_t bytes) {
  return static_cast<std::byte*>(std::aligned_alloc(256, (bytes / 256 + 1) * 256));
}
void release(Device, std::byte* data) noexcept { std::free(data); }
void zero(Device, std::byte* data, size_t bytes) { std::memset(data, 0, bytes); }
void copy(Device, std::byte* to, Device, const std::byte* from, size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}
uint64_t copies_to_host(Device) { return 0; }

bool Graph::available(Device) { return false; }
Graph::Graph(Device device, const std::function<void()>&) : device_(device) {
  fail("cuda: the emulation cannot capture graphs");
}
Graph::~Graph() = default;
void Graph::launch() const {}

SideStreamScope::SideStreamScope(Device) {}
SideStreamScope::~SideStreamScope() { static_cast<void>(active_); }
void join_side_stream(Device) {}
bool on_side_stream() { return false; }

TimingEvent::TimingEvent(Device) {}
TimingEvent::~TimingEvent() = default;
double TimingEvent::seconds_since(const TimingEvent&) const { return 0.0; }

}  // namespace fovea::cuda
