#include "models/architectures.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

namespace fovea {

namespace {

const ArchitectureEntry kArchitectures[] = {
    {"rnn-seq2seq", "Sutskever et al. 2014", "Recurrent, without attention: shows the bottleneck.", make_rnn_seq2seq},
    {"bahdanau", "Bahdanau et al. 2015", "Recurrent; the last state attends before each step.", make_bahdanau},
    {"luong", "Luong et al. 2015", "Recurrent; the new state attends after each step.", make_luong},
    {"transformer", "Vaswani et al. 2017", "Attention alone.", make_transformer},
};

}  // namespace

Model::Model() {
  static std::atomic<uint64_t> last = 0;
  serial_ = ++last;
}

Var time_major(const Var& x) {
  // A product with the identity transposes; it is small, and its gradient comes with it.
  const int64_t steps = x.dim(2);
  std::vector<float> identity(static_cast<size_t>(steps * steps), 0.0f);
  for (int64_t t = 0; t < steps; ++t) identity[static_cast<size_t>(t * steps + t)] = 1.0f;
  const Var one = cast(Var(from_host(identity, {steps, steps}, x.device())), x.dtype());
  return matmul(one, sum(x, 1), {.b = true});
}

std::span<const ArchitectureEntry> architectures() { return kArchitectures; }

std::unique_ptr<Model> make_model(Parameters& parameters, const ModelConfig& config, const ModelSizes& sizes) {
  for (const ArchitectureEntry& entry : kArchitectures) {
    if (entry.name == config.architecture) return entry.make(parameters, config, sizes);
  }
  fail("model.architecture: expected one of {}, got {}", fmt::join(names_of(kArchitectures), ", "),
       config.architecture);
}

ModelConfig::ModelConfig() {
  self_attention.score = "scaled-dot";
  self_attention.heads = 4;
}

namespace {

int64_t smaller_limit(int64_t a, int64_t b) { return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b); }

int64_t attention_limit(const AttentionConfig& attention) {
  return attention.score == "location" ? attention.longest : 0;
}

}  // namespace

std::vector<AttentionEdit> edits_of(std::span<const WeightEdit> edits, TakenWeights::Kind kind, int64_t layer) {
  std::vector<AttentionEdit> found;
  for (const WeightEdit& e : edits) {
    if (e.kind == kind && (e.layer == AttentionEdit::kAll || e.layer == layer)) found.push_back(e.edit);
  }
  return found;
}

int64_t ModelConfig::most_target() const {
  if (architecture != "transformer") return 0;
  return smaller_limit(positions == "learned" ? longest : 0, attention_limit(self_attention));
}

int64_t ModelConfig::most_source() const {
  if (architecture == "rnn-seq2seq") return 0;
  return smaller_limit(most_target(), attention_limit(attention));
}

void ModelConfig::describe(Fields& f) {
  f.add("architecture", architecture, "The model.").choices(names_of(kArchitectures));
  f.add("embedding", embedding, "Depth of a word's vector (transformer: of everything).").at_least(1);
  f.add("hidden", hidden, "Recurrent: depth of a state.").at_least(1);
  f.add("encoder_layers", encoder_layers, "Layers of the encoder.").at_least(1);
  f.add("decoder_layers", decoder_layers, "Layers of the decoder.").at_least(1);
  f.add("cell", cell, "Recurrent: what a step computes.").choices({"tanh", "gru", "lstm"});
  f.add("bidirectional", bidirectional, "Recurrent: whether the source is read in both directions.");
  f.add("input_feeding", input_feeding, "luong: whether a step is told what the last one attended to.");
  f.add("residual", residual, "Recurrent: whether a layer's input is added to its output.");
  f.add("feed_forward", feed_forward, "transformer: depth inside the feed-forward layers.").at_least(1);
  f.add("norm", norm, "transformer: layer norm before or after each part.").choices({"pre", "post"});
  f.add("activation", activation, "transformer: inside the feed-forward layers.").choices({"relu", "gelu"});
  f.add("positions", positions, "transformer: what is added to word vectors.")
      .choices({"sinusoidal", "learned", "none"});
  f.add("longest", longest, "transformer: most tokens learned positions can tell apart.").at_least(1);
  f.add("tie_embeddings", tie_embeddings, "Whether target embeddings are the output layer's matrix, too.");
  f.add("dropout", dropout, "Share dropped in training; across all steps of a recurrence.").at_least(0).below(1);
  f.section("attention", attention);
  f.section("self_attention", self_attention);
}

}  // namespace fovea
