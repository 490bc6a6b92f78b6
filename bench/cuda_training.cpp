// Whole training steps, replayed from CUDA graphs: forward, backward, clipping, Adam.
#include <fmt/format.h>

#include <cmath>

#include "base/random.h"
#include "bench/cuda.h"
#include "models/model.h"
#include "ops/ops.h"
#include "tensor/step_graphs.h"
#include "text/vocabulary.h"
#include "train/optimiser.h"

namespace bench {

namespace {

using namespace fovea;  // NOLINT(google-build-using-namespace): a benchmark uses most of the library's names

struct Work {
  std::string name;
  ModelConfig model;
  int64_t vocabulary, batch, length;
  bool measured = true;          // false: only checked
  bool varying_lengths = false;  // of the sources
};

ModelConfig bahdanau(int64_t embedding, int64_t hidden) {
  ModelConfig c;
  c.architecture = "bahdanau";
  c.embedding = embedding;
  c.hidden = c.attention.depth = hidden;
  c.tie_embeddings = true;  // the last layer has the embedding's depth, as in bench/peers/card_models.py
  c.dropout = 0;
  return c;
}

ModelConfig luong(int64_t depth, bool input_feeding) {
  ModelConfig c;
  c.architecture = "luong";
  c.embedding = c.hidden = depth;
  c.encoder_layers = c.decoder_layers = 2;
  c.cell = "lstm";
  c.bidirectional = false;
  c.input_feeding = input_feeding;
  c.attention.score = "general";
  c.dropout = 0;
  return c;
}

// The states that are attended over are wider than the queries.
ModelConfig bidirectional(ModelConfig c) {
  c.bidirectional = true;
  return c;
}

ModelConfig transformer(int64_t layers, int64_t depth, int64_t heads) {
  ModelConfig c;
  c.architecture = "transformer";
  c.embedding = depth;
  c.encoder_layers = c.decoder_layers = layers;
  c.feed_forward = 4 * depth;
  c.norm = "post";
  c.attention.score = c.self_attention.score = "scaled-dot";
  c.attention.heads = c.self_attention.heads = heads;
  c.tie_embeddings = true;
  c.dropout = c.attention.dropout = c.self_attention.dropout = 0.1;
  return c;
}

std::vector<Work> all_work() {
  constexpr int64_t kVocabulary = 16'000;
  return {{"bahdanau gru E512 H1024", bahdanau(512, 1024), kVocabulary, 128, 30},
          {"bahdanau gru E256 H512", bahdanau(256, 512), kVocabulary, 128, 30},
          {"luong lstm2x512 feed", luong(512, true), kVocabulary, 128, 30},
          {"luong lstm2x512 nofeed", luong(512, false), kVocabulary, 128, 30},
          {"luong bidirectional", bidirectional(luong(512, true)), kVocabulary, 128, 30, false},
          {"transformer 3+3 d256", transformer(3, 256, 4), kVocabulary, 256, 32},
          {"transformer base 6+6 d512", transformer(6, 512, 8), kVocabulary, 256, 32}};
}

Tensor random_tokens(const Work& work, uint64_t seed, Device device) {
  Random random(seed);
  std::vector<int32_t> ids(static_cast<size_t>(work.length * work.batch));
  for (int32_t& id : ids) {
    id = static_cast<int32_t>(kEnd + 1 + random.below(static_cast<uint32_t>(work.vocabulary - kEnd - 1)));
  }
  return from_host(ids, {work.length, work.batch}, device);
}

Tensor lengths_of(const Work& work, Device device) {
  Random random(4);
  std::vector<int32_t> lengths(static_cast<size_t>(work.batch), static_cast<int32_t>(work.length));
  for (int32_t& length : lengths) {
    if (work.varying_lengths) length = static_cast<int32_t>(1 + random.below(static_cast<uint64_t>(work.length)));
  }
  return from_host(lengths, {work.batch}, device);
}

class Training {
 public:
  Training(const Work& work, Precision precision, Device device)
      : work_(work),
        precision_(precision),
        parameters_(device),
        model_(make_model(parameters_, work.model, {work.vocabulary, work.vocabulary})),
        tape_(device),
        graphs_(device),
        source_(random_tokens(work, 1, device)),
        before_(random_tokens(work, 2, device)),
        after_(random_tokens(work, 3, device)),
        lengths_(lengths_of(work, device)),
        loss_(zeros({1}, DType::kF32, device)) {
    parameters_.allocate(1);
    optimiser_ = std::make_unique<Optimiser>(parameters_, OptimiserOptions{.clip_norm = 1.0f});
  }

  void forward_backward() {
    const Var loss =
        mean(cross_entropy(model_->teacher_force({source_, lengths_}, before_).logits, after_, 0.0f, kPad, true));
    tape_.backward(loss);
    const Device d = loss.device();
    kernels(d).affine(stream(d), {.x = loss.value().reshape({1}), .y = loss_});
  }
  double gradients() {
    const PrecisionScope scope(precision_);
    tape_.reset();
    const TapeScope tape_scope(tape_);
    forward_backward();
    return to_host<float>(loss_)[0];
  }
  void step() {
    const PrecisionScope scope(precision_);
    tape_.reset();
    const TapeScope tape_scope(tape_);
    parameters_.values().buffer()->refresh_derived();
    graphs_.run(kAccumulate, tape_.generation(), [&] {
      forward_backward();
      return std::monostate();
    });
    optimiser_->step(1e-3f, [&](const Optimiser::Update& update) {
      graphs_.run(kUpdate, tape_.generation(), [&] {
        update();
        return std::monostate();
      });
    });
  }
  void discard_graphs() { graphs_ = Graphs(kCard); }
  double loss() const { return to_host<float>(loss_)[0]; }
  Parameters& parameters() { return parameters_; }
  size_t memory() const { return tape_.peak_bytes(); }
  int64_t tokens() const { return work_.batch * work_.length; }

 private:
  enum Graph { kAccumulate, kUpdate };
  using Graphs = StepGraphs<Graph, std::monostate>;

  const Work& work_;
  Precision precision_;
  Parameters parameters_;
  std::unique_ptr<EncoderDecoder> model_;
  std::unique_ptr<Optimiser> optimiser_;
  Tape tape_;
  Graphs graphs_;
  Tensor source_, before_, after_, lengths_, loss_;
};

// Compares the gradients of a small model of the same architecture with the reference's.
void check(const Work& work) {
  Work small = work;
  small.vocabulary = 300;
  small.batch = 3;
  small.length = 6;
  ModelConfig& c = small.model;
  c.embedding = c.hidden = 64;
  c.attention.depth = c.architecture == "bahdanau" ? 64 : 0;
  small.varying_lengths = true;
  c.feed_forward = 96;
  c.dropout = c.attention.dropout = c.self_attention.dropout = 0;
  Training exact(small, Precision::kF32, Device::reference());
  const double loss = exact.gradients();
  const auto expected = to_host<float>(exact.parameters().grads());
  // In bf16 every activation is rounded, which a deep and narrow model shows most.
  const double rough = c.architecture == "transformer" ? 0.2 : 0.05;
  for (const auto& [precision, most] : {std::pair{Precision::kF32, 1e-3}, {Precision::kBF16, rough}}) {
    Training ours(small, precision, kCard);
    const double off = std::abs(ours.gradients() - loss);
    const double share = distance(to_host<float>(ours.parameters().grads()), expected);
    fmt::print("{} {}: gradients {:.1e} from the reference's, loss {:.1e}\n", work.name,
               precision == Precision::kF32 ? "f32" : "bf16", share, off);
    if (!(share < most) || !(off < most)) wrong(work.name + " trains wrongly");
  }
}

// Compares bf16 with f32 at full size, where other kernels run than in a small model.
void check_large(const Work& work) {
  Work varying = work;
  varying.varying_lengths = true;
  varying.model.dropout = varying.model.attention.dropout = varying.model.self_attention.dropout = 0;
  Training f32(varying, Precision::kF32, kCard), bf16(varying, Precision::kBF16, kCard);
  const double off = std::abs(f32.gradients() - bf16.gradients());
  const double share = distance(to_host<float>(bf16.parameters().grads()), to_host<float>(f32.parameters().grads()));
  fmt::print("{}: gradients in bf16 {:.1e} from those in f32, loss {:.1e}\n", work.name, share, off);
  if (!(share < 0.2) || !(off < 0.02)) wrong(work.name + " trains wrongly in bf16");
}

// Two runs of six steps, most of them replayed, have the same loss to the bit.
void check_repeats(const Work& work) {
  double losses[2];
  for (double& loss : losses) {
    Training training(work, Precision::kBF16, kCard);
    for (int i = 0; i < 6; ++i) training.step();
    loss = training.loss();
  }
  fmt::print("{}: loss {:.6f} after 6 steps, twice\n", work.name, losses[0]);
  if (losses[0] != losses[1] || !std::isfinite(losses[0])) wrong(work.name + ": two runs differ");
}

void profile(const Work& work, Table& table) {
  Training training(work, Precision::kBF16, kCard);
  for (int i = 0; i < 3; ++i) training.step();
  training.discard_graphs();
  training.step();
  const KernelProfile counted(kCard);
  for (int i = 0; i < 2; ++i) training.step();  // captured, and replayed
  add_shares(work.name, counted, table);
}

}  // namespace

Tables cuda_training(const Options& options, const PeerFigures& peers) {
  Tables tables = {Table("training on the card, bf16, Adam, clipping",
                         {"model", "step ms", "target tok/s", "loss", "pass MB", "graphed ms", "graphed / ours",
                          "as written ms", "written / ours"}),
                   shares_table("where a step goes")};
  for (const Work& work : all_work()) {
    if (("train " + work.name).find(options.filter) == std::string::npos) continue;
    check(work);
    if (!options.quick) check_large(work);
    if (!work.measured) continue;
    check_repeats(work);
    {
      Training training(work, Precision::kBF16, kCard);
      const double seconds = time_on_card([&] { training.step(); }, 5, options.quick ? 10 : 30);
      const double graphed = peers.least({work.name, "graphed"}, "step_ms");
      const double written = peers.least({work.name, "as-written"}, "step_ms");
      tables[0].add(work.name, seconds * 1e3, static_cast<double>(training.tokens()) / seconds, training.loss(),
                    static_cast<double>(training.memory()) / 1e6, graphed, graphed / (seconds * 1e3), written,
                    written / (seconds * 1e3));
    }
    profile(work, tables[1]);
  }
  return tables;
}

}  // namespace bench
