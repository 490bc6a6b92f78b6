// Convolutions of batches that are split into unequal pieces, against the reference, with the same bits for every
// number of threads; residuals, rectifiers and cached weights.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "base/threads.h"
#include "kernels/kernels.h"

namespace fovea {
namespace {

struct Size {
  Shape x;
  int64_t out;
  Window window;
};

const Size kSizes[] = {
    {{13, 12, 9, 16}, 32, {.height = 3, .width = 3, .pad_y = 1, .pad_x = 1}},
    {{9, 10, 10, 8}, 48, {}},
    {{11, 14, 14, 20}, 33, {.height = 5, .width = 5, .stride_y = 3, .stride_x = 2, .pad_y = 2, .pad_x = 1}},
    {{5, 12, 14, 16},
     24,
     {.height = 3, .width = 5, .stride_y = 2, .stride_x = 2, .pad_x = 1, .extra_y = 1, .extra_x = 1}},
    {{3, 16, 15, 3}, 16, {.height = 7, .width = 7, .stride_y = 2, .stride_x = 2, .pad_y = 3, .pad_x = 3}},
    {{1, 28, 28, 48}, 192, {.height = 3, .width = 3, .pad_y = 1, .pad_x = 1}},
    {{2, 7, 10, 19}, 37, {.height = 3, .width = 3, .pad_x = 1, .extra_y = 1, .extra_x = 1}},
    {{1, 3, 3, 16}, 32, {.height = 3, .width = 3}},
    {{1, 1, 1, 33}, 35, {.height = 3, .width = 3, .pad_y = 1, .pad_x = 1}},
    {{1, 14, 14, 384}, 96, {}}};

Tensor random_tensor(const Shape& shape, Random& random) {
  const Tensor x = empty(shape, DType::kF32, Device::cpu());
  for (int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = static_cast<float>(random.uniform(-1, 1));
  return x;
}

// The inputs of a convolution and its gradient, and the tensors that they write or accumulate.
struct Problem {
  Window window;
  Tensor x, weight, bias, residual, dy;
  Tensor y, finished, dx, dweight, dbias;

  explicit Problem(const Size& size) : window(size.window) {
    Random random(3);
    const Window& w = size.window;
    const Shape result = {size.x[0], (size.x[1] + 2 * w.pad_y + w.extra_y - w.height) / w.stride_y + 1,
                          (size.x[2] + 2 * w.pad_x + w.extra_x - w.width) / w.stride_x + 1, size.out};
    const Shape kernel = {size.out, w.height, w.width, size.x[3]};
    for (Tensor* image : {&x, &dx}) *image = random_tensor(size.x, random);
    for (Tensor* image : {&y, &finished, &residual, &dy}) *image = random_tensor(result, random);
    for (Tensor* parameter : {&weight, &dweight}) *parameter = random_tensor(kernel, random);
    for (Tensor* parameter : {&bias, &dbias}) *parameter = random_tensor({size.out}, random);
  }

  void run(Device device) const {
    kernels(device).conv2d(stream(device), {.x = x, .weight = weight, .bias = bias, .y = y, .window = window});
    kernels(device).conv2d(
        stream(device),
        {.x = x, .weight = weight, .y = finished, .window = window, .residual = residual, .relu = true});
    kernels(device).conv2d_grad(
        stream(device),
        {.x = x, .weight = weight, .dy = dy, .dx = dx, .dweight = dweight, .dbias = dbias, .window = window});
  }
  std::vector<Tensor> results() const { return {y, finished, dx, dweight, dbias}; }
};

class Conv : public testing::TestWithParam<Size> {};

TEST_P(Conv, agrees_with_the_reference) {
  const Problem ours(GetParam()), reference(GetParam());
  ours.run(Device::cpu());
  reference.run(Device::reference());
  for (size_t r = 0; r < ours.results().size(); ++r) {
    const Tensor got = ours.results()[r], expected = reference.results()[r];
    double largest = 1;
    for (int64_t i = 0; i < got.size(); ++i) largest = std::max(largest, std::abs(double{expected.data<float>()[i]}));
    for (int64_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got.data<float>()[i], expected.data<float>()[i], 1e-5 * largest) << "result " << r << " at " << i;
    }
  }
}

TEST_P(Conv, same_bits_for_every_number_of_threads) {
  const int before = thread_count();
  const Problem first(GetParam());
  set_thread_count(1);
  first.run(Device::cpu());
  for (const int threads : {2, 3, 4}) {
    set_thread_count(threads);
    const Problem again(GetParam());
    again.run(Device::cpu());
    for (size_t r = 0; r < first.results().size(); ++r) {
      const Tensor a = first.results()[r], b = again.results()[r];
      EXPECT_EQ(std::memcmp(a.raw(), b.raw(), a.bytes()), 0) << "result " << r << " on " << threads << " threads";
    }
  }
  set_thread_count(before);
}

// A packed copy of the weight is not used after the weight has changed.
TEST_P(Conv, follows_changes_of_the_weight) {
  const Problem ours(GetParam()), reference(GetParam());
  ours.run(Device::cpu());
  for (const Problem* problem : {&ours, &reference}) {
    for (int64_t i = 0; i < ours.weight.size(); ++i) problem->weight.data<float>()[i] += 1.0f;
    problem->weight.contents_changed();
    kernels(Device::cpu())
        .conv2d(stream(Device::cpu()),
                {.x = problem->x, .weight = problem->weight, .y = problem->y, .window = problem->window});
  }
  EXPECT_EQ(std::memcmp(ours.y.raw(), reference.y.raw(), ours.y.bytes()), 0);
}

TEST(DepthwiseConv, rectifies) {
  Random random(5);
  const Window window{.height = 3, .width = 3, .pad_y = 1, .pad_x = 1};
  const Tensor x = random_tensor({1, 5, 4, 19}, random), weight = random_tensor({3, 3, 19}, random);
  const Tensor plain = empty_like(x), rectified = empty_like(x), expected = empty_like(x);
  for (const auto& [device, y, relu] : {std::tuple{Device::cpu(), plain, false},
                                        {Device::cpu(), rectified, true},
                                        {Device::reference(), expected, true}}) {
    kernels(device).depthwise_conv2d(stream(device),
                                     {.x = x, .weight = weight, .y = y, .window = window, .relu = relu});
  }
  for (int64_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(rectified.data<float>()[i], std::max(0.0f, plain.data<float>()[i])) << i;
    ASSERT_NEAR(rectified.data<float>()[i], expected.data<float>()[i], 1e-5) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Conv, testing::ValuesIn(kSizes));

}  // namespace
}  // namespace fovea
