// Every architecture with every mechanism it takes: gradients in float64 against central differences, and a
// target decoded step by step, with beams, against the same target given at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/model.h"
#include "small_models.h"
#include "support.h"

namespace fovea {
namespace {

const Device kReference = Device::reference();
constexpr int64_t kWords = 11, kBatch = 3, kSourceLength = 6, kTargetLength = 4;

std::vector<Setup> setups() {
  std::vector<Setup> all = encoder_setups();
  for (const std::string& architecture : attending_models()) {
    const ArchitectureEntry& entry = architecture_named(architecture);
    const auto add = [&](const std::string& name, auto&& change) {
      Setup setup{architecture + "_" + name, small_config(architecture)};
      change(setup.config);
      for (char& c : setup.name) c = c == '-' ? '_' : c;
      all.push_back(setup);
    };
    for (const ScoreEntry& score : scores()) {
      add(std::string(score.name), [&](ModelConfig& c) { c.attention.score = score.name; });
    }
    add("local-m", [](ModelConfig& c) { c.attention.scope = "local-m"; });
    add("local-p", [](ModelConfig& c) { c.attention.scope = "local-p"; });
    add("sparse", [](ModelConfig& c) { c.attention.selection = "sparse"; });
    add("heads", [](ModelConfig& c) { c.attention.heads = 2; });
    add("shaw", [](ModelConfig& c) { c.attention.relative = c.self_attention.relative = "shaw"; });
    add("alibi", [](ModelConfig& c) { c.attention.relative = c.self_attention.relative = "alibi"; });
    add("tied", [](ModelConfig& c) { c.tie_embeddings = true; });
    add("copy", [](ModelConfig& c) { c.copy = "mixture"; });
    add("copy-heads", [](ModelConfig& c) { c.copy = "mixture", c.attention.heads = 2; });
    add("copy-own", [](ModelConfig& c) { c.copy = "mixture", c.copy_attention = "own"; });
    add("pointer", [](ModelConfig& c) { c.copy = "pointer"; });
    add("pointer-own", [](ModelConfig& c) { c.copy = "pointer", c.copy_attention = "own"; });
    if (entry.self_attention) {
      add("rotary", [](ModelConfig& c) { c.self_attention.relative = "rotary", c.positions = "none"; });
      add("post-norm", [](ModelConfig& c) { c.norm = "post", c.positions = "learned", c.activation = "gelu"; });
      add("swish", [](ModelConfig& c) { c.activation = "swish"; });
      add("gelu-erf", [](ModelConfig& c) { c.activation = "gelu-erf"; });
      add("layers", [](ModelConfig& c) { c.encoder_layers = c.decoder_layers = 2; });
    }
    if (entry.recurrent) {
      add("coverage", [](ModelConfig& c) { c.attention.coverage = true; });
      add("lstm", [](ModelConfig& c) { c.cell = "lstm", c.encoder_layers = c.decoder_layers = 2, c.residual = true; });
      add("tanh", [](ModelConfig& c) { c.cell = "tanh"; });
      add("bidirectional", [](ModelConfig& c) { c.bidirectional = true; });
      const auto sentinel = [](ModelConfig& c) { c.cell = "lstm", c.attention.sentinel = true; };
      add("sentinel", sentinel);
      for (const ScoreEntry& score : scores()) {
        if (!score.uses_keys) continue;
        add(fmt::format("sentinel-{}", score.name),
            [&](ModelConfig& c) { sentinel(c), c.attention.score = score.name; });
      }
      add("sentinel-sparse", [&](ModelConfig& c) { sentinel(c), c.attention.selection = "sparse"; });
      add("sentinel-heads", [&](ModelConfig& c) { sentinel(c), c.attention.heads = 2, c.bidirectional = true; });
      add("sentinel-local-m", [&](ModelConfig& c) { sentinel(c), c.attention.scope = "local-m"; });
      add("sentinel-shaw", [&](ModelConfig& c) { sentinel(c), c.attention.relative = "shaw"; });
      add("sentinel-rotary",
          [&](ModelConfig& c) { sentinel(c), c.attention.relative = "rotary", c.attention.score = "scaled-dot"; });
      add("sentinel-coverage", [&](ModelConfig& c) { sentinel(c), c.attention.coverage = true; });
      add("sentinel-copy-own", [&](ModelConfig& c) { sentinel(c), c.copy = "mixture", c.copy_attention = "own"; });
      add("sentinel-layers", [&](ModelConfig& c) {
        sentinel(c), c.bidirectional = true, c.decoder_layers = 2, c.residual = true, c.input_feeding = false;
      });
    }
    if (entry.context_gate) add("gate", [](ModelConfig& c) { c.context_gate = true; });
    if (entry.input_feeding) add("no-feeding", [](ModelConfig& c) { c.input_feeding = false; });
  }
  return all;
}

Tensor ids(const Shape& shape, uint64_t stream) {
  Random random(5, stream);
  std::vector<int32_t> x(static_cast<size_t>(shape.count()));
  for (int32_t& id : x) id = static_cast<int32_t>(random.below(kWords));
  return from_host(x, shape, kReference);
}

struct Scene {
  Source source{ids({kSourceLength, kBatch}, 1), from_host(std::vector<int32_t>{6, 4, 5}, {kBatch}, kReference)};
  Tensor before = ids({kTargetLength, kBatch}, 2), after = ids({kTargetLength, kBatch}, 3);
};

// Central differences of `value` at a few elements of every parameter.
struct Differences {
  double step, tolerance;
  int draws;
};
template <class Value>
void expect_gradients(const Parameters& parameters, const Differences& differences, const Value& value) {
  Random random(8);
  for (const Parameter& p : parameters.list()) {
    for (int draw = 0; draw < differences.draws; ++draw) {
      const auto i = static_cast<int64_t>(random.below(static_cast<uint64_t>(p.shape().count())));
      double* x = p.value().data<double>() + i;
      const double kept = *x, step = differences.step;
      *x = kept + step;
      const double above = value();
      *x = kept - step;
      const double below = value();
      *x = kept;
      EXPECT_NEAR(p.grad().data<double>()[i], (above - below) / (2 * step), differences.tolerance)
          << p.name() << " " << i;
    }
  }
}

class ModelTest : public ::testing::TestWithParam<Setup> {
 protected:
  ModelTest() : model(make_model(parameters, GetParam().config, {kWords, kWords})) { parameters.allocate(3); }
  Parameters parameters{kReference, DType::kF64};
  std::unique_ptr<EncoderDecoder> model;
  Scene scene;
};

TEST_P(ModelTest, HasTheGradientItShould) {
  const auto loss = [&] {
    const TeacherForced forced = model->teacher_force(scene.source, scene.before);
    return mean(cross_entropy(forced.logits, scene.after, 0.1f));
  };
  Tape tape(kReference);
  tape.reset();
  {
    const TapeScope tape_scope(tape);
    tape.backward(loss());
  }
  expect_gradients(parameters, {.step = 1e-5, .tolerance = 1e-8, .draws = 3},
                   [&] { return loss().value().data<double>()[0]; });
}

TEST_P(ModelTest, StepsToWhatItWouldBeForcedTo) {
  constexpr int64_t kBeams = 2;
  const TeacherForced forced = model->teacher_force(scene.source, scene.before);
  const auto decoder = model->decode(scene.source, {.beams = kBeams, .longest = kTargetLength});
  const int64_t row = kBatch * kWords;
  for (int64_t t = 0; t < kTargetLength; ++t) {
    // Both beams say the same words; after each step they change places.
    const Tensor words = empty({kBeams, kBatch}, DType::kI32, kReference);
    for (int64_t k = 0; k < kBeams; ++k) copy(scene.before[t], words[k]);
    const Var logits = decoder->step(words);
    ASSERT_EQ(logits.shape(), (Shape{kBeams, kBatch, kWords}));
    for (int64_t i = 0; i < kBeams * row; ++i) {
      ASSERT_NEAR(logits.value().data<double>()[i], forced.logits.value().data<double>()[t * row + i % row], 1e-10)
          << "step " << t << ", element " << i;
    }
    decoder->reorder(from_host(std::vector<int32_t>{3, 4, 5, 0, 1, 2}, {kBeams, kBatch}, kReference));
  }
}

TEST_P(ModelTest, SaysWhichAttentionsItHas) {
  EXPECT_EQ(model->as_encoder_decoder(), model.get());
  const TeacherForced forced = model->teacher_force(scene.source, scene.before, true);
  const auto decoder = model->decode(scene.source, {.beams = 1, .longest = kTargetLength, .capture = true});
  decoder->step(scene.before.slice(0, 1));
  for (const std::vector<AttentionTrace>& traces : {forced.attentions, decoder->attentions()}) {
    size_t expected = 0;
    for (const AttentionInfo& info : model->attentions()) {
      for (int64_t layer = 0; layer < info.layers; ++layer, ++expected) {
        const auto found = std::find_if(traces.begin(), traces.end(), [&](const AttentionTrace& trace) {
          return trace.kind == info.kind && trace.layer == layer;
        });
        ASSERT_NE(found, traces.end()) << name_of(info.kind) << " " << layer;
        EXPECT_EQ(found->weights.dim(1), info.config.heads);
      }
    }
    EXPECT_EQ(traces.size(), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ModelTest, ::testing::ValuesIn(setups()),
                         [](const auto& test) { return test.param.name; });

// Draws depend only on seed and step, so a pass can be repeated with a parameter changed a little: what hard
// selection leaves for its rewards must have the right gradient, and so must what flows through expected values.
TEST(HardSelection, LeavesWhatRewardsNeedWithItsGradient) {
  for (const std::string& architecture : attending_models()) {
    ModelConfig config = small_config(architecture);
    config.attention.selection = "hard";
    Parameters parameters(kReference, DType::kF64);
    const auto model = make_model(parameters, config, {kWords, kWords});
    parameters.allocate(3);
    const Scene scene;
    const auto pass = [&](bool backward) {
      Tape tape(kReference, 7);
      tape.reset();
      const TapeScope tape_scope(tape);
      const TeacherForced forced = model->teacher_force(scene.source, scene.before);
      EXPECT_EQ(forced.selection_log_prob.shape(), (Shape{kTargetLength, kBatch}));
      const Var weights = cast(Var(ids({kTargetLength, kBatch}, 4)), DType::kF64);
      const Var loss = mean(cross_entropy(forced.logits, scene.after)) + sum(weights * forced.selection_log_prob) +
                       affine(sum(weights * forced.entropy), 0.3f);
      if (backward) tape.backward(loss);
      return to_host<double>(loss.value())[0];
    };
    SCOPED_TRACE(architecture);
    pass(true);
    expect_gradients(parameters, {.step = 1e-6, .tolerance = 1e-6, .draws = 1}, [&] { return pass(false); });
  }
}

TEST(ModelWeights, AreWhatASentenceWasReadWith) {
  std::vector<ModelConfig> configs;
  for (const std::string& architecture : attending_models()) {
    configs.push_back(small_config(architecture));
    if (!architecture_named(architecture).recurrent) continue;
    configs.push_back(small_config(architecture));
    configs.back().cell = "lstm", configs.back().attention.sentinel = true;
  }
  for (const ModelConfig& config : configs) {
    Parameters parameters(kReference, DType::kF64);
    const auto model = make_model(parameters, config, {kWords, kWords});
    parameters.allocate(3);
    const Scene scene;
    const TeacherForced plain = model->teacher_force(scene.source, scene.before),
                        kept = model->teacher_force(scene.source, scene.before, true);
    EXPECT_EQ(to_host<double>(plain.logits.value()), to_host<double>(kept.logits.value()));
    ASSERT_FALSE(kept.attentions.empty());
    for (const AttentionTrace& taken : kept.attentions) {
      const Tensor& w = taken.weights.value();
      const int64_t keys = w.dim(3);
      for (int64_t row = 0; row < w.size() / keys; ++row) {
        double total = 0.0;
        for (int64_t s = 0; s < keys; ++s) total += w.data<double>()[row * keys + s];
        if (taken.sentinel) {
          EXPECT_LT(total, 1.0);
          total += taken.sentinel.value().data<double>()[row];
        }
        EXPECT_NEAR(total, 1.0, 1e-9);
      }
    }
  }
}

// With a generation probability of almost 0 the prediction is the attention weights over the source tokens.
TEST(Copying, GivesSourceTokensTheirAttentionWeights) {
  for (const std::string& architecture : attending_models()) {
    ModelConfig config = small_config(architecture);
    config.copy = "mixture";
    Parameters parameters(kReference, DType::kF64);
    const auto model = make_model(parameters, config, {kWords, kWords});
    parameters.allocate(3);
    parameters.find("decoder.generate.bias").value().data<double>()[0] = -40;
    const Scene scene;
    const TeacherForced forced = model->teacher_force(scene.source, scene.before, true);
    const Tensor& weights = forced.attentions.back().weights.value();  // [B,H,T,S]
    const auto sources = to_host<int32_t>(scene.source.ids);
    const Tensor p = softmax(forced.logits).value();
    for (int64_t t = 0; t < kTargetLength; ++t) {
      for (int64_t b = 0; b < kBatch; ++b) {
        std::vector<double> expected(kWords, 0.0);
        for (int64_t s = 0; s < kSourceLength; ++s) {
          double weight = 0;
          for (int64_t h = 0; h < weights.dim(1); ++h) {
            weight += weights.data<double>()[((b * weights.dim(1) + h) * kTargetLength + t) * kSourceLength + s];
          }
          expected[static_cast<size_t>(sources[static_cast<size_t>(s * kBatch + b)])] +=
              weight / static_cast<double>(weights.dim(1));
        }
        for (int64_t v = 0; v < kWords; ++v) {
          EXPECT_NEAR(p.data<double>()[(t * kBatch + b) * kWords + v], expected[static_cast<size_t>(v)], 1e-9);
        }
      }
    }
  }
}

// Every attending decoder, as a mixture and as a pointer, with either attention.
std::vector<Setup> copying_setups() {
  std::vector<Setup> all;
  for (const std::string& architecture : attending_models()) {
    for (const char* copy : {"mixture", "pointer"}) {
      for (const char* attention : {"cross", "own"}) {
        Setup setup{architecture + "_" + copy + "_" + attention, small_config(architecture)};
        setup.config.copy = copy;
        setup.config.copy_attention = attention;
        if (architecture_named(architecture).recurrent) setup.config.attention.coverage = true;
        all.push_back(setup);
      }
    }
  }
  return all;
}

// A source with repeated tokens and three extended ids; targets of the vocabulary, of extended ids, and padding.
struct CopyScene : Scene {
  static constexpr int64_t kExtended = 8;
  CopyScene() {
    constexpr int32_t v = kWords;
    source.copied = from_host(std::vector<int32_t>{4, v, 5, v, 6, 3,               // repeated, known and extended
                                                   v, 4, v + 1, 3, 0, 0,           // padded
                                                   v + 2, v, v + 1, v + 2, 3, 0},  //
                              {kBatch, kSourceLength}, kReference);
    source.extended = kExtended;
    targets.ids = from_host(std::vector<int32_t>{v, 4, v + 2, 4, v + 1, v, 5, 3, v + 2, 3, 0, 3},
                            {kTargetLength, kBatch}, kReference);
    targets.generated =
        from_host(std::vector<int32_t>{0, 4, 0, 4, 0, 0, 5, 3, 0, 3, 0, 3}, {kTargetLength, kBatch}, kReference);
    targets.ignore = 0;
  }
  KnownTargets targets;
};

class CopyingTest : public ::testing::TestWithParam<Setup> {
 protected:
  CopyingTest() : model(make_model(parameters, GetParam().config, {kWords + 2, kWords})) { parameters.allocate(3); }
  Parameters parameters{kReference, DType::kF64};
  std::unique_ptr<EncoderDecoder> model;
  CopyScene scene;
};

TEST_P(CopyingTest, ProbabilitiesSumToOne) {
  const TeacherForced forced = model->teacher_force(scene.source, scene.before);
  const int64_t size = kWords + CopyScene::kExtended;
  ASSERT_EQ(forced.logits.shape(), (Shape{kTargetLength, kBatch, size}));
  for (int64_t row = 0; row < kTargetLength * kBatch; ++row) {
    double total = 0;
    for (int64_t v = 0; v < size; ++v) total += std::exp(forced.logits.value().data<double>()[row * size + v]);
    EXPECT_NEAR(total, 1, 1e-12);
  }
}

TEST_P(CopyingTest, LossesAreThoseOfTheDistribution) {
  const TeacherForced forced = model->teacher_force(scene.source, scene.before);
  const Tensor expected = cross_entropy(forced.logits, scene.targets.ids, 0.0f, 0).value();
  const TeacherForced known = model->teacher_force(scene.source, scene.before, {}, {}, &scene.targets);
  EXPECT_FALSE(known.logits);
  for (int64_t i = 0; i < kTargetLength * kBatch; ++i) {
    EXPECT_NEAR(known.losses.value().data<double>()[i], expected.data<double>()[i], 1e-12) << i;
  }
}

TEST_P(CopyingTest, LossesHaveTheirGradient) {
  const auto loss = [&] {
    return mean(model->teacher_force(scene.source, scene.before, {}, {}, &scene.targets).losses);
  };
  Tape tape(kReference);
  tape.reset();
  {
    const TapeScope tape_scope(tape);
    tape.backward(loss());
  }
  expect_gradients(parameters, {.step = 1e-5, .tolerance = 1e-8, .draws = 4},
                   [&] { return loss().value().data<double>()[0]; });
}

// Steps with extended ids, of sentences that leave the batch, give what teacher forcing gives.
TEST_P(CopyingTest, StepsToWhatItWouldBeForcedTo) {
  const TeacherForced forced = model->teacher_force(scene.source, scene.before);
  const auto decoder = model->decode(scene.source, {.beams = 1, .longest = kTargetLength, .capture = true});
  const int64_t size = kWords + CopyScene::kExtended;
  std::vector<int32_t> left = {0, 1, 2};
  for (int64_t t = 0; t < kTargetLength; ++t) {
    std::vector<int32_t> ids;
    for (const int32_t b : left) ids.push_back(scene.before.data<int32_t>()[t * kBatch + b]);
    const Var logits = decoder->step(from_host(ids, {1, std::ssize(ids)}, kReference));
    for (size_t i = 0; i < left.size(); ++i) {
      for (int64_t v = 0; v < size; ++v) {
        EXPECT_NEAR(logits.value().data<double>()[static_cast<int64_t>(i) * size + v],
                    forced.logits.value().data<double>()[(t * kBatch + left[i]) * size + v], 1e-10);
      }
    }
    const AttentionTrace copy = decoder->attentions().back();
    EXPECT_EQ(copy.kind, AttentionKind::kCopy);
    EXPECT_EQ(static_cast<bool>(copy.center), GetParam().config.copy == "mixture");
    if (t != 1) continue;
    decoder->select_sentences(from_host(std::vector<int32_t>{2, 1}, {2}, kReference));
    left = {2, 1};
  }
}

INSTANTIATE_TEST_SUITE_P(Copying, CopyingTest, ::testing::ValuesIn(copying_setups()),
                         [](const auto& test) { return test.param.name; });

// Smoothing weakens the gradient of the generated token, in proportion to the probability that it was generated.
TEST(Copying, SmoothingAppliesToGeneratedTokens) {
  const Tensor targets = from_host(std::vector<int32_t>{2, 1}, {2, 1}, kReference);
  const Tensor source = from_host(std::vector<int32_t>{2, 3}, {1, 2}, kReference);
  const auto gradient = [&](float smoothing, bool mixed) {
    const Tensor values = from_host(std::vector<double>{0.1, 0.7, -0.3, 0.2, 0.4, -1, 0.5, 0}, {2, 1, 4}, kReference);
    Gradient of_logits(values);
    const Var logits(values, &of_logits);
    const Var weights(from_host(std::vector<double>{0.4, 0.6, 0.3, 0.7}, {1, 1, 2, 2}, kReference));
    const Var gate(from_host(std::vector<double>{0.3, -0.4}, {2, 1}, kReference));
    Tape tape(kReference);
    tape.reset();
    const TapeScope scope(tape);
    const Var nll = negative_log_likelihood(logits, targets, smoothing);
    const Var loss = mixed ? pointer_loss(weights, nll, gate, {.source = source, .targets = targets, .vocabulary = 4})
                           : cross_entropy(logits, targets, smoothing);
    tape.backward(sum(loss));
    return to_host<double>(of_logits.sum);
  };
  const std::vector<double> plain = gradient(0, false), smooth = gradient(0.1f, false), mixed = gradient(0, true),
                            both = gradient(0.1f, true);
  for (size_t i = 0; i < plain.size(); ++i) {
    const double generated = mixed[i / 4 * 4] / plain[i / 4 * 4];  // its share of the target's probability
    EXPECT_NEAR(both[i], generated * smooth[i], 1e-12);
  }
  EXPECT_LT(mixed[0] / plain[0], 0.9);         // a part of the first target is copied
  EXPECT_NEAR(mixed[4] / plain[4], 1, 1e-12);  // the second is not in the source
}

TEST(ModelErrors, SayWhatDoesNotGoTogether) {
  const auto make = [](auto&& change) {
    ModelConfig c = small_config("bahdanau");
    change(c);
    Parameters parameters(kReference, DType::kF64);
    return make_model(parameters, c, {kWords, kWords});
  };
  EXPECT_ERROR(make([](ModelConfig& c) { c.architecture = "perceptron"; }),
               "model.architecture: expected one of rnn-seq2seq, bahdanau, luong, ");
  EXPECT_ERROR(make([](ModelConfig& c) { c.attention.score = "dot", c.bidirectional = true; }),
               "model.attention.score: dot needs queries and keys of the same size, got 8 and 16");
  EXPECT_ERROR(make([](ModelConfig& c) { c.attention.heads = 3; }),
               "model.attention.heads: expected a divisor of the depth 8, got 3");
  EXPECT_ERROR(make([](ModelConfig& c) { c.architecture = "transformer", c.self_attention.heads = 3; }),
               "model.self_attention.heads: expected a divisor of the depth 8, got 3");
  EXPECT_ERROR(make([](ModelConfig& c) { c.architecture = "transformer", c.self_attention.coverage = true; }),
               "model.self_attention.coverage: coverage is a sum over the steps of a recurrent decoder");
  EXPECT_ERROR(make([](ModelConfig& c) { c.architecture = "transformer", c.attention.coverage = true; }),
               "model.attention.coverage: coverage is a sum over the steps of a recurrent decoder");
  const auto sentinel = [&](auto&& change) {
    return make([&](ModelConfig& c) {
      c.cell = "lstm", c.attention.sentinel = true;
      change(c);
    });
  };
  EXPECT_NO_THROW(sentinel([](ModelConfig&) {}));
  EXPECT_NO_THROW(sentinel([](ModelConfig& c) { c.architecture = "rnn-seq2seq"; }));  // it attends to nothing
  EXPECT_ERROR(sentinel([](ModelConfig& c) { c.cell = "gru"; }),
               "model.attention.sentinel: a sentinel is a part of the cell state: expected model.cell = lstm, got gru");
  EXPECT_ERROR(sentinel([](ModelConfig& c) { c.architecture = "transformer"; }),
               "model.attention.sentinel: a sentinel is a part of the state of a recurrent decoder; expected "
               "model.architecture = bahdanau or luong, got transformer");
  EXPECT_ERROR(sentinel([](ModelConfig& c) { c.copy = "mixture"; }),
               "model.attention.sentinel: tokens cannot be copied by the weight of a sentinel");
}

}  // namespace
}  // namespace fovea
