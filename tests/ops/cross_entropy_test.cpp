// The gradient may overwrite the logits: it has the same values and needs no memory of its own.
#include <gtest/gtest.h>

#include "ops/ops.h"

namespace fovea {
namespace {

struct Result {
  std::vector<float> dx, dweight;
  size_t memory;
};

Result run(Device device, bool consume) {
  const auto numbers = [&](const Shape& shape, int seed) {
    std::vector<float> x(static_cast<size_t>(shape.count()));
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>((i * 7 + static_cast<size_t>(seed)) % 13) / 6.0f - 1.0f;
    return from_host(x, shape, device);
  };
  const Tensor x = numbers({5, 3}, 1), weight = numbers({701, 3}, 2);
  const Tensor targets = from_host(std::vector<int32_t>{0, 700, -1, 4, 350}, {5}, device);
  Gradient dx(x), dweight(weight);
  Tape tape(device);
  tape.reset();
  const TapeScope tape_scope(tape);
  const Var logits = linear(Var(x, &dx), Var(weight, &dweight));
  tape.backward(mean(cross_entropy(logits, targets, 0.1f, -1, consume)));
  return {to_host<float>(dx.sum), to_host<float>(dweight.sum), tape.peak_bytes()};
}

class CrossEntropyTest : public ::testing::TestWithParam<Device> {};

TEST_P(CrossEntropyTest, ConsumingTheLogitsChangesNothingButMemory) {
  const Result kept = run(GetParam(), false), consumed = run(GetParam(), true);
  EXPECT_EQ(consumed.dx, kept.dx);
  EXPECT_EQ(consumed.dweight, kept.dweight);
  EXPECT_LE(consumed.memory + 5 * 701 * 4, kept.memory);
}
INSTANTIATE_TEST_SUITE_P(Devices, CrossEntropyTest, ::testing::Values(Device::reference(), Device::cpu()));

}  // namespace
}  // namespace fovea
