#include "tensor/cuda.h"

namespace fovea::cuda {

namespace {
[[noreturn]] void absent() { fail("cuda: this build has no CUDA support; configure with -DFOVEA_CUDA=ON"); }
}  // namespace

bool is_built() { return false; }
int device_count() { return 0; }
void* stream(Device) { absent(); }
void use(Device) { absent(); }
void synchronize(Device) { absent(); }
void require(int, std::string_view) { absent(); }
size_t memory_size(Device) { absent(); }
std::byte* allocate(Device, size_t) { absent(); }
void release(Device, std::byte*) noexcept {}
void zero(Device, std::byte*, size_t) { absent(); }
void copy(Device, std::byte*, Device, const std::byte*, size_t) { absent(); }
uint64_t copies_to_host(Device) { return 0; }

bool Graph::available(Device) { return false; }
Graph::Graph(Device device, const std::function<void()>&) : device_(device) { absent(); }
Graph::~Graph() = default;
void Graph::launch() const { absent(); }

SideStreamScope::SideStreamScope(Device) {}
SideStreamScope::~SideStreamScope() {
  static_cast<void>(active_);
}  // cuda.cpp has a destructor, so the class declares one
void join_side_stream(Device) {}
bool on_side_stream() { return false; }

TimingEvent::TimingEvent(Device) { absent(); }
TimingEvent::~TimingEvent() { static_cast<void>(event_); }
double TimingEvent::seconds_since(const TimingEvent&) const { return 0.0; }

}  // namespace fovea::cuda
