// Readers: gradients in float64 against central differences, attention flow against its equations, and padding that
// changes nothing.
#include <gtest/gtest.h>

#include <cmath>

#include "models/span_model.h"
#include "nn/layers.h"
#include "support.h"

namespace fovea {
namespace {

const Device kReference = Device::reference();
constexpr int64_t kWords = 9, kCharacters = 7;

struct ReaderSetup {
  std::string name;
  std::string interaction, encoder, cell;
  int64_t filters;
};
void PrintTo(const ReaderSetup& setup, std::ostream* out) { *out << setup.name; }

ModelConfig model_config(const ReaderSetup& setup) {
  ModelConfig config;
  config.encoder = setup.encoder;
  config.cell = setup.cell;
  config.embedding = 6;
  config.hidden = 4;
  config.feed_forward = 8;
  config.self_attention.heads = 2;
  config.dropout = 0;
  return config;
}

AnswerConfig answer_config(const ReaderSetup& setup) {
  AnswerConfig config;
  config.interaction = setup.interaction;
  config.character_filters = setup.filters;
  config.character_embedding = 3;
  config.character_width = 3;
  config.max_word = 4;
  return config;
}

std::vector<int32_t> numbers(int64_t count, int64_t below, uint64_t stream) {
  Random random(3, stream);
  std::vector<int32_t> x(static_cast<size_t>(count));
  for (int32_t& id : x) id = static_cast<int32_t>(random.below(static_cast<uint64_t>(below)));
  return x;
}

SpanTokens tokens(int64_t time, const std::vector<int32_t>& lengths, uint64_t stream, bool characters) {
  const int64_t batch = std::ssize(lengths);
  SpanTokens result;
  result.ids = from_host(numbers(time * batch, kWords, stream), {time, batch}, kReference);
  result.lengths = from_host(lengths, {batch}, kReference);
  std::vector<float> features;
  for (const int32_t x : numbers(time * batch * kTokenFeatures, 3, stream + 1))
    features.push_back(static_cast<float>(x));
  result.features = from_host(features, {time, batch, kTokenFeatures}, kReference);
  if (characters) result.words = from_host(numbers(time * batch, 5, stream + 2), {time, batch}, kReference);
  return result;
}

Tensor mask(int64_t time, const std::vector<int32_t>& lengths, bool time_major) {
  const int64_t batch = std::ssize(lengths);
  std::vector<float> values(static_cast<size_t>(time * batch), kMasked);
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t t = 0; t < lengths[static_cast<size_t>(b)]; ++t) {
      values[static_cast<size_t>(time_major ? t * batch + b : b * time + t)] = 0;
    }
  }
  return from_host(values, time_major ? Shape{time, batch} : Shape{batch, time}, kReference);
}

SpanInput make_input(const ReaderSetup& setup) {
  const std::vector<int32_t> passage = {7, 5}, question = {3, 4};
  SpanInput input;
  input.passage = tokens(7, passage, 1, setup.filters > 0);
  input.passage_mask = mask(7, passage, true);
  if (setup.interaction != "joint") {
    input.question = tokens(4, question, 11, setup.filters > 0);
    input.question_mask = mask(4, question, false);
  }
  if (setup.filters > 0) {
    input.characters = from_host(numbers(6 * 5, kCharacters, 21), {6, 5}, kReference);
    input.character_lengths = from_host(std::vector<int32_t>{4, 1, 2, 3, 0}, {5}, kReference);
  }
  return input;
}

class SpanModelTest : public ::testing::TestWithParam<ReaderSetup> {
 protected:
  SpanModelTest()
      : model(make_span_model(parameters, model_config(GetParam()), answer_config(GetParam()), {kWords, kCharacters})) {
    parameters.allocate(5);
  }
  Var loss(const SpanInput& input) const {
    const SpanLogits logits = (*model)(input);
    const Tensor start = from_host(std::vector<int32_t>{2, 4}, {2}, kReference);
    const Tensor end = from_host(std::vector<int32_t>{3, 4}, {2}, kReference);
    return mean(cross_entropy(permute(logits.start, {1, 0}), start) + cross_entropy(permute(logits.end, {1, 0}), end));
  }
  Parameters parameters{kReference, DType::kF64};
  std::unique_ptr<SpanModel> model;
};

TEST_P(SpanModelTest, HasTheGradientItShould) {
  const SpanInput input = make_input(GetParam());
  Tape tape(kReference);
  tape.reset();
  {
    const TapeScope scope(tape);
    tape.backward(loss(input));
  }
  Random random(8);
  for (const Parameter& p : parameters.list()) {
    for (int draw = 0; draw < 4; ++draw) {
      const auto i = static_cast<int64_t>(random.below(static_cast<uint64_t>(p.shape().count())));
      double* x = p.value().data<double>() + i;
      const double kept = *x, step = 1e-6;
      *x = kept + step;
      const double above = loss(input).value().data<double>()[0];
      *x = kept - step;
      const double below = loss(input).value().data<double>()[0];
      *x = kept;
      EXPECT_NEAR(p.grad().data<double>()[i], (above - below) / (2 * step), 1e-7) << p.name() << " " << i;
    }
  }
}

TEST_P(SpanModelTest, EveryParameterMatters) {
  const SpanInput input = make_input(GetParam());
  Tape tape(kReference);
  tape.reset();
  {
    const TapeScope scope(tape);
    tape.backward(loss(input));
  }
  for (const Parameter& p : parameters.list()) {
    double sum = 0;
    for (int64_t i = 0; i < p.shape().count(); ++i) sum += std::abs(p.grad().data<double>()[i]);
    const bool bias_of_softmax = p.name() == "reader.start.bias" || p.name() == "reader.end.bias";
    EXPECT_TRUE(sum > 0 || bias_of_softmax) << p.name();  // without "not in this window", a bias changes nothing
  }
}

TEST_P(SpanModelTest, PaddingIsNeverAnAnswer) {
  const SpanLogits logits = (*model)(make_input(GetParam()));
  ASSERT_EQ(logits.start.shape(), (Shape{7, 2}));
  for (int64_t t = 0; t < 7; ++t) {
    EXPECT_EQ(logits.start.value().data<double>()[t * 2 + 1] < -1e8, t >= 5) << t;
    EXPECT_EQ(logits.end.value().data<double>()[t * 2 + 1] < -1e8, t >= 5) << t;
  }
}

INSTANTIATE_TEST_SUITE_P(Readers, SpanModelTest,
                         ::testing::Values(ReaderSetup{"flow_gru", "attention-flow", "recurrent", "gru", 4},
                                           ReaderSetup{"flow_lstm", "attention-flow", "recurrent", "lstm", 0},
                                           ReaderSetup{"flow_transformer", "attention-flow", "transformer", "gru", 4},
                                           ReaderSetup{"joint_transformer", "joint", "transformer", "gru", 4},
                                           ReaderSetup{"joint_recurrent", "joint", "recurrent", "gru", 0}),
                         [](const auto& tested) { return tested.param.name; });

TEST(AttentionFlow, WeightsAreThoseOfTheEquations) {
  const ReaderSetup setup{"flow", "attention-flow", "recurrent", "gru", 0};
  Parameters parameters(kReference, DType::kF64);
  const auto model = make_span_model(parameters, model_config(setup), answer_config(setup), {kWords, kCharacters});
  parameters.allocate(5);
  const SpanLogits logits = (*model)(make_input(setup), true);
  ASSERT_EQ(logits.passage_to_question.shape(), (Shape{2, 1, 7, 4}));
  ASSERT_EQ(logits.question_to_passage.shape(), (Shape{2, 1, 1, 7}));
  for (int64_t b = 0; b < 2; ++b) {
    double total = 0;
    for (int64_t t = 0; t < 7; ++t) {
      total += logits.question_to_passage.data<double>()[b * 7 + t];
      double row = 0;
      for (int64_t j = 0; j < 4; ++j) row += logits.passage_to_question.data<double>()[(b * 7 + t) * 4 + j];
      EXPECT_NEAR(row, 1, 1e-12);
    }
    EXPECT_NEAR(total, 1, 1e-12);
    EXPECT_EQ(logits.passage_to_question.data<double>()[b * 7 * 4 + 3] == 0, b == 0)
        << "the first question has 3 tokens";
  }
}

}  // namespace
}  // namespace fovea
