// The layers agree with what they stand for: a whole sequence with a loop of steps, a batch with lengths
// with each sentence alone, both directions with one direction over the reversed sentence.
#include "nn/recurrent.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fovea {
namespace {

const Device kReference = Device::reference();

Tensor random_tensor(const Shape& shape, uint64_t stream) {
  Random random(11, stream);
  std::vector<double> x(static_cast<size_t>(shape.count()));
  for (double& element : x) element = random.uniform(-1, 1);
  return from_host(x, shape, kReference);
}

void expect_near(const Tensor& a, const Tensor& b, double tolerance = 1e-12) {
  ASSERT_EQ(a.shape(), b.shape());
  const auto x = to_host<double>(a), y = to_host<double>(b);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], tolerance) << i;
}

class RecurrentTest : public ::testing::TestWithParam<Cell> {};

TEST_P(RecurrentTest, ASequenceEqualsItsStepsInValuesAndGradients) {
  constexpr int64_t kSteps = 5, kBatch = 3, kIn = 4, kHidden = 6;
  Parameters parameters(kReference, DType::kF64);
  const RecurrentCell cell(parameters, "cell", GetParam(), kIn, kHidden);
  parameters.allocate(1);
  const Tensor x = random_tensor({kSteps, kBatch, kIn}, 1), weights = random_tensor({kSteps, kBatch, kHidden}, 2);

  const auto grads_of = [&](bool whole, Tensor& states) {
    Tape tape(kReference);
    tape.reset();
    zero_memory(kReference, parameters.grads().raw(), parameters.grads().bytes());
    {
      const TapeScope tape_scope(tape);
      Var y;
      if (whole) {
        y = cell.unroll(x, {}, {}, false).states;
      } else {
        State state = cell.zero_state(kBatch, DType::kF64, kReference);
        std::vector<Var> steps;
        const Var gates = cell.input_gates(x);
        for (int64_t t = 0; t < kSteps; ++t) steps.push_back((state = cell.step(gates[t], state)).state);
        y = stack(steps);
      }
      tape.backward(sum(y * weights));
      const ArenaScope heap(nullptr);
      states = from_host(to_host<double>(y.value()), y.shape(), kReference);
    }
    return from_host(to_host<double>(parameters.grads()), parameters.grads().shape(), kReference);
  };
  Tensor whole, steps;
  const Tensor whole_grads = grads_of(true, whole), step_grads = grads_of(false, steps);
  expect_near(whole, steps);
  expect_near(whole_grads, step_grads, 1e-11);
}

TEST_P(RecurrentTest, PaddingChangesNothing) {
  constexpr int64_t kSteps = 6, kIn = 3, kHidden = 4, kLength = 4;
  Parameters parameters(kReference, DType::kF64);
  const RecurrentStack stack(parameters, "stack", kIn, kHidden,
                             {.cell = GetParam(), .layers = 2, .bidirectional = true});
  parameters.allocate(1);
  const Tensor x = random_tensor({kSteps, 1, kIn}, 1);
  const Tensor lengths = from_host(std::vector<int32_t>{kLength}, {1}, kReference);
  std::vector<State> padded_final, alone_final;
  const Var padded = stack(x, lengths, &padded_final);
  const Var alone = stack(x.slice(0, kLength), {}, &alone_final);
  expect_near(padded.value().slice(0, kLength), alone.value());
  ASSERT_EQ(padded_final.size(), 4u);
  for (size_t i = 0; i < padded_final.size(); ++i) {
    expect_near(padded_final[i].state.value(), alone_final[i].state.value());
  }
}

TEST_P(RecurrentTest, BackwardReadsTheSentenceFromItsEnd) {
  constexpr int64_t kSteps = 4;
  Parameters parameters(kReference, DType::kF64);
  const RecurrentCell cell(parameters, "cell", GetParam(), 3, 5);
  parameters.allocate(1);
  const Tensor x = random_tensor({kSteps, 2, 3}, 1);
  const Tensor turned = empty_like(x);
  for (int64_t t = 0; t < kSteps; ++t) copy(x[t], turned[kSteps - 1 - t]);
  const Tensor back = cell.unroll(x, {}, {}, true).states.value();
  const Tensor ahead = cell.unroll(turned, {}, {}, false).states.value();
  for (int64_t t = 0; t < kSteps; ++t) expect_near(back[t], ahead[kSteps - 1 - t]);
}

INSTANTIATE_TEST_SUITE_P(
    Cells, RecurrentTest, ::testing::Values(Cell::kTanh, Cell::kGru, Cell::kLstm), [](const auto& test) {
      return std::string(test.param == Cell::kTanh ? "tanh" : test.param == Cell::kGru ? "gru" : "lstm");
    });

}  // namespace
}  // namespace fovea
