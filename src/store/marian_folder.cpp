// MarianMTModel as Hugging Face stores it, and as OPUS-MT's models are published: config.json, source.spm, target.spm,
// vocab.json (and target_vocab.json), model.safetensors or pytorch_model.bin.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "store/foreign_folder.h"
#include "store/foreign_vocabulary.h"
#include "text/renumbered_vocabulary.h"

namespace fovea {

namespace {

constexpr int64_t kMostLayers = 1000, kMostFeatures = 1 << 20, kMostTokens = 1 << 24;

bool exists(const std::string& path) { return std::filesystem::exists(path); }

// The settings in config.json, with the defaults of MarianConfig.
class Settings {
 public:
  explicit Settings(const std::string& folder) : path_(folder + "/config.json") {
    json_ = parse_json(read_file(path_), path_);
    const std::string generation = folder + "/generation_config.json";
    if (exists(generation)) generation_ = parse_json(read_file(generation), generation);
    if (!generation_.is_object()) generation_ = Json::object();
  }

  const std::string& path() const { return path_; }
  int64_t integer(const char* key, int64_t low, int64_t high, std::optional<int64_t> otherwise) const {
    try {
      return whole_number(present(json_, key) ? json_ : Json::object(), key, low, high, otherwise);
    } catch (const Json::exception&) {
      fail("{}: expected the key {}", path_, key);
    } catch (const Error& error) {
      fail("{}: {}", path_, error.what());
    }
  }
  bool flag(const char* key, bool otherwise) const {
    if (!present(json_, key)) return otherwise;
    check(json_[key].is_boolean(), "{}: {}: expected true or false, got {}", path_, key, brief_value(json_[key]));
    return json_[key];
  }
  std::string text(const char* key, const std::string& otherwise) const {
    if (!present(json_, key)) return otherwise;
    check(json_[key].is_string(), "{}: {}: expected a string, got {}", path_, key, brief_value(json_[key]));
    return json_[key];
  }
  // A setting of the search: newer folders have it in generation_config.json.
  double search(const char* key, double low, double high, double otherwise) const {
    const Json& json = present(generation_, key) ? generation_ : json_;
    if (!present(json, key)) return otherwise;
    check(json[key].is_number() && json[key].get<double>() >= low && json[key].get<double>() <= high,
          "{}: {}: expected a number from {} to {}, got {}", path_, key, low, high, brief_value(json[key]));
    return json[key];
  }

 private:
  static bool present(const Json& json, const char* key) {
    return json.is_object() && json.contains(key) && !json[key].is_null();
  }

  std::string path_;
  Json json_, generation_;
};

// MarianMTModel has one size for both, ours has one for all layers.
int64_t same_for_both(const Settings& settings, const char* encoder, const char* decoder, int64_t low, int64_t high,
                      int64_t otherwise) {
  const int64_t size = settings.integer(encoder, low, high, otherwise);
  const int64_t other = settings.integer(decoder, low, high, otherwise);
  check(size == other, "{}: expected {} and {} to be the same, got {} and {}", settings.path(), encoder, decoder, size,
        other);
  return size;
}

std::string activation_of(const Settings& settings) {
  const std::string name = settings.text("activation_function", "gelu");
  if (name == "relu") return "relu";
  if (name == "swish" || name == "silu") return "swish";
  if (name == "gelu") return "gelu-erf";
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return "gelu";
  fail("{}: activation_function: expected relu, swish, silu, gelu or gelu_new, got {}", settings.path(), brief(name));
}

ModelConfig model_config(const Settings& settings) {
  ModelConfig model;
  model.architecture = "transformer";
  model.embedding = settings.integer("d_model", 1, kMostFeatures, 1024);
  model.encoder_layers = settings.integer("encoder_layers", 1, kMostLayers, 12);
  model.decoder_layers = settings.integer("decoder_layers", 1, kMostLayers, 12);
  model.feed_forward = same_for_both(settings, "encoder_ffn_dim", "decoder_ffn_dim", 1, kMostFeatures, 4096);
  model.activation = activation_of(settings);
  // transformers ignores this setting since version 4 and computes post-norm; the published models have false.
  model.norm = settings.flag("normalize_before", false) ? "pre" : "post";
  const bool final_norm = settings.flag("add_final_layer_norm", false);
  check(final_norm == (model.norm == "pre"), "{}: add_final_layer_norm: expected {} with normalize_before = {}, got {}",
        settings.path(), !final_norm, !final_norm, final_norm);
  check(!settings.flag("normalize_embedding", false), "{}: normalize_embedding: expected false, got true",
        settings.path());
  // Their embeddings that are not scaled become ours divided by the factor, so the output layer needs its own.
  model.tie_embeddings = settings.flag("tie_word_embeddings", true) && settings.flag("scale_embedding", false);
  const int64_t heads = same_for_both(settings, "encoder_attention_heads", "decoder_attention_heads", 1, 4096, 16);
  check(heads > 1 && model.embedding % heads == 0,
        "{}: encoder_attention_heads: expected a divisor of d_model = {} above 1, got {}", settings.path(),
        model.embedding, heads);
  for (AttentionConfig* attention : {&model.attention, &model.self_attention}) {
    attention->score = "scaled-dot";
    attention->heads = heads;
  }
  model.dropout = settings.search("dropout", 0, 0.999, 0.1);
  return model;
}

// The tokens of a vocabulary of `size`, by their ids. Ids without a token have names that no text contains.
std::vector<std::string> read_pieces(const std::string& path, int64_t size) {
  std::vector<std::string> pieces(static_cast<size_t>(size));
  std::vector<bool> given(pieces.size());
  for (auto& [piece, id] : read_token_ids(path)) {
    check(id >= 0 && id < size, "{}: expected ids from 0 to {}, got {} for \"{}\"", path, size - 1, id, brief(piece));
    const auto at = static_cast<size_t>(id);
    check(!given[at], "{}: expected one token for each id, got \"{}\" and \"{}\" for {}", path, brief(pieces[at]),
          brief(piece), id);
    given[at] = true;
    pieces[at] = piece;
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (!given[i]) pieces[i] = fmt::format("<no token {}>", i);
  }
  return pieces;
}

int64_t id_of(const std::vector<std::string>& pieces, std::string_view piece, const std::string& path) {
  const auto found = std::find(pieces.begin(), pieces.end(), piece);
  check(found != pieces.end(), "{}: expected the token {}", path, piece);
  return found - pieces.begin();
}

TokenOrder token_order(const std::string& path, int64_t size, int64_t begin, int64_t end) {
  std::vector<std::string> pieces = read_pieces(path, size);
  const SpecialTokens special{
      .pad = id_of(pieces, "<pad>", path), .unknown = id_of(pieces, "<unk>", path), .begin = begin, .end = end};
  return order_tokens(std::move(pieces), special);
}

std::unique_ptr<ForeignTensors> open_weights(const std::string& folder) {
  if (exists(folder + "/model.safetensors")) return open_safetensors(folder + "/model.safetensors");
  const std::string pickled = folder + "/pytorch_model.bin";
  check(exists(pickled), "{}: expected the weights in model.safetensors or pytorch_model.bin, found neither", folder);
  return open_pytorch(pickled);
}

const char* const kPositions[] = {"model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight"};

}  // namespace

bool is_marian(const std::string& folder) {
  const std::string path = folder + "/config.json";
  if (!exists(path)) return false;
  const Json json = parse_json(read_file(path), path);
  if (!json.is_object() || !json.contains("model_type")) return false;
  const Json& type = json["model_type"];
  check(type.is_string() && type == "marian", "{}: model_type: expected marian, got {}", path, brief_value(type));
  return true;
}

std::vector<WeightPlace> marian_places(const ModelConfig& config, const MarianEmbeddings& embeddings) {
  static const LayerNames kNames{
      .encoder = "model.encoder.layers.{}.",
      .decoder = "model.decoder.layers.{}.",
      .self = {{"self_attn.q_proj"}, {"self_attn.k_proj"}, {"self_attn.v_proj"}, {"self_attn.out_proj"}},
      .cross = {{"encoder_attn.q_proj"}, {"encoder_attn.k_proj"}, {"encoder_attn.v_proj"}, {"encoder_attn.out_proj"}},
      .self_norm = "self_attn_layer_norm",
      .cross_norm = "encoder_attn_layer_norm",
      .in = "fc1",
      .out = "fc2",
      .forward_norm = "final_layer_norm",
      .encoder_norm = "model.encoder.layer_norm",
      .decoder_norm = "model.decoder.layer_norm",
      .weight = ".weight",
      .bias = ".bias",
      .gamma = ".weight",
      .beta = ".bias"};
  std::vector<WeightPlace> places = layer_places(config, kNames);
  const std::string encoder = "model.encoder.embed_tokens.weight", decoder = "model.decoder.embed_tokens.weight",
                    head = "lm_head.weight", shared = "model.shared.weight";
  // Of tensors that are the same, a file has one, by any of their names.
  std::vector<std::string> also = {decoder};
  if (embeddings.shared) also.push_back(encoder);
  if (embeddings.tied) also.push_back(head);
  const float factor = embeddings.scaled ? 1.0f : 1.0f / std::sqrt(static_cast<float>(config.embedding));
  WeightPlace source{.ours = "encoder.words.table",
                     .theirs = encoder,
                     .rows = Axis::kSource,
                     .columns = Axis::kFeatures,
                     .factor = factor};
  WeightPlace target{.ours = "decoder.words.table",
                     .theirs = decoder,
                     .rows = Axis::kTarget,
                     .columns = Axis::kFeatures,
                     .factor = factor,
                     .also = also};
  if (embeddings.shared) {
    source.theirs = target.theirs = shared;
    source.also = also;
  }
  places.push_back(source);
  places.push_back(target);
  if (!config.tie_embeddings) {
    WeightPlace out = target;
    out.ours = "decoder.out.weight";
    out.factor = 1;
    if (!embeddings.tied) {
      out.theirs = head;
      out.also.clear();
    }
    places.push_back(out);
  }
  places.push_back(
      {.ours = "decoder.out.bias", .theirs = "final_logits_bias", .rows = Axis::kTarget, .optional = true});
  return places;
}

ForeignModel read_marian(const std::string& folder) {
  const Settings settings(folder);
  ForeignModel foreign;
  FolderConfig& config = foreign.config;
  config.model = model_config(settings);
  foreign.tensors = open_weights(folder);

  const MarianEmbeddings embeddings{.shared = settings.flag("share_encoder_decoder_embeddings", true),
                                    .tied = settings.flag("tie_word_embeddings", true),
                                    .scaled = settings.flag("scale_embedding", false)};
  const bool shared = embeddings.shared;
  const int64_t source_tokens = settings.integer("vocab_size", 1, kMostTokens, 50265);
  const int64_t target_tokens =
      shared ? source_tokens : settings.integer("decoder_vocab_size", 1, kMostTokens, source_tokens);
  foreign.places = marian_places(config.model, embeddings);
  for (const WeightPlace& place : foreign.places) {
    if (place.ours == "encoder.words.table") check_rows(*foreign.tensors, place, source_tokens);
    if (place.ours == "decoder.words.table") check_rows(*foreign.tensors, place, target_tokens);
  }
  const int64_t most = std::min(source_tokens, target_tokens) - 1;
  const int64_t end = settings.integer("eos_token_id", 0, most, 0);
  const int64_t begin = settings.integer("decoder_start_token_id", 0, target_tokens - 1,
                                         settings.integer("pad_token_id", 0, target_tokens - 1, target_tokens - 1));
  const std::string source_vocabulary = folder + "/vocab.json", target_vocabulary = folder + "/target_vocab.json";
  const bool separate = !shared && exists(target_vocabulary);
  foreign.source_order = token_order(source_vocabulary, source_tokens, begin, end);
  foreign.target_order = token_order(separate ? target_vocabulary : source_vocabulary, target_tokens, begin, end);
  foreign.source = load_foreign_side(folder + "/source.spm", foreign.source_order.pieces);
  foreign.target = load_foreign_side(folder + "/target.spm", foreign.target_order.pieces);
  config.source_words = foreign.source->size();
  config.target_words = foreign.target->size();

  read_positions(*foreign.tensors, {kPositions[0], kPositions[1]}, config.model, foreign.places);
  foreign.ignored = {kPositions[0], kPositions[1], "lm_head.weight"};

  // The positions of the longest source are for its end mark, too.
  config.max_source = settings.integer("max_position_embeddings", 2, kMostFeatures, 1024) - 1;
  config.decoding.beam = static_cast<int64_t>(settings.search("num_beams", 1, 1000, 1));
  config.decoding.length_penalty = std::max(0.0, settings.search("length_penalty", -100, 100, 1));
  config.decoding.split_above = 0;  // as transformers decodes
  return foreign;
}

}  // namespace fovea
