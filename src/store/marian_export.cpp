#include "store/marian_export.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "store/foreign_folder.h"
#include "store/safetensors.h"
#include "text/renumbered_vocabulary.h"
#include "text/sentencepiece_vocabulary.h"

namespace fovea {

namespace {

// A setting that MarianMTModel does not have in other values.
void expect(bool ok, std::string_view setting, std::string_view expected, std::string_view got) {
  check(ok, "MarianMTModel cannot express {} = {}: expected {}", setting, got, expected);
}

void check_attention(const AttentionConfig& attention, const ModelConfig& model) {
  const auto key = [&](std::string_view name) { return fmt::format("{}.{}", attention.section, name); };
  expect(attention.score == "scaled-dot" || attention.score == "dot", key("score"), "scaled-dot or dot",
         attention.score);
  expect(attention.scope == "global", key("scope"), "global", attention.scope);
  expect(attention.selection == "soft", key("selection"), "soft", attention.selection);
  expect(attention.relative == "none", key("relative"), "none", attention.relative);
  expect(!attention.coverage, key("coverage"), "false", "true");
  expect(!attention.sentinel, key("sentinel"), "false", "true");
  expect(attention.depth == 0 || attention.depth == model.embedding, key("depth"), "0",
         std::to_string(attention.depth));
}

void check_expressible(const FolderConfig& config) {
  const ModelConfig& model = config.model;
  expect(model.architecture == "transformer", "model.architecture", "transformer", model.architecture);
  expect(model.encoder.empty() || model.encoder == "transformer", "model.encoder", "transformer", model.encoder);
  expect(model.norm == "post", "model.norm", "post", model.norm);
  expect(model.positions == "sinusoidal", "model.positions", "sinusoidal", model.positions);
  expect(model.copy == "none", "model.copy", "none", model.copy);
  check_attention(model.attention, model);
  check_attention(model.self_attention, model);
  expect(model.attention.heads == model.self_attention.heads, "model.attention.heads",
         fmt::format("{}, as in model.self_attention.heads", model.self_attention.heads),
         std::to_string(model.attention.heads));
  expect(config.task != "dialogue", "task", "sequence or summarise", config.task);
  expect(config.end_source, "end_source", "true", "false");
  expect(!config.reverse_source, "reverse_source", "false", "true");
  expect(!config.split_identifiers, "split_identifiers", "false", "true");
}

void check_vocabulary(const Vocabulary& vocabulary, std::string_view side) {
  check(vocabulary.extension() == kSentencePieceExtension,
        "MarianTokenizer cannot express the {} vocabulary of kind {}: expected unigram or bpe", side,
        vocabulary.kind());
}

// The values of a parameter as they are, in rows of columns.
std::vector<float> values_of(const LoadedModel& model, std::string_view name) {
  return to_host<float>(to_device(model.parameters->find(name).value(), Device::cpu()));
}

bool same_bytes(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

NamedTensor named(const std::string& name, const std::vector<float>& values, const Shape& shape) {
  return {name, from_host(values, shape, Device::cpu())};
}

// With one head our attention has no projections; theirs get the identity.
void add_identities(const ModelConfig& config, std::vector<NamedTensor>& tensors) {
  const int64_t d = config.embedding;
  std::vector<float> identity(static_cast<size_t>(d * d));
  for (int64_t i = 0; i < d; ++i) identity[static_cast<size_t>(i * d + i)] = 1;
  const std::vector<float> zeros(static_cast<size_t>(d));
  const auto add = [&](const std::string& attention) {
    for (const char* part : {"q_proj", "k_proj", "v_proj", "out_proj"}) {
      tensors.push_back(named(fmt::format("{}.{}.weight", attention, part), identity, {d, d}));
      tensors.push_back(named(fmt::format("{}.{}.bias", attention, part), zeros, {d}));
    }
  };
  for (int64_t i = 0; i < config.encoder_layers; ++i) add(fmt::format("model.encoder.layers.{}.self_attn", i));
  for (int64_t i = 0; i < config.decoder_layers; ++i) {
    add(fmt::format("model.decoder.layers.{}.self_attn", i));
    add(fmt::format("model.decoder.layers.{}.encoder_attn", i));
  }
}

// Theirs divide all scores by the square root of the heads' size, so the queries of unscaled scores are multiplied.
float query_factor(const AttentionConfig& attention, int64_t features) {
  if (attention.score == "scaled-dot") return 1;
  return std::sqrt(static_cast<float>(features) / static_cast<float>(attention.heads));
}

void scale_queries(const ModelConfig& config, std::vector<NamedTensor>& tensors) {
  for (NamedTensor& tensor : tensors) {
    if (tensor.name.find(".q_proj.") == std::string::npos) continue;
    const bool cross = tensor.name.find("encoder_attn") != std::string::npos;
    const float factor = query_factor(cross ? config.attention : config.self_attention, config.embedding);
    auto* values = tensor.tensor.data<float>();
    for (int64_t i = 0; i < tensor.tensor.size(); ++i) values[i] *= factor;
  }
}

// transformers makes both tables of embeddings in the size of the source's vocabulary, so the smaller one gets rows of
// tokens that no text has.
void pad_rows(NamedTensor& tensor, int64_t rows, float value) {
  const Shape shape = tensor.tensor.shape();
  std::vector<float> values = to_host<float>(tensor.tensor);
  values.resize(static_cast<size_t>(rows * (shape.rank() > 1 ? shape[1] : 1)), value);
  tensor = named(tensor.name, values, shape.with(0, rows));
}

std::vector<NamedTensor> tensors_of(const LoadedModel& model, const MarianEmbeddings& embeddings, int64_t tokens) {
  const ModelConfig& config = model.config.model;
  std::vector<WeightPlace> places = marian_places(config, embeddings);
  std::erase_if(places, [&](const WeightPlace& place) {
    const bool unused = place.ours.starts_with("encoder.norm.") || place.ours.starts_with("decoder.norm.");
    const bool projection = place.theirs.find("_proj.") != std::string::npos;
    return unused || (projection && config.self_attention.heads == 1) ||
           (embeddings.shared && place.ours == "encoder.words.table");
  });
  std::vector<NamedTensor> tensors = written_weights(*model.parameters, places);
  if (config.self_attention.heads == 1) add_identities(config, tensors);
  scale_queries(config, tensors);
  for (NamedTensor& tensor : tensors) {
    const bool table = tensor.name.find("embed_tokens") != std::string::npos || tensor.name == "lm_head.weight";
    if (table) pad_rows(tensor, tokens, 0);
    if (tensor.name != "final_logits_bias") continue;
    pad_rows(tensor, tokens, kNeverGenerated);
    tensor.tensor = tensor.tensor.reshape({1, tokens});
  }
  return tensors;
}

void write_json(const std::string& path, const Json& json) { write_file_atomically(path, json.dump(2) + "\n"); }

// The pieces of a vocabulary and their ids, and names for the ids up to `tokens`.
void write_vocabulary(const std::string& path, const Vocabulary& vocabulary, int64_t tokens) {
  std::string text = "{";
  for (int64_t id = 0; id < tokens; ++id) {
    const std::string piece =
        id < vocabulary.size() ? vocabulary.piece(static_cast<int32_t>(id)) : fmt::format("<no token {}>", id);
    text += fmt::format("{}\n  {}: {}", id == 0 ? "" : ",", Json(piece).dump(), id);
  }
  write_file_atomically(path, text + "\n}\n");
}

std::string activation_name(const std::string& activation) {
  if (activation == "gelu") return "gelu_new";
  return activation == "gelu-erf" ? "gelu" : activation;
}

Json config_json(const FolderConfig& config, const MarianEmbeddings& embeddings, int64_t tokens, int64_t positions) {
  const ModelConfig& model = config.model;
  return {{"architectures", {"MarianMTModel"}},
          {"model_type", "marian"},
          {"is_encoder_decoder", true},
          {"activation_function", activation_name(model.activation)},
          {"activation_dropout", model.dropout},
          {"attention_dropout", model.attention.dropout},
          {"dropout", model.dropout},
          {"d_model", model.embedding},
          {"encoder_layers", model.encoder_layers},
          {"decoder_layers", model.decoder_layers},
          {"num_hidden_layers", model.encoder_layers},
          {"encoder_attention_heads", model.self_attention.heads},
          {"decoder_attention_heads", model.self_attention.heads},
          {"encoder_ffn_dim", model.feed_forward},
          {"decoder_ffn_dim", model.feed_forward},
          {"encoder_layerdrop", 0.0},
          {"decoder_layerdrop", 0.0},
          {"max_position_embeddings", positions},
          {"static_position_embeddings", true},
          {"normalize_before", false},
          {"normalize_embedding", false},
          {"add_final_layer_norm", false},
          {"scale_embedding", true},
          {"share_encoder_decoder_embeddings", embeddings.shared},
          {"tie_word_embeddings", embeddings.tied},
          {"vocab_size", tokens},
          {"decoder_vocab_size", tokens},
          {"pad_token_id", kPad},
          {"bos_token_id", kBegin},
          {"eos_token_id", kEnd},
          {"forced_eos_token_id", kEnd},
          {"decoder_start_token_id", kBegin},
          {"init_std", 0.02},
          {"use_cache", true},
          {"torch_dtype", "float32"}};
}

}  // namespace

void export_marian(const LoadedModel& model, const std::string& folder) {
  constexpr int64_t kPositions = 512;  // as the published models have
  check_expressible(model.config);
  check_vocabulary(*model.source, "source");
  check_vocabulary(*model.target, "target");
  const std::string source = model.source->bytes(), target = model.target->bytes();
  const MarianEmbeddings embeddings{.shared = source == target && same_bytes(values_of(model, "encoder.words.table"),
                                                                             values_of(model, "decoder.words.table")),
                                    .tied = model.config.model.tie_embeddings,
                                    .scaled = true};
  const int64_t tokens = std::max(model.source->size(), model.target->size());
  const int64_t positions = std::max(kPositions, model.config.max_source + 1);
  const DecodingDefaults& decoding = model.config.decoding;

  create_model_folder(folder);
  write_file_atomically(folder + "/source.spm", sentencepiece_model(source));
  write_file_atomically(folder + "/target.spm", sentencepiece_model(target));
  write_vocabulary(folder + "/vocab.json", *model.source, tokens);
  if (!embeddings.shared) write_vocabulary(folder + "/target_vocab.json", *model.target, tokens);
  write_json(folder + "/tokenizer_config.json", {{"tokenizer_class", "MarianTokenizer"},
                                                 {"separate_vocabs", !embeddings.shared},
                                                 {"source_lang", nullptr},
                                                 {"target_lang", nullptr},
                                                 {"model_max_length", positions},
                                                 {"pad_token", "<pad>"},
                                                 {"unk_token", "<unk>"},
                                                 {"eos_token", "</s>"}});
  write_json(folder + "/generation_config.json",
             {{"decoder_start_token_id", kBegin},
              {"pad_token_id", kPad},
              {"bos_token_id", kBegin},
              {"eos_token_id", kEnd},
              {"forced_eos_token_id", kEnd},
              {"bad_words_ids", Json::array({Json::array({kPad}), Json::array({kUnknown}), Json::array({kBegin})})},
              {"num_beams", std::max<int64_t>(1, decoding.beam)},
              {"max_length", kPositions}});
  write_safetensors(folder + "/model.safetensors", tensors_of(model, embeddings, tokens), {{"format", "pt"}});
  write_json(folder + "/config.json", config_json(model.config, embeddings, tokens, positions));
}

}  // namespace fovea
