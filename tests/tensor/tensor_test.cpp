#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support.h"

namespace fovea {
namespace {

const Device kCpu = Device::cpu();

TEST(Shape, KnowsItsSizes) {
  const Shape shape{2, 3, 5};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape[-1], 5);
  EXPECT_EQ(shape.count(), 30);
  EXPECT_EQ(shape.count(1, 3), 15);
  EXPECT_EQ(shape.with(1, 7), (Shape{2, 7, 5}));
  EXPECT_EQ(shape.without(0), (Shape{3, 5}));
  EXPECT_EQ(shape.prepended(4), (Shape{4, 2, 3, 5}));
  EXPECT_EQ(Shape{}.count(), 1);
  EXPECT_EQ(fmt::format("{}", shape), "[2,3,5]");
}

TEST(Shape, RejectsInvalidSizes) {
  EXPECT_ERROR((Shape{1, 1, 1, 1, 1, 1, 1}), "shape: expected at most 6 axes, got 7");
  EXPECT_ERROR((Shape{2, -1}), "shape: expected sizes of at least 0, got [2,-1]");
  EXPECT_ERROR((Shape{2, 3}[2]), "shape: expected an axis of [2,3], got axis 2");
}

TEST(Bf16, RoundsToNearestEven) {
  EXPECT_EQ(static_cast<float>(bf16(1.0f)), 1.0f);
  EXPECT_EQ(bf16(1.0f + 0x1p-8f).bits, bf16(1.0f).bits);                // a tie is rounded to even
  EXPECT_EQ(bf16(1.0f + 3 * 0x1p-8f).bits, bf16(1.0f + 0x1p-6f).bits);  // which may be up
  EXPECT_EQ(bf16(1.0f + 0x1.02p-8f).bits, bf16(1.0f + 0x1p-7f).bits);   // above a tie it is rounded up
  EXPECT_TRUE(std::isnan(static_cast<float>(bf16(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isinf(static_cast<float>(bf16(std::numeric_limits<float>::max()))));
}

TEST(Tensor, SlicesAndReshapesShareElements) {
  const Tensor x = from_host(std::vector<float>{0, 1, 2, 3, 4, 5}, {3, 2}, kCpu);
  x.slice(1, 3)[0].data<float>()[1] = 9;
  x.reshape({6}).data<float>()[0] = 7;
  EXPECT_EQ(to_host<float>(x), (std::vector<float>{7, 1, 2, 9, 4, 5}));
  EXPECT_EQ(x[2].shape(), (Shape{2}));
}

TEST(Tensor, RejectsInvalidRanges) {
  const Tensor x = zeros({3, 2}, DType::kF32, kCpu);
  EXPECT_ERROR(x.reshape({5}), "reshape: expected a shape of 6 elements like [3,2], got [5]");
  EXPECT_ERROR(x.slice(1, 4), "slice: expected a range within 0..3, got 1..4");
  EXPECT_ERROR(x.data<int32_t>(), "tensor: expected elements of i32, got f32");
  EXPECT_ERROR(from_host(std::vector<float>(4), {3, 2}, kCpu), "tensor: expected 6 elements for [3,2], got 4");
  EXPECT_ERROR(zeros({1}, DType::kF32, Device::cuda(1)), "cuda: ");
}

TEST(Tensor, CountsChangesOfItsBuffer) {
  const Tensor x = zeros({4}, DType::kF32, kCpu);
  const uint64_t before = x.buffer()->version();
  x.slice(0, 2).contents_changed();
  EXPECT_EQ(x.buffer()->version(), before + 1);
}

}  // namespace
}  // namespace fovea
