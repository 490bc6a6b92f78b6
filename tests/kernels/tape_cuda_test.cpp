// A whole pass captured as a CUDA graph, in which gradients of weights are computed on the side stream.
#include "kernels/card.h"
#include "ops/ops.h"
#include "tensor/step_graphs.h"

namespace fovea::testing {
namespace {

struct Weight {
  Tensor value;
  mutable Gradient gradient;
  explicit Weight(Tensor x) : value(std::move(x)), gradient(value) {
    gradient.leaf = true;
    gradient.sum = zeros_like(value);
  }
  Var var() const { return {value, &gradient}; }
};

// Layers with many rows and a loop of steps with few rows that use the same weights; a table that is both the embedding
// and the output layer.
class Pass {
 public:
  Pass() : tape_(Device::cuda()), graphs_(Device::cuda()) {}

  // Returns the gradients of all weights after a pass that is run, captured, or launched again.
  std::vector<std::vector<float>> operator()() {
    const PrecisionScope scope(Precision::kBF16);
    tape_.reset();
    const TapeScope tape_scope(tape_);
    const auto work = [&] {
      for (const Weight* w : all()) kernels(kCard).affine(stream(kCard), {.y = w->gradient.sum, .beta = 0.0f});
      tape_.backward(loss());
      return 0;
    };
    graphs_.run(0, tape_.generation(), work);
    std::vector<std::vector<float>> gradients;
    for (const Weight* w : all()) gradients.push_back(to_host<float>(w->gradient.sum));
    return gradients;
  }

 private:
  static constexpr int64_t kRows = 600, kFew = 96, kDepth = 64, kWords = 50;
  inline static const Device kCard = Device::cuda();

  std::vector<const Weight*> all() const { return {&weight_, &bias_, &table_, &three_, &three_biases_}; }
  Var loss() const {
    const Var words = cast(embedding(table_.var(), ids_), DType::kBF16);
    Var x = words;
    for (int layer = 0; layer < 6; ++layer) {
      const Var parts = stacked_linear(x, three_.var(), three_biases_.var(), 3);
      x = tanh(linear(x + parts[1], weight_.var(), bias_.var()) + parts[0] + parts[2]);
    }
    Var h = words.slice(0, kFew);
    for (int step = 0; step < 24; ++step) h = tanh(linear(h, weight_.var(), bias_.var()) + h);
    const Var ends = cast(linear(h, table_.var()), DType::kF32), logits = cast(linear(x, table_.var()), DType::kF32);
    return mean(square(logits).reshape({logits.size()})) + mean(square(ends).reshape({ends.size()}));
  }

  static Tensor random(const Shape& shape) {
    Maker make(kCard, DType::kF32);
    return make.parameter(shape, 0.1);
  }
  Weight weight_{random({kDepth, kDepth})}, bias_{random({kDepth})}, table_{random({kWords, kDepth})};
  Weight three_{random({3 * kDepth, kDepth})}, three_biases_{random({3 * kDepth})};
  Tensor ids_ = from_host(std::vector<int32_t>(kRows, 7), {kRows}, kCard);
  Tape tape_;
  StepGraphs<int, int> graphs_;
};

TEST_F(Cuda, GradientsOfACapturedPass) {
  Pass pass;
  pass();  // the tape determines how much memory it needs
  const auto first = pass();
  for (int again = 0; again < 4; ++again) EXPECT_EQ(pass(), first) << again;
  for (const std::vector<float>& gradient : first) {
    EXPECT_TRUE(std::any_of(gradient.begin(), gradient.end(), [](float x) { return x != 0.0f; }));
  }
}

}  // namespace
}  // namespace fovea::testing
