#include "tensor/device.h"

#include <gtest/gtest.h>

#include "support.h"
#include "tensor/cuda.h"

namespace fovea {
namespace {

TEST(DeviceNames, AreParsed) {
  EXPECT_EQ(device_named("cpu"), Device::cpu());
  EXPECT_EQ(device_named("auto"), cuda::device_count() > 0 ? Device::cuda() : Device::cpu());
  for (const char* wrong : {"gpu", "", "CUDA", "cuda:", "cuda:x", "cuda:-1", "cuda1", "cuda:0 "}) {
    EXPECT_ERROR(device_named(wrong), "device: expected auto, cpu, cuda or cuda:N, got");
  }
}

TEST(DeviceNames, AMissingGpuIsReported) {
  if (!cuda::is_built()) {
    EXPECT_ERROR(device_named("cuda"),
                 "device: this build has no CUDA support; configure with -DFOVEA_CUDA=ON, or use cpu");
  } else if (cuda::device_count() == 0) {
    EXPECT_ERROR(device_named("cuda"), "device: expected one of 0 cards, got cuda");
  } else {
    EXPECT_EQ(device_named("cuda"), Device::cuda());
    EXPECT_ERROR(device_named("cuda:200"), "got cuda:200");
  }
}

}  // namespace
}  // namespace fovea
