#include "tensor/device.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "tensor/cuda.h"

namespace fovea {

Device device_named(std::string_view name) {
  constexpr std::string_view kCard = "cuda";
  if (name == "cpu") return Device::cpu();
  if (name == "auto") return cuda::device_count() > 0 ? Device::cuda() : Device::cpu();
  int index = 0;
  bool known = name.starts_with(kCard);
  if (known && name.size() > kCard.size()) {
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + kCard.size() + 1, end, index);
    known = name[kCard.size()] == ':' && error == std::errc() && stop == end && index >= 0;
  }
  check(known, "device: expected auto, cpu, cuda or cuda:N, got {}", name);
  check(cuda::is_built(), "device: this build has no CUDA support; configure with -DFOVEA_CUDA=ON, or use cpu");
  check(index < cuda::device_count(), "device: there are {} GPUs, got {}", cuda::device_count(), name);
  return Device::cuda(static_cast<uint8_t>(index));
}

}  // namespace fovea

fmt::appender fmt::formatter<fovea::Device>::format(fovea::Device device, fmt::format_context& context) const {
  std::string name = fmt::format("cuda:{}", device.index);
  if (device == fovea::Device::cpu()) name = "cpu";
  if (device == fovea::Device::reference()) name = "reference";
  return std::copy(name.begin(), name.end(), context.out());
}
