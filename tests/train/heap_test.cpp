// After warm-up a training step allocates nothing from the heap.
#include <gtest/gtest.h>

#include "nn/recurrent.h"
#include "train/counted_heap.h"
#include "train/optimiser.h"

namespace fovea {
namespace {

// A small attentional encoder-decoder, with a whole-sequence encoder and a decoder loop written by hand.
class Model {
 public:
  explicit Model(Parameters& p)
      : source_(p, "source", 50, 24),
        target_(p, "target", 50, 24),
        encoder_(p, "encoder", 24, 16, {.cell = Cell::kGru, .layers = 2, .bidirectional = true, .dropout = 0.1f}),
        decoder_(p, "decoder", Cell::kLstm, 24 + 32, 32),
        query_(p, "query", 32, 32),
        norm_(p, "norm", 32),
        out_(p, "out", 32, 50),
        v_(p.add("v", {32}, Initialiser::uniform(0.1))) {}

  Var loss(const Tensor& source, const Tensor& lengths, const Tensor& target) {
    const Var memory = encoder_(source_(source), lengths, &final_);
    State state = decoder_.zero_state(source.dim(1), DType::kF32, Device::cpu());
    const Var words = dropout(target_(target), 0.1f);
    states_.clear();
    for (int64_t t = 0; t < target.dim(0); ++t) {
      const Var query = query_(state.state).reshape({1, source.dim(1), 32});
      const Var weights = softmax(additive_score(query, memory, v_, 1, lengths), {.lengths = lengths});
      const Var context = weighted_sum(weights, memory)[0];
      state = decoder_.step(decoder_.input_gates(concat({words[t], context}, 1)), state);
      states_.push_back(state.state);
    }
    const Var all = norm_(stack(states_));
    const Var self = dot_attention(all, all, all, {.heads = 4, .mask = {.causal = true}}).out;
    return mean(cross_entropy(out_(self + all), target, 0.1f));
  }

 private:
  Embedding source_, target_;
  RecurrentStack encoder_;
  RecurrentCell decoder_;
  Linear query_;
  LayerNorm norm_;
  Linear out_;
  const Parameter& v_;
  std::vector<State> final_;
  std::vector<Var> states_;
};

class HeapTest : public ::testing::TestWithParam<Precision> {};

TEST_P(HeapTest, ATrainingStepAllocatesNothingAfterWarmUp) {
  Parameters parameters(Device::cpu());
  Model model(parameters);
  parameters.allocate(1);
  Optimiser optimiser(parameters, {.kind = OptimiserOptions::Kind::kAdamW, .clip_norm = 1.0f, .weight_decay = 0.01f});
  Tape tape(Device::cpu());
  Random random(4);
  std::vector<int32_t> ids(9 * 5);
  for (int32_t& id : ids) id = static_cast<int32_t>(random.below(50));
  const Tensor source = from_host(ids, {9, 5}, Device::cpu()), target = from_host(ids, {9, 5}, Device::cpu());
  const Tensor lengths = from_host(std::vector<int32_t>{9, 7, 3, 9, 1}, {5}, Device::cpu());
  const PrecisionScope precision(GetParam());

  int64_t before = 0;
  float first = 0.0f, last = 0.0f;
  for (int step = 0; step < 8; ++step) {
    if (step == 4) before = fovea::testing::heap_allocations();
    tape.reset();
    const TapeScope tape_scope(tape);
    const Var loss = model.loss(source, lengths, target);
    (step == 0 ? first : last) = loss.value().data<float>()[0];
    tape.backward(loss);
    optimiser.step(0.01f);
  }
  EXPECT_EQ(fovea::testing::heap_allocations() - before, 0);
  EXPECT_LT(last, first);  // the model learns
}

TEST(Heap, TheCountersCount) {
  const int64_t before = fovea::testing::heap_allocations();
  const Tensor x = zeros({4}, DType::kF32, Device::cpu());
  EXPECT_GE(fovea::testing::heap_allocations() - before, 2);  // the buffer and its memory
}

INSTANTIATE_TEST_SUITE_P(Precisions, HeapTest, ::testing::Values(Precision::kF32, Precision::kBF16),
                         [](const auto& test) { return test.param == Precision::kF32 ? "f32" : "bf16"; });

}  // namespace
}  // namespace fovea
