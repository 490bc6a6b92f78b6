// Classifiers with every pooling: gradients in float64 against central differences, the penalty by its definition,
// and independence of the other texts of a batch.
#include "models/classifier.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support.h"

namespace fovea {
namespace {

using Names = std::vector<std::string>;

ModelConfig small_encoder(const std::string& encoder) {
  ModelConfig config;
  config.encoder = encoder;
  config.cell = "lstm";
  config.embedding = 8;
  config.hidden = 6;
  config.feed_forward = 12;
  config.self_attention.heads = 2;
  config.dropout = 0;
  return config;
}

ClassifierConfig small_classifier(const Names& pooling, int64_t head_hidden = 0) {
  ClassifierConfig config;
  config.pooling = pooling;
  config.hops = 3;
  config.pooling_depth = 5;
  config.head_hidden = head_hidden;
  config.head_dropout = 0;
  return config;
}

const std::vector<int32_t> kIds = {4, 5, 6, 7, 8, 9, 10, 4, 0, 5, 0, 0};  // [4,3], texts of 4, 3 and 2 tokens
const std::vector<int32_t> kLengths = {4, 3, 2};

Source batch_on(Device device) { return {from_host(kIds, {4, 3}, device), from_host(kLengths, {3}, device)}; }

TEST(EncoderClassifier, HasTheGradientItShould) {
  for (const std::string encoder : {"recurrent", "transformer"}) {
    for (const Names& pooling :
         {Names{"attention"}, Names{"structured"}, Names{"mean"}, Names{"max"}, Names{"structured", "mean", "max"}}) {
      Parameters parameters(Device::reference(), DType::kF64);
      const EncoderClassifier model(parameters, small_encoder(encoder), small_classifier(pooling, 7), 12, 4);
      parameters.allocate(3);
      const Source source = batch_on(Device::reference());
      const Tensor labels = from_host(std::vector<int32_t>{1, 0, 3}, {3}, Device::reference());
      const auto loss = [&](bool backward) {
        Tape tape(Device::reference(), 1);
        tape.reset();
        const TapeScope scope(tape);
        const Classified got = model(source);
        Var total = sum(cross_entropy(got.logits, labels, 0.1f));
        if (got.weights) total = total + sum(Pooling::penalty(got.weights) * got.logits.reshape({12}).slice(0, 3));
        if (backward) tape.backward(total);
        return to_host<double>(total.value())[0];
      };
      loss(true);
      for (const Parameter& p : parameters.list()) {
        for (const int64_t at : {int64_t{0}, p.value().size() / 2, p.value().size() - 1}) {
          constexpr double kStep = 1e-6;
          double& x = p.value().data<double>()[at];
          const double before = x;
          x = before + kStep;
          const double above = loss(false);
          x = before - kStep;
          const double below = loss(false);
          x = before;
          EXPECT_NEAR(p.grad().data<double>()[at], (above - below) / (2 * kStep), 2e-8)
              << encoder << " " << pooling.front() << " " << p.name() << "[" << at << "]";
        }
      }
    }
  }
}

TEST(EncoderClassifier, ThePenaltyIsTheOneOfItsPaper) {
  // Two hops over three tokens: A A^T - I = [[-0.5, 0.1], [0.1, -0.38]].
  const Tensor weights =
      from_host(std::vector<double>{0.5, 0.5, 0, 0.2, 0, 0.8, 1, 0, 0, 0, 1, 0}, {2, 1, 2, 3}, Device::reference());
  const auto got = to_host<double>(Pooling::penalty(Var(weights)).value());
  const double d = 0.2 * 0.2 + 0.8 * 0.8 - 1;
  EXPECT_NEAR(got[0], 0.25 + 2 * 0.01 + d * d, 1e-12);
  EXPECT_NEAR(got[1], 0, 1e-12);  // hops that attend to one token each, and to different ones
}

TEST(EncoderClassifier, ATextDoesNotDependOnTheOthersInItsBatch) {
  for (const Names& pooling : {Names{"attention", "mean", "max"}, Names{"structured"}}) {
    Parameters parameters(Device::cpu());
    const EncoderClassifier model(parameters, small_encoder("recurrent"), small_classifier(pooling), 12, 4);
    parameters.allocate(3);
    const auto together = to_host<float>(model(batch_on(Device::cpu())).logits.value());
    for (int64_t b = 0; b < 3; ++b) {
      std::vector<int32_t> ids;
      for (int64_t t = 0; t < kLengths[static_cast<size_t>(b)]; ++t)
        ids.push_back(kIds[static_cast<size_t>(t * 3 + b)]);
      const Source alone{from_host(ids, {std::ssize(ids), 1}, Device::cpu()), {}};
      const auto logits = to_host<float>(model(alone).logits.value());
      for (size_t c = 0; c < 4; ++c) EXPECT_NEAR(logits[c], together[static_cast<size_t>(b) * 4 + c], 1e-5);
    }
  }
}

TEST(EncoderClassifier, HopsHaveWeightsOfTheirOwn) {
  Parameters parameters(Device::cpu());
  const EncoderClassifier model(parameters, small_encoder("recurrent"), small_classifier({"structured"}), 12, 4);
  parameters.allocate(3);
  const Classified got = model(batch_on(Device::cpu()), Capture(true));
  ASSERT_EQ(got.attentions.size(), 1u);
  EXPECT_EQ(got.attentions[0].kind, AttentionKind::kPooling);
  const auto weights = to_host<float>(got.attentions[0].weights.value());
  for (size_t b = 0; b < 3; ++b) {
    for (size_t hop = 0; hop < 3; ++hop) {
      float sum = 0;
      for (size_t t = 0; t < 4; ++t) {
        const float weight = weights[(b * 3 + hop) * 4 + t];
        if (static_cast<int32_t>(t) >= kLengths[b]) {
          EXPECT_EQ(weight, 0.0f);
        }
        sum += weight;
      }
      EXPECT_NEAR(sum, 1.0f, 1e-5f);
    }
  }
  EXPECT_NE(weights[0], weights[4]);
}

TEST(EncoderClassifier, RefusesPoolingsThatExcludeEachOther) {
  Parameters parameters(Device::cpu());
  const auto make = [&](const Names& pooling) {
    EncoderClassifier(parameters, small_encoder("recurrent"), small_classifier(pooling), 12, 4);
  };
  EXPECT_ERROR(make({}), "expected at least one of attention");
  Parameters other(Device::cpu());
  EXPECT_ERROR(Pooling(other, "a", small_classifier({"attention", "structured"}), 4), "got both");
  EXPECT_ERROR(Pooling(other, "b", small_classifier({"max", "max"}), 4), "each pooling once");
}

TEST(Parameters, AFrozenOneKeepsItsValue) {
  Parameters parameters(Device::cpu());
  const Embedding table(parameters, "table", 5, 4);
  const Linear out(parameters, "out", 4, 2);
  parameters.freeze(table.table());
  parameters.allocate(1);
  EXPECT_FALSE(table.table().decays());
  Tape tape(Device::cpu(), 1);
  tape.reset();
  const TapeScope scope(tape);
  tape.backward(sum(out(table(from_host(std::vector<int32_t>{1, 2}, {2}, Device::cpu())))));
  for (const float g : to_host<float>(table.table().grad())) EXPECT_EQ(g, 0.0f);
  float largest = 0;
  for (const float g : to_host<float>(parameters.find("out.weight").grad())) largest = std::max(largest, std::abs(g));
  EXPECT_GT(largest, 0.0f);
}

}  // namespace
}  // namespace fovea
