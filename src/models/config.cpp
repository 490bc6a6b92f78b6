#include "models/config.h"

#include <fmt/format.h>

#include "models/architectures.h"

namespace fovea {

ModelConfig::ModelConfig() {
  attention.section = "model.attention";
  self_attention.section = "model.self_attention";
  self_attention.score = "scaled-dot";
  self_attention.heads = 4;
}

bool ModelConfig::has_cross_attention() const {
  const ArchitectureEntry* decodes = find_entry(architectures(), architecture);
  return decodes != nullptr && decodes->cross_attention;
}

bool ModelConfig::uses_reinforce() const {
  const ArchitectureEntry* decodes = find_entry(architectures(), architecture);
  if (decodes == nullptr) return false;
  const EncoderEntry* encodes = find_entry(text_encoders(), encoder.empty() ? decodes->encoder : encoder);
  const bool self = decodes->self_attention || (encodes != nullptr && encodes->self_attention);
  return (decodes->cross_attention && attention.uses_reinforce()) || (self && self_attention.uses_reinforce());
}

void ModelConfig::describe(Fields& f) {
  const ArchitectureEntry* decodes = find_entry(architectures(), architecture);
  const EncoderEntry* encodes = find_entry(text_encoders(), encoder.empty() && decodes ? decodes->encoder : encoder);
  const auto needs = [&](const std::string& decoders, const std::string& encoders) {
    return fmt::format("{} = {}{}", f.key("architecture"), decoders,
                       encoders.empty() ? "" : fmt::format(", or {} = {}", f.key("encoder"), encoders));
  };
  // A value that is not in a registry is reported by its own key; it makes no other key useless.
  const bool recurrent = !decodes || !encodes || decodes->recurrent || encodes->recurrent;
  const bool recurrent_encoder = !encodes || encodes->recurrent;
  const bool transformer = !decodes || !encodes || decodes->self_attention || encodes->self_attention;
  const std::string recurrent_encoders = names_with(text_encoders(), [](const auto& e) { return e.recurrent; });
  const std::string need_recurrent =
      needs(names_with(architectures(), [](const auto& e) { return e.recurrent; }), recurrent_encoders);
  const std::string need_transformer =
      needs(names_with(architectures(), [](const auto& e) { return e.self_attention; }),
            names_with(text_encoders(), [](const auto& e) { return e.self_attention; }));
  f.add("architecture", architecture, "Model architecture.")
      .choices(names_of(architectures()))
      .also_called({"type", "name", "arch"});
  std::vector<std::string> encoders = names_of(text_encoders());
  encoders.insert(encoders.begin(), "");
  f.add("encoder", encoder, "Encoder; empty for the one of the architecture's paper.")
      .choices(std::move(encoders))
      .also_called({"encoder_type"});
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
      .needs(recurrent_encoder, need_recurrent);
  const std::string feeding = names_with(architectures(), [](const auto& e) { return e.input_feeding; });
  f.add("input_feeding", input_feeding,
        "luong: feed the attentional state of each step into the next (Luong et al. 2015, section 3.3).")
      .also_called({"input_feed"})
      .needs(!decodes || decodes->input_feeding, needs(feeding, ""));
  const std::string gating = names_with(architectures(), [](const auto& e) { return e.context_gate; });
  f.add("context_gate", context_gate,
        "bahdanau: scale the context by a gate that the previous state decides, so that a step may look away (Xu et "
        "al. 2015, section 4.2.1).")
      .needs(!decodes || decodes->context_gate, needs(gating, ""));
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
  f.add("activation", activation,
        "transformer: activation function of the feed-forward layers; gelu is the tanh approximation, gelu-erf is "
        "exact.")
      .choices({"relu", "gelu", "gelu-erf", "swish"})
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
      .also_called({"tied_embeddings", "share_embeddings"})
      .needs(copy != "pointer", f.key("copy") + " = none or mixture");
  const std::string attending = names_with(architectures(), [](const auto& e) { return e.cross_attention; });
  f.add("copy", copy,
        "Copying of source tokens by their attention weights: none; mixture, with generated tokens (pointer-generator, "
        "See et al. 2017); or pointer, where every token is copied and the source's end mark ends the target (Vinyals "
        "et al. 2015). Words outside the vocabulary can be copied.")
      .choices({"none", "mixture", "pointer"})
      .was_switch("none", "mixture")
      .also_called({"copy_attn", "pointer_generator"})
      .needs(!decodes || decodes->cross_attention, needs(attending, ""));
  f.add("copy_attention", copy_attention,
        "The attention that is copied by: cross, the decoder's attention to the source (the mean of the heads of its "
        "last layer), or own, another one of the output layer, which all decoder layers are free of.")
      .choices({"cross", "own"})
      .needs(copies(), f.key("copy") + " = mixture or pointer")
      .needs(!decodes || decodes->cross_attention, needs(attending, ""));
  f.add("dropout", dropout, "Dropout rate; in recurrent layers one mask is used for all time steps.")
      .at_least(0)
      .below(1);
  f.section("attention", attention).needs(!decodes || decodes->cross_attention, needs(attending, ""));
  f.section("self_attention", self_attention).needs(transformer, need_transformer);
  // One entropy bonus serves every hard attention of the model.
  if (!(transformer && self_attention.uses_reinforce())) return;
  const std::string bonus = f.key("attention.entropy_bonus");
  f.find(bonus).always_matters();
  f.find(f.key("self_attention.entropy_bonus")).has_no_effect(bonus + " is used for every attention of the model");
}

}  // namespace fovea
