#include "autograd/tape.h"

#include <gtest/gtest.h>

#include "kernels/profile.h"
#include "ops/ops.h"
#include "support.h"

namespace fovea {
namespace {

const Device kReference = Device::reference();

Tensor doubles(const std::vector<double>& x, const Shape& shape) { return from_host(x, shape, kReference); }

struct Leaf {
  Tensor value;
  Gradient gradient;
  explicit Leaf(const Tensor& x) : value(x), gradient(x) { gradient.leaf = true; }
  Var var() { return Var(value, &gradient); }
};

int64_t calls(const KernelProfile& profile, std::string_view name) {
  for (const auto& entry : profile.entries()) {
    if (entry.name == name) return entry.calls;
  }
  return 0;
}

TEST(Tape, AccumulatesGradientsOfSeveralUses) {
  Leaf x(doubles({2, 3}, {2}));
  Tape tape(kReference);
  tape.reset();
  {
    const TapeScope tape_scope(tape);
    const Var y = x.var() * x.var() + x.var();
    tape.backward(sum(y));
  }
  EXPECT_EQ(to_host<double>(x.gradient.tensor()), (std::vector<double>{5, 7}));
}

TEST(Tape, AddsNoNodeOutsideAScope) {
  Leaf x(doubles({2, 3}, {2}));
  EXPECT_FALSE((x.var() * x.var()).needs_grad());
  EXPECT_FALSE(x.var()[0].needs_grad());
}

TEST(Tape, ConstantsHaveNoGradient) {
  Tape tape(kReference);
  tape.reset();
  const TapeScope tape_scope(tape);
  const Var y = sum(Var(doubles({1, 2}, {2})));
  EXPECT_FALSE(y.needs_grad());
  EXPECT_ERROR(tape.backward(y), "backward: expected a loss with a gradient, got a constant");
}

TEST(Tape, RequiresAScalarLoss) {
  Leaf x(doubles({2, 3}, {2}));
  Tape tape(kReference);
  tape.reset();
  const TapeScope tape_scope(tape);
  EXPECT_ERROR(tape.backward(tanh(x.var())), "backward: expected a scalar loss, got [2]");
}

TEST(Tape, GradientsOfPartsShareTheWhole) {
  Leaf x(doubles({1, 2, 3, 4, 5, 6}, {3, 2}));
  Tape tape(kReference);
  tape.reset();
  const TapeScope tape_scope(tape);
  const Var tail = x.var().slice(1, 3);
  tape.backward(sum(tail[1] * x.var()[0]) + sum(tail.reshape({4}).slice(0, 1)));
  EXPECT_EQ(to_host<double>(x.gradient.tensor()), (std::vector<double>{5, 6, 1, 0, 1, 2}));
}

// Every recurrent decoder relies on this: T uses of a weight cost one GEMM, not T.
TEST(Tape, AWeightUsedAtEveryStepCostsOneGemm) {
  constexpr int64_t kSteps = 6;
  Leaf weight(doubles(std::vector<double>(9, 0.1), {3, 3})), bias(doubles({0.1, 0.2, 0.3}, {3}));
  Leaf x(doubles(std::vector<double>(6, 0.5), {2, 3}));
  Tape tape(kReference);
  tape.reset();
  const TapeScope tape_scope(tape);
  Var h = x.var();
  for (int64_t t = 0; t < kSteps; ++t) h = tanh(linear(h, weight.var(), bias.var()));
  const Var loss = sum(h);
  const KernelProfile profile(kReference);
  tape.backward(loss);
  EXPECT_EQ(calls(profile, "matmul"), kSteps + 1);  // one per step for dh, one for the weight
  EXPECT_EQ(calls(profile, "reduce"), 1);           // one for the bias
}

TEST(Tape, DropoutDependsOnTheStepAndIsRepeatable) {
  const Tensor ones = doubles(std::vector<double>(64, 1.0), {64});
  const auto draw = [&](uint64_t seed, int64_t step) {
    Tape tape(kReference, seed);
    tape.set_step(step - 1);
    tape.reset();
    const TapeScope tape_scope(tape);
    Leaf x(ones);
    return to_host<double>(dropout(x.var(), 0.5f).value());
  };
  EXPECT_EQ(draw(1, 1), draw(1, 1));
  EXPECT_NE(draw(1, 1), draw(1, 2));
  EXPECT_NE(draw(1, 1), draw(2, 1));
}

// A longer chain has more gradients in total, but they reuse the same memory.
TEST(Tape, GradientsReuseMemory) {
  const auto memory = [](int length) {
    Leaf x(doubles(std::vector<double>(4096, 1.0), {4096}));
    Tape tape(kReference);
    tape.reset();
    const TapeScope tape_scope(tape);
    Var y = x.var();
    for (int i = 0; i < length; ++i) y = affine(y, 1.0f, 1.0f);
    const Var loss = sum(y);
    const size_t forward = tape.peak_bytes();
    tape.backward(loss);
    EXPECT_EQ(to_host<double>(x.gradient.sum), std::vector<double>(4096, 1.0));
    return tape.peak_bytes() - forward;
  };
  EXPECT_LE(memory(50), memory(10));
}

TEST(Tape, DropsOnlyInTraining) {
  Leaf x(doubles(std::vector<double>(64, 1.0), {64}));
  EXPECT_EQ(dropout(x.var(), 0.5f).value().raw(), x.value.raw());
  Tape tape(kReference);
  tape.reset();
  tape.set_training(false);
  const TapeScope tape_scope(tape);
  EXPECT_EQ(dropout(x.var(), 0.5f).value().raw(), x.value.raw());
}

}  // namespace
}  // namespace fovea
