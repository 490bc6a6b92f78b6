#include "tensor/cuda.h"

namespace fovea::cuda {

namespace {
[[noreturn]] void absent() { fail("cuda: this build has no CUDA; configure with -DFOVEA_CUDA=ON"); }
}  // namespace

int device_count() { return 0; }
void* stream(Device) { absent(); }
void use(Device) { absent(); }
void synchronize(Device) { absent(); }
void require(int, std::string_view) { absent(); }
std::byte* allocate(Device, size_t) { absent(); }
void release(Device, std::byte*) noexcept {}
void zero(Device, std::byte*, size_t) { absent(); }
void copy(Device, std::byte*, Device, const std::byte*, size_t) { absent(); }

}  // namespace fovea::cuda
