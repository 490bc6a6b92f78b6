#include "kernels/kernels.h"

#include "kernels/cpu/cpu.h"
#include "kernels/reference/reference.h"

namespace fovea {

namespace {

const KernelTable* replaced[3] = {};

const KernelTable& own_kernels(Device device) {
  switch (device.kind) {
    case Device::Kind::kReference: return reference_kernels();
    case Device::Kind::kCpu: return cpu_kernels();
    case Device::Kind::kCuda: break;
  }
  fail("kernels: expected a device this build has, got {} (this is a build without CUDA)", device);
}

}  // namespace

const KernelTable& kernels(Device device) {
  const KernelTable* other = replaced[static_cast<int>(device.kind)];
  return other != nullptr ? *other : own_kernels(device);
}

void replace_kernels(Device device, const KernelTable* table) { replaced[static_cast<int>(device.kind)] = table; }

Stream& stream(Device device) {
  thread_local Stream streams[2] = {{Device::reference()}, {Device::cpu()}};
  check(device.on_host(), "stream: expected a device this build has, got {}", device);
  return streams[static_cast<int>(device.kind)];
}

}  // namespace fovea
