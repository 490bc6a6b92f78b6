// CTranslate2's model folders: model.bin of binary version 2 or later with a Transformer of an encoder and a decoder,
// vocabularies as JSON or text, and config.json since version 6. The folder holds no tokeniser: texts are tokens with
// spaces between them, unless source.spm and target.spm are there, too.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "store/elements.h"
#include "store/foreign_folder.h"
#include "store/foreign_vocabulary.h"
#include "text/lines.h"
#include "text/list_vocabulary.h"

namespace fovea {

namespace {

constexpr int64_t kMostLayers = 1000, kMostRank = 8, kMostTokens = 1 << 24;
constexpr uint32_t kOldestVersion = 2, kNewestVersion = 6, kNewestRevision = 7;

bool exists(const std::string& path) { return std::filesystem::exists(path); }

// model.bin: a header, the variables, and other names of them.
class ModelBin final : public ForeignTensors {
 public:
  explicit ModelBin(const std::string& path) : path_(path), bytes_(read_file(path)) {
    version_ = integer<uint32_t>();
    check(version_ >= kOldestVersion && version_ <= kNewestVersion,
          "{}: expected a CTranslate2 model of binary version {} to {}, got {}", path, kOldestVersion, kNewestVersion,
          version_);
    kind_ = text();
    revision_ = integer<uint32_t>();
    check(revision_ <= kNewestRevision, "{}: expected revision {} or below, got {}", path, kNewestRevision, revision_);
    const auto count = integer<uint32_t>();
    for (uint32_t i = 0; i < count; ++i) read_variable();
    if (version_ >= 3 && at_ < bytes_.size()) {
      const auto aliases = integer<uint32_t>();
      for (uint32_t i = 0; i < aliases; ++i) {
        const std::string alias = text(), name = text();
        const auto found = variables_.find(name);
        check(found != variables_.end(), "{}: {}: expected a variable {}", path, brief(alias), brief(name));
        const Variable variable = found->second;
        variables_.emplace(alias, variable);
      }
    }
    check(at_ == bytes_.size(), "{}: expected {} bytes, got {}", path, at_, bytes_.size());
  }

  uint32_t version() const { return version_; }
  uint32_t revision() const { return revision_; }
  const std::string& kind() const { return kind_; }
  const std::string& path() const override { return path_; }

  // The weights only: settings are scalars, and factors belong to the matrices that they scale.
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, variable] : variables_) {
      if (!variable.shape.empty() && !name.ends_with(kScale)) names.push_back(name);
    }
    return names;
  }
  const std::vector<int64_t>* shape(std::string_view name) const override {
    const auto found = variables_.find(name);
    return found == variables_.end() ? nullptr : &found->second.shape;
  }
  std::vector<float> read(std::string_view name) const override {
    const auto found = variables_.find(name);
    check(found != variables_.end(), "{}: there is no variable {}", path_, name);
    const Variable& variable = found->second;
    std::vector<float> values(static_cast<size_t>(variable.count));
    widen_elements(variable.type, reinterpret_cast<const std::byte*>(bytes_.data()) + variable.at, values);
    if (variable.type != ElementType::kI8 && variable.type != ElementType::kI16) return values;
    divide_by_scales(std::string(name) + std::string(kScale), variable, values);
    return values;
  }
  // The value of a scalar, which names may be of several revisions.
  std::optional<float> scalar(std::initializer_list<std::string> names) const {
    for (const std::string& name : names) {
      const auto found = variables_.find(name);
      if (found == variables_.end()) continue;
      check(found->second.count == 1, "{}: {}: expected one number", path_, name);
      float value = 0;
      widen_elements(found->second.type, reinterpret_cast<const std::byte*>(bytes_.data()) + found->second.at,
                     {&value, 1});
      return value;
    }
    return {};
  }
  ElementType type(const std::string& name) const { return variables_.find(name)->second.type; }
  // A setting of an older revision, which was stored as a text.
  std::optional<std::string> setting(const std::string& name) const {
    const auto found = variables_.find(name);
    if (found == variables_.end() || found->second.type != ElementType::kI8) return {};
    return bytes_.substr(found->second.at, static_cast<size_t>(found->second.count));
  }

 private:
  static constexpr std::string_view kScale = "_scale";
  struct Variable {
    std::vector<int64_t> shape;
    int64_t count = 1;
    ElementType type = ElementType::kF32;
    size_t at = 0;
  };

  std::string_view take(uint64_t count) {
    check(count <= bytes_.size() - at_, "{}: the file is truncated: expected {} bytes at {}, got {}", path_, count, at_,
          bytes_.size() - at_);
    const std::string_view taken = std::string_view(bytes_).substr(at_, count);
    at_ += count;
    return taken;
  }
  template <class T> T integer() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() {
    std::string text(take(integer<uint16_t>()));
    check(!text.empty() && text.back() == '\0', "{}: expected a name at byte {}", path_, at_);
    text.pop_back();
    return text;
  }

  void read_variable() {
    const std::string name = text();
    Variable variable;
    const auto rank = integer<uint8_t>();
    check(rank <= kMostRank, "{}: {}: expected at most {} axes, got {}", path_, brief(name), kMostRank, rank);
    for (int i = 0; i < rank; ++i) {
      const auto size = static_cast<int64_t>(integer<uint32_t>());
      check(size == 0 || variable.count <= std::ssize(bytes_) / size, "{}: {}: the file is too short for its shape",
            path_, brief(name));
      variable.shape.push_back(size);
      variable.count *= size;
    }
    const auto code = integer<uint8_t>();
    uint64_t bytes = integer<uint32_t>();
    if (version_ >= 4) {
      constexpr ElementType kCodes[] = {ElementType::kF32, ElementType::kI8,  ElementType::kI16,
                                        ElementType::kI32, ElementType::kF16, ElementType::kBF16};
      check(code < std::size(kCodes), "{}: {}: expected an element type below {}, got {}", path_, brief(name),
            std::size(kCodes), code);
      variable.type = kCodes[code];
    } else {
      check(code == 1 || code == 2 || code == 4, "{}: {}: expected elements of 1, 2 or 4 bytes, got {}", path_,
            brief(name), code);
      variable.type = code == 4 ? ElementType::kF32 : code == 2 ? ElementType::kI16 : ElementType::kI8;
      bytes *= code;
    }
    variable.at = at_;
    const uint64_t expected = static_cast<uint64_t>(variable.count) * bytes_of(variable.type);
    check(bytes == expected, "{}: {}: expected {} bytes, as its shape says, got {}", path_, brief(name), expected,
          bytes);
    take(bytes);
    check(variables_.emplace(name, variable).second, "{}: {}: expected each variable once", path_, brief(name));
  }

  // Quantised weights are the weights times a factor: one for each row, or one for all.
  void divide_by_scales(const std::string& name, const Variable& variable, std::vector<float>& values) const {
    const auto found = variables_.find(name);
    constexpr float kOldFactor = 1000;  // of 16 bits without a stored factor
    std::vector<float> scales = {kOldFactor};
    check(found != variables_.end() || variable.type == ElementType::kI16, "{}: expected a variable {}", path_, name);
    if (found != variables_.end()) {
      scales.resize(static_cast<size_t>(found->second.count));
      widen_elements(found->second.type, reinterpret_cast<const std::byte*>(bytes_.data()) + found->second.at, scales);
    }
    const size_t rows = variable.shape.empty() ? 1 : static_cast<size_t>(variable.shape[0]);
    check(scales.size() == 1 || scales.size() == rows, "{}: {}: expected one factor or {}, got {}", path_, name, rows,
          scales.size());
    const size_t columns = rows == 0 ? 0 : values.size() / rows;
    for (size_t i = 0; i < values.size(); ++i) values[i] /= scales[scales.size() == 1 ? 0 : i / columns];
  }

  std::string path_, bytes_, kind_;
  size_t at_ = 0;
  uint32_t version_ = 0, revision_ = 0;
  std::map<std::string, Variable, std::less<>> variables_;
};

// What the reader of a text should know about a model: config.json, or variables of the same names before version 6.
class Settings {
 public:
  Settings(const std::string& folder, const ModelBin& file) : path_(folder + "/config.json"), file_(file) {
    if (exists(path_)) json_ = parse_json(read_file(path_), path_);
    if (!json_.is_object()) json_ = Json::object();
  }
  // Null in the file is an empty text.
  std::string text(const std::string& key, const std::string& otherwise) const {
    if (!json_.contains(key)) return file_.setting(key).value_or(otherwise);
    const Json& value = json_[key];
    check(value.is_string() || value.is_null(), "{}: {}: expected a string, got {}", path_, key, brief_value(value));
    return value.is_null() ? "" : value.get<std::string>();
  }
  bool flag(const std::string& key, const std::string& old_key, bool otherwise) const {
    if (!json_.contains(key)) return file_.scalar({old_key}).value_or(otherwise ? 1.0f : 0.0f) != 0;
    check(json_[key].is_boolean(), "{}: {}: expected true or false, got {}", path_, key, brief_value(json_[key]));
    return json_[key];
  }
  std::string decoder_start(const std::string& begin, const std::string& end) const {
    if (json_.contains("decoder_start_token")) {
      const std::string start = text("decoder_start_token", "");
      check(!start.empty(),
            "{}: decoder_start_token: expected a token, got none: every translation would need a prefix", path_);
      return start;
    }
    return flag("", "with_target_bos", true) ? begin : end;
  }
  // Layer norms: ours add 1e-5 to the variance.
  void check_epsilon() const {
    if (!json_.contains("layer_norm_epsilon") || json_["layer_norm_epsilon"].is_null()) return;
    const Json& value = json_["layer_norm_epsilon"];
    check(value.is_number() && std::abs(value.get<double>() - 1e-5) < 1e-9,
          "{}: layer_norm_epsilon: expected 1e-5, got {}", path_, brief_value(value));
  }

 private:
  std::string path_;
  const ModelBin& file_;
  Json json_;
};

int64_t count_layers(const ModelBin& file, const std::string& side) {
  int64_t layers = 0;
  while (layers < kMostLayers && file.shape(fmt::format("{}/layer_{}/ffn/linear_0/weight", side, layers)) != nullptr)
    ++layers;
  check(layers > 0, "{}: expected a variable {}/layer_0/ffn/linear_0/weight", file.path(), side);
  return layers;
}

// A setting of encoder and decoder, which ours has once. Older revisions store it once, too.
float same_for_both(const ModelBin& file, const std::string& key, float otherwise) {
  const float encoder = file.scalar({"encoder/" + key, key}).value_or(otherwise);
  const float decoder = file.scalar({"decoder/" + key, key}).value_or(otherwise);
  check(encoder == decoder, "{}: expected {} of encoder and decoder to be the same, got {} and {}", file.path(), key,
        encoder, decoder);
  return encoder;
}

std::string activation_of(const ModelBin& file) {
  const float code = same_for_both(file, "activation", 0);
  if (code == 0) return "relu";
  if (code == 1) return "gelu";
  if (code == 2) return "swish";
  if (code == 3) return "gelu-erf";
  fail("{}: activation: expected 0 (relu), 1 (gelu, tanh), 2 (swish) or 3 (gelu), got {}", file.path(), code);
}

std::string embeddings_name(const ModelBin& file, const std::string& side) {
  for (const char* name : {"/embeddings_0/weight", "/embeddings/weight"}) {
    if (file.shape(side + name) != nullptr) return side + name;
  }
  fail("{}: expected a variable {}/embeddings/weight", file.path(), side);
}

// What the embeddings are multiplied by, over what ours multiplies them by. The setting is a flag or the factor.
float embedding_factor(const ModelBin& file, const std::string& side, int64_t features) {
  const std::string name = side + "/scale_embeddings", old_name = side + "/embeddings/multiply_by_sqrt_depth";
  const std::string& key = file.shape(name) != nullptr ? name : old_name;
  const float root = std::sqrt(static_cast<float>(features));
  const std::optional<float> value = file.scalar({key});
  if (!value) return 1;
  if (file.type(key) == ElementType::kI8) return *value != 0 ? 1 : 1 / root;
  return *value / root;
}

ModelConfig model_config(const ModelBin& file) {
  ModelConfig model;
  model.architecture = "transformer";
  const std::vector<int64_t>& table = *file.shape(embeddings_name(file, "decoder"));
  check(table.size() == 2 && table[1] > 0, "{}: expected embeddings with two axes", file.path());
  model.embedding = table[1];
  model.encoder_layers = count_layers(file, "encoder");
  model.decoder_layers = count_layers(file, "decoder");
  const std::vector<int64_t>& inner = *file.shape("encoder/layer_0/ffn/linear_0/weight");
  check(inner.size() == 2 && inner[0] > 0, "{}: expected a matrix encoder/layer_0/ffn/linear_0/weight", file.path());
  model.feed_forward = inner[0];
  model.activation = activation_of(file);
  model.norm = same_for_both(file, "pre_norm", 1) != 0 ? "pre" : "post";
  // The first revisions name the number of heads by the name of the model.
  const auto heads = static_cast<int64_t>(same_for_both(file, "num_heads", file.kind() == "TransformerBig" ? 16 : 8));
  check(heads > 1 && heads <= model.embedding && model.embedding % heads == 0,
        "{}: num_heads: expected a divisor of the embedding size {} above 1, got {}", file.path(), model.embedding,
        heads);
  for (AttentionConfig* attention : {&model.attention, &model.self_attention}) {
    attention->score = "scaled-dot";
    attention->heads = heads;
  }
  return model;
}

std::vector<WeightPlace> places_of(const ModelBin& file, ModelConfig& config) {
  const LayerNames names{.encoder = "encoder/layer_{}/",
                         .decoder = "decoder/layer_{}/",
                         .self = {{"self_attention/linear_0", 0, 3},
                                  {"self_attention/linear_0", 1, 3},
                                  {"self_attention/linear_0", 2, 3},
                                  {"self_attention/linear_1"}},
                         .cross = {{"attention/linear_0"},
                                   {"attention/linear_1", 0, 2},
                                   {"attention/linear_1", 1, 2},
                                   {"attention/linear_2"}},
                         .self_norm = "self_attention/layer_norm",
                         .cross_norm = "attention/layer_norm",
                         .in = "ffn/linear_0",
                         .out = "ffn/linear_1",
                         .forward_norm = "ffn/layer_norm",
                         .encoder_norm = "encoder/layer_norm",
                         .decoder_norm = "decoder/layer_norm",
                         .weight = "/weight",
                         .bias = "/bias",
                         .gamma = "/gamma",
                         .beta = "/beta"};
  config.tie_embeddings = false;  // the file says so by another name of the same variable, and ours may scale one
  std::vector<WeightPlace> places = layer_places(config, names);
  const auto add_table = [&](const std::string& ours, const std::string& side, Axis rows) {
    places.push_back({.ours = ours,
                      .theirs = embeddings_name(file, side),
                      .rows = rows,
                      .columns = Axis::kFeatures,
                      .factor = embedding_factor(file, side, config.embedding)});
  };
  add_table("encoder.words.table", "encoder", Axis::kSource);
  add_table("decoder.words.table", "decoder", Axis::kTarget);
  places.push_back({.ours = "decoder.out.weight",
                    .theirs = "decoder/projection/weight",
                    .rows = Axis::kTarget,
                    .columns = Axis::kFeatures,
                    .factor = file.scalar({"decoder/scale_outputs"}).value_or(1)});
  places.push_back(
      {.ours = "decoder.out.bias", .theirs = "decoder/projection/bias", .rows = Axis::kTarget, .optional = true});
  return places;
}

// The tokens in the order of the file NAME_vocabulary.json or .txt.
std::optional<std::vector<std::string>> read_tokens(const std::string& folder, const std::string& name) {
  const std::string stem = folder + "/" + name + "_vocabulary";
  std::vector<std::string> tokens;
  if (const std::string path = stem + ".json"; exists(path)) {
    const Json json = parse_json(read_file(path), path);
    check(json.is_array(), "{}: expected a list of tokens, got {}", path, brief_value(json));
    for (const Json& token : json) {
      check(token.is_string(), "{}: expected strings, got {}", path, brief_value(token));
      tokens.push_back(token);
    }
  } else if (exists(stem + ".txt")) {
    LineReader lines(stem + ".txt");
    for (std::string line; lines.next(line);) tokens.push_back(line);
  } else {
    return {};
  }
  return tokens;
}

struct SpecialNames {
  std::string unknown, begin, end, start;
};

TokenOrder token_order(std::vector<std::string> tokens, const SpecialNames& names, const std::string& folder) {
  check(std::ssize(tokens) <= kMostTokens, "{}: expected vocabularies of at most {} tokens", folder, kMostTokens);
  const auto find = [&](const std::string& name) {
    const auto found = std::find(tokens.begin(), tokens.end(), name);
    return found == tokens.end() ? -1 : found - tokens.begin();
  };
  if (find(names.unknown) < 0) tokens.push_back(names.unknown);
  SpecialTokens special{.unknown = find(names.unknown), .begin = find(names.start), .end = find(names.end)};
  if (special.begin < 0) special.begin = special.unknown;
  check(special.end >= 0, "{}: expected the token {} in the vocabularies", folder, names.end);
  for (const char* pad : {"<blank>", "<pad>"}) {
    if (special.pad < 0) special.pad = find(pad);
  }
  return order_tokens(std::move(tokens), special);
}

std::shared_ptr<const Vocabulary> load_tokens(const std::string& folder, const std::string& side,
                                              const TokenOrder& order) {
  if (const std::string model = folder + "/" + side + ".spm"; exists(model)) {
    return load_foreign_side(model, order.pieces);
  }
  return list_of_words({order.pieces.begin() + kEnd + 1, order.pieces.end()});
}

constexpr int64_t kComputedPositions = 2048;

// Without a stored table, CTranslate2 computes sinusoids as OpenNMT-tf does: from position 1, and with other
// wavelengths than the paper's.
std::vector<float> opennmt_sinusoids(int64_t count, int64_t features) {
  std::vector<float> table(static_cast<size_t>(count * features));
  const int64_t half = features / 2;
  const float step = std::log(10000.0f) / static_cast<float>(half - 1);
  for (int64_t t = 0; t < count; ++t) {
    for (int64_t i = 0; i < half; ++i) {
      const float angle = static_cast<float>(t + 1) * std::exp(-step * static_cast<float>(i));
      table[static_cast<size_t>(t * features + i)] = std::sin(angle);
      table[static_cast<size_t>(t * features + half + i)] = std::cos(angle);
    }
  }
  return table;
}

// The file with the tables of positions that CTranslate2 computes.
class WithPositions final : public ForeignTensors {
 public:
  WithPositions(std::unique_ptr<ModelBin> file, int64_t features)
      : file_(std::move(file)), shape_{kComputedPositions, features} {}
  const std::string& path() const override { return file_->path(); }
  std::vector<std::string> names() const override { return file_->names(); }
  const std::vector<int64_t>* shape(std::string_view name) const override {
    const std::vector<int64_t>* stored = file_->shape(name);
    return stored == nullptr && name.ends_with("/position_encodings/encodings") ? &shape_ : stored;
  }
  std::vector<float> read(std::string_view name) const override {
    return file_->shape(name) != nullptr ? file_->read(name) : opennmt_sinusoids(shape_[0], shape_[1]);
  }

 private:
  std::unique_ptr<ModelBin> file_;
  std::vector<int64_t> shape_;
};

}  // namespace

bool is_ctranslate2(const std::string& folder) {
  return exists(folder + "/model.bin") && !exists(folder + "/model.safetensors");
}

ForeignModel read_ctranslate2(const std::string& folder) {
  auto file = std::make_unique<ModelBin>(folder + "/model.bin");
  check(file->kind() == "TransformerSpec" || file->kind() == "TransformerBase" || file->kind() == "TransformerBig",
        "{}: expected a Transformer with an encoder and a decoder (TransformerSpec), got {}", file->path(),
        brief(file->kind()));
  check(file->revision() >= 2, "{}: expected revision 2 or later, got {}", file->path(), file->revision());
  const Settings settings(folder, *file);
  settings.check_epsilon();
  check(!settings.flag("add_source_bos", "with_source_bos", false), "{}: add_source_bos: expected false, got true",
        folder);

  ForeignModel foreign;
  FolderConfig& config = foreign.config;
  config.model = model_config(*file);
  config.end_source = settings.flag("add_source_eos", "with_source_eos", false);
  SpecialNames names{.unknown = settings.text("unk_token", "<unk>"),
                     .begin = settings.text("bos_token", "<s>"),
                     .end = settings.text("eos_token", "</s>"),
                     .start = ""};
  names.start = settings.decoder_start(names.begin, names.end);

  const auto shared = read_tokens(folder, "shared"), source = read_tokens(folder, "source"),
             target = read_tokens(folder, "target");
  check(shared || (source && target),
        "{}: expected shared_vocabulary.json or .txt, or source_vocabulary and target_vocabulary", folder);
  foreign.source_order = token_order(shared ? *shared : *source, names, folder);
  foreign.target_order = token_order(shared ? *shared : *target, names, folder);
  foreign.source = load_tokens(folder, "source", foreign.source_order);
  foreign.target = load_tokens(folder, "target", foreign.target_order);
  config.source_words = foreign.source->size();
  config.target_words = foreign.target->size();
  config.decoding.split_above = 0;

  foreign.places = places_of(*file, config.model);
  foreign.target_order.zero_begin = file->scalar({"decoder/start_from_zero_embedding"}).value_or(0) != 0;
  const int64_t features = config.model.embedding;
  foreign.tensors = std::make_unique<WithPositions>(std::move(file), features);
  const std::vector<std::string> positions = {"encoder/position_encodings/encodings",
                                              "decoder/position_encodings/encodings"};
  read_positions(*foreign.tensors, positions, config.model, foreign.places);
  foreign.ignored = {positions[0], positions[1], "unk_token", "bos_token", "eos_token"};
  return foreign;
}

}  // namespace fovea
