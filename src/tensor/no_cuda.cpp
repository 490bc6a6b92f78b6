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

Branch::Branch(Device) {}
Branch::~Branch() { static_cast<void>(begun_); }  // the other file's does something, too
void join_branches(Device) {}
bool on_branch() { return false; }

Mark::Mark(Device) { absent(); }
Mark::~Mark() { static_cast<void>(event_); }
double Mark::seconds_since(const Mark&) const { return 0.0; }

}  // namespace fovea::cuda
