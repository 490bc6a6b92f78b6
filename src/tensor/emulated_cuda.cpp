// The host's memory in a card's place, for kernels that are compiled for the host (see kernels/cuda/emulated).
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

Branch::Branch(Device) {}
Branch::~Branch() { static_cast<void>(begun_); }
void join_branches(Device) {}
bool on_branch() { return false; }

Mark::Mark(Device) {}
Mark::~Mark() = default;
double Mark::seconds_since(const Mark&) const { return 0.0; }

}  // namespace fovea::cuda
