#include "models/architectures.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

namespace fovea {

namespace {

const ArchitectureEntry kArchitectures[] = {
    {"rnn-seq2seq", "Sutskever et al. 2014",
     "Recurrent, without attention: shows the bottleneck of a fixed-size vector.", make_rnn_seq2seq},
    {"bahdanau", "Bahdanau et al. 2015", "Recurrent; the previous decoder state attends before each step.",
     make_bahdanau},
    {"luong", "Luong et al. 2015", "Recurrent; the new decoder state attends after each step.", make_luong},
    {"transformer", "Vaswani et al. 2017", "Attention and feed-forward layers only.", make_transformer},
};

}  // namespace

Model::Model() {
  static std::atomic<uint64_t> last = 0;
  serial_ = ++last;
}

std::span<const ArchitectureEntry> architectures() { return kArchitectures; }

std::unique_ptr<Model> make_model(Parameters& parameters, const ModelConfig& config, const VocabularySizes& sizes) {
  for (const ArchitectureEntry& entry : kArchitectures) {
    if (entry.name == config.architecture) return entry.make(parameters, config, sizes);
  }
  fail("model.architecture: expected one of {}, got {}", fmt::join(names_of(kArchitectures), ", "),
       config.architecture);
}

ModelConfig::ModelConfig() {
  attention.section = "model.attention";
  self_attention.section = "model.self_attention";
  self_attention.score = "scaled-dot";
  self_attention.heads = 4;
}

namespace {

int64_t smaller_limit(int64_t a, int64_t b) { return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b); }

int64_t attention_limit(const AttentionConfig& attention) {
  return attention.score == "location" ? attention.longest : 0;
}

}  // namespace

std::vector<AttentionEdit> edits_of(std::span<const WeightEdit> edits, AttentionTrace::Kind kind, int64_t layer) {
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
  const std::string chosen = f.key("architecture");
  const bool transformer = architecture == "transformer", recurrent = !transformer;
  const std::string need_recurrent = chosen + " = rnn-seq2seq, bahdanau or luong",
                    need_transformer = chosen + " = transformer";
  f.add("architecture", architecture, "Model architecture.")
      .choices(names_of(kArchitectures))
      .also_called({"type", "name", "arch"});
  f.add("embedding", embedding, "Embedding size; for a transformer, the size of every layer (d_model).")
      .at_least(1)
      .also_called({"d_model", "dim", "dim_emb", "emb_dim", "embed_dim", "embedding_size", "embedding_dim"});
  f.add("hidden", hidden, "Recurrent: hidden state size.")
      .at_least(1)
      .also_called({"hidden_size", "hidden_dim", "rnn_size", "dim_rnn", "units"})
      .needs(recurrent, need_recurrent);
  f.add("encoder_layers", encoder_layers, "Number of encoder layers.")
      .at_least(1)
      .also_called({"layers", "num_layers", "n_layers", "enc_layers", "enc_depth", "depth"});
  f.add("decoder_layers", decoder_layers, "Number of decoder layers.")
      .at_least(1)
      .also_called({"dec_layers", "dec_depth"});
  f.add("cell", cell, "Recurrent: cell type.")
      .choices({"tanh", "gru", "lstm"})
      .also_called({"rnn_type", "cell_type", "rnn"})
      .needs(recurrent, need_recurrent);
  f.add("bidirectional", bidirectional, "Recurrent: read the source in both directions.")
      .needs(recurrent, need_recurrent);
  f.add("input_feeding", input_feeding,
        "luong: feed the attentional state of each step into the next (Luong et al. 2015, section 3.3).")
      .also_called({"input_feed"})
      .needs(architecture == "luong", chosen + " = luong");
  f.add("residual", residual, "Recurrent: residual connections between layers.")
      .needs(encoder_layers > 1 || decoder_layers > 1,
             fmt::format("{} or {} above 1", f.key("encoder_layers"), f.key("decoder_layers")))
      .needs(recurrent, need_recurrent);
  f.add("feed_forward", feed_forward, "transformer: inner size of the feed-forward layers.")
      .at_least(1)
      .also_called({"d_ff", "ffn", "ffn_dim", "ff_size", "ffn_size", "dim_feedforward", "transformer_dim_ffn"})
      .needs(transformer, need_transformer);
  f.add("norm", norm, "transformer: layer norm before (pre) or after (post) each sublayer.")
      .choices({"pre", "post"})
      .needs(transformer, need_transformer);
  f.add("activation", activation, "transformer: activation function of the feed-forward layers.")
      .choices({"relu", "gelu"})
      .needs(transformer, need_transformer);
  f.add("positions", positions, "transformer: positional encoding added to the embeddings.")
      .choices({"sinusoidal", "learned", "none"})
      .also_called({"positional_encoding", "position_encoding"})
      .needs(transformer, need_transformer);
  f.add("longest", longest, "transformer: longest sequence that learned positions cover, in tokens.")
      .at_least(1)
      .also_called({"max_length", "max_len", "max_position_embeddings"})
      .needs(positions == "learned", f.key("positions") + " = learned")
      .needs(transformer, need_transformer);
  f.add("tie_embeddings", tie_embeddings,
        "Use the target embeddings as the output layer's weights (Press & Wolf 2017).")
      .also_called({"tied_embeddings", "share_embeddings"});
  f.add("dropout", dropout, "Dropout rate; in recurrent layers one mask is used for all time steps.")
      .at_least(0)
      .below(1);
  f.section("attention", attention).needs(architecture != "rnn-seq2seq", chosen + " = bahdanau, luong or transformer");
  f.section("self_attention", self_attention).needs(transformer, need_transformer);
  // One bonus serves every hard attention of the model.
  const bool hard_self = transformer && self_attention.selection == "hard" && self_attention.estimator == "reinforce";
  const std::string bonus = f.key("attention.entropy_bonus");
  if (!hard_self) return;
  f.find(bonus).always_matters();
  f.find(f.key("self_attention.entropy_bonus")).has_no_effect(bonus + " is used for every attention of the model");
}

}  // namespace fovea
