// A problem computed twice on the device, which must give the same bits, and on the reference in f64.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "kernels/cases.h"

namespace fovea::testing {

constexpr double kF32 = 0x1p-23, kBf16 = 0x1p-8;

// Creates the tensors of one problem twice: on the device in their own dtypes, and on the reference in f64 with values
// rounded to these.
class Maker {
 public:
  Maker(Device device, DType elements) : device_(device), elements_(elements) {}

  Tensor typed(const Shape& shape, DType dtype, double scale = 1.0) {
    std::vector<double> x(static_cast<size_t>(shape.count()));
    for (double& element : x) element = scale * random_.normal();
    return given(x, shape, dtype);
  }
  Tensor given(const std::vector<double>& x, const Shape& shape, DType dtype) const {
    const Tensor rounded = from_doubles(x, shape, dtype, Device::reference());
    if (on_card()) return to_device(rounded, device_);
    return from_doubles(to_doubles(rounded), shape, DType::kF64, device_);
  }
  Tensor elements(const Shape& shape, double scale = 1.0) { return typed(shape, elements_, scale); }
  Tensor parameter(const Shape& shape, double scale = 1.0) { return typed(shape, DType::kF32, scale); }
  // An output tensor, filled so that elements that are not written are detected.
  Tensor output(const Shape& shape, DType dtype) const {
    return given(std::vector<double>(static_cast<size_t>(shape.count()), -777.0), shape, dtype);
  }
  Tensor output(const Shape& shape) const { return output(shape, elements_); }
  Tensor ints(const std::vector<int32_t>& x) const { return from_host(x, {static_cast<int64_t>(x.size())}, device_); }
  RandomStream random_stream() const { return {.seed = 5, .op_index = 9, .step = ints({3})}; }

  bool on_card() const { return !(device_ == Device::reference()); }
  Device device() const { return device_; }
  const KernelTable& table() const { return kernels(device_); }
  Stream& queue() const { return stream(device_); }
  Random& random() { return random_; }

 private:
  Device device_;
  DType elements_;
  Random random_{23};
};

using Problem = std::function<std::vector<Tensor>(Maker&)>;

// Expects each element within `tolerance` of the reference, relative to the largest of its tensor, and the same bits in
// a second run.
inline void expect_right(const std::string& name, DType elements, double tolerance, const Problem& problem,
                         Device device = Device::cuda()) {
  SCOPED_TRACE(fmt::format("{} in {}", name, elements));
  Maker card(device, elements), again(device, elements), reference(Device::reference(), elements);
  const std::vector<Tensor> got = problem(card), repeated = problem(again), expected = problem(reference);
  for (size_t o = 0; o < got.size(); ++o) {
    if (!got[o]) continue;
    const std::vector<double> x = to_doubles(got[o]), twice = to_doubles(repeated[o]), y = to_doubles(expected[o]);
    ASSERT_EQ(x.size(), y.size());
    if (!x.empty()) {
      EXPECT_EQ(std::memcmp(x.data(), twice.data(), x.size() * sizeof(double)), 0) << "output " << o << " again";
    }
    double largest = 0x1p-4;
    for (const double value : y) largest = std::max(largest, std::isinf(value) ? 0.0 : std::abs(value));
    for (size_t i = 0; i < x.size(); ++i) {
      if (x[i] == y[i]) continue;
      ASSERT_NEAR(x[i], y[i], tolerance * largest) << "output " << o << ", element " << i << " of " << x.size();
    }
  }
}
inline void expect_right(const std::string& name, double f32, double bf16, const Problem& problem) {
  expect_right(name, DType::kF32, f32 * kF32, problem);
  expect_right(name, DType::kBF16, bf16 * kBf16, problem);
}

class Cuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!available(Device::cuda())) GTEST_SKIP() << "no card here, or a build without CUDA";
  }
};

}  // namespace fovea::testing
