#include "fovea/serve/hosted.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "decode/options.h"
#include "recipe/recipe.h"
#include "store/caption_folder.h"
#include "store/classifier_folder.h"
#include "tasks/answer_model.h"
#include "text/generators.h"

namespace fovea::app {

namespace {

constexpr int64_t kExamples = 5;

template <class Class> Engine load_as(const std::string& folder, const TranslatorOptions& options) {
  return std::make_unique<Class>(folder, PredictorOptions{.device = options.device, .precision = options.precision});
}
Engine load_translator(const std::string& folder, const TranslatorOptions& options) {
  return std::make_unique<Translator>(std::vector{folder}, options);
}

constexpr std::string_view kTranslatePath = "/v1/translate";
constexpr std::array kTasks = {
    ServedTask{"sequence", kTranslatePath, true, load_translator},
    ServedTask{"summarise", kTranslatePath, false, load_translator},
    ServedTask{"dialogue", "/v1/chat", false, load_translator},
    ServedTask{"classify", "/v1/classify", false, load_as<Classifier>},
    ServedTask{"answer", "/v1/answer", false, load_as<Reader>},
    ServedTask{"caption", "/v1/caption", false, load_as<Captioner>},
};
// Paths that take what /v1/translate takes, and say more of it.
constexpr std::array<std::string_view, 2> kOfText = {"/v1/attention", "/v1/score"};

const ServedTask& task_of(const std::string& folder) {
  const std::string name = task_of_model(folder);
  const auto found = std::find_if(kTasks.begin(), kTasks.end(), [&](const ServedTask& t) { return t.task == name; });
  check(found != kTasks.end(), "{}: models of the task {} cannot be served", folder, brief(name));
  return *found;
}

// For a model that was trained on generated text, some of that text.
Json made_examples(const std::string& folder) {
  const std::string path = folder + "/recipe.toml";
  if (!std::filesystem::exists(path)) return Json::array();
  try {
    const Recipe recipe = read_recipe(path);
    if (recipe.data.generator.empty()) return Json::array();
    return generate(recipe.data.generator, kExamples, 7).source;
  } catch (const Error&) {
    return Json::array();  // a recipe of another version; the model is what matters
  }
}

bool is_text(const Json& json) { return json.is_string(); }
bool are_texts(const Json& json) { return json.is_array() && std::all_of(json.begin(), json.end(), is_text); }

// A text, the turns of a conversation, or a passage and a question: what a form of the page can be filled with.
bool is_example(const Json& json) {
  const bool question = json.is_object() && json.contains("passage") && json.contains("question") &&
                        is_text(json["passage"]) && is_text(json["question"]);
  return is_text(json) || are_texts(json) || question;
}

About read_about(const std::string& folder) {
  About about;
  const std::string path = folder + "/about.json";
  if (std::filesystem::exists(path)) {
    try {
      const Json json = parse_json(read_file(path), path);
      about.source_language = json.value("source_language", "");
      about.target_language = json.value("target_language", "");
      about.examples = json.value("examples", Json::array());
    } catch (const Json::exception& error) {
      fail("{}: expected an object with source_language, target_language and examples: {}", path, error.what());
    }
    check(about.examples.is_array() && std::all_of(about.examples.begin(), about.examples.end(), is_example),
          "{}: expected examples that are texts, lists of turns, or objects with passage and question", path);
  }
  if (about.examples.empty()) about.examples = made_examples(folder);
  return about;
}

Json language(const std::string& code) { return code.empty() ? Json() : Json(code); }

Json attention_json(AttentionKind kind, int64_t layers, int64_t heads, const std::string& mechanism) {
  return {{"kind", name_of(kind)}, {"layers", layers}, {"heads", heads}, {"mechanism", mechanism}};
}

Json attentions_json(const std::vector<AttentionInfo>& attentions) {
  // Self-attention comes after the attention that leads to the output.
  const auto order = [](AttentionKind kind) {
    return kind == AttentionKind::kEncoderSelf ? 1 : kind == AttentionKind::kDecoderSelf ? 2 : 0;
  };
  std::vector<AttentionInfo> sorted = attentions;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const AttentionInfo& a, const AttentionInfo& b) { return order(a.kind) < order(b.kind); });
  Json list = Json::array();
  for (const AttentionInfo& a : sorted) {
    list.push_back(attention_json(a.kind, a.layers, a.config.heads, a.config.mechanism()));
  }
  return list;
}

int64_t self_maps_of(const std::vector<AttentionInfo>& attentions) {
  int64_t maps = 0;
  for (const AttentionInfo& a : attentions) {
    if (a.kind == AttentionKind::kEncoderSelf) maps += a.layers * a.config.heads;
  }
  return maps;
}

ModelFacts facts_of(const Translator& translator) {
  const LoadedModel& model = translator.model();
  const std::vector<AttentionInfo> attentions = model.model->attentions();
  ModelFacts facts;
  facts.architecture = model.config.model.architecture;
  facts.parameters = model.parameters->count();
  facts.layers = model.config.model.decoder_layers;
  facts.max_source = translator.max_source();
  facts.self_maps = self_maps_of(attentions);
  facts.attentions = attentions_json(attentions);
  return facts;
}

ModelFacts facts_of(const Classifier& classifier) {
  const LoadedClassifier& model = classifier.model();
  const ClassifierConfig& config = model.config.classifier;
  const std::vector<AttentionInfo> attentions = model.model->attentions();
  ModelFacts facts;
  facts.architecture = fmt::format("{} encoder", model.config.model.encoder);
  facts.parameters = model.parameters->count();
  facts.layers = model.config.model.encoder_layers;
  facts.max_source = classifier.max_source();
  facts.self_maps = self_maps_of(attentions);
  if (!config.attention().empty()) {
    facts.attentions.push_back(attention_json(AttentionKind::kPooling, 1, 1, config.attention()));
  }
  for (Json& attention : attentions_json(attentions)) facts.attentions.push_back(std::move(attention));
  return facts;
}

ModelFacts facts_of(const Reader& reader) {
  const LoadedReader& model = reader.loaded();
  const AnswerConfig& config = model.config.answer;
  ModelFacts facts;
  facts.architecture = config.interaction;
  facts.parameters = model.parameters->count();
  facts.layers = model.config.model.encoder_layers;
  facts.max_source = config.window;
  facts.max_target = config.max_question;
  const auto add = [&](AttentionKind kind, int64_t layers, int64_t heads) {
    facts.attentions.push_back(attention_json(kind, layers, heads, config.interaction));
    facts.pair_maps += layers * heads;
  };
  if (!config.joint()) {
    add(AttentionKind::kQuestionToPassage, 1, 1);
    add(AttentionKind::kPassageToQuestion, 1, 1);
    return facts;
  }
  for (const AttentionInfo& a : model.model->attentions())
    add(AttentionKind::kQuestionToPassage, a.layers, a.config.heads);
  return facts;
}

ModelFacts facts_of(const Captioner& captioner) {
  const LoadedCaptioner& model = captioner.model();
  const std::vector<AttentionInfo> attentions = model.loaded.model->attentions();
  ModelFacts facts;
  facts.architecture = model.loaded.config.model.architecture;
  facts.parameters = model.loaded.parameters->count();
  facts.layers = model.loaded.config.model.decoder_layers;
  facts.max_source = model.map_shape()[0] * model.map_shape()[1];
  facts.self_maps = self_maps_of(attentions);
  facts.attentions = attentions_json(attentions);
  return facts;
}

}  // namespace

Hosted::Hosted(std::string name, const std::string& folder, const TranslatorOptions& options)
    : name_(std::move(name)),
      task_(task_of(folder)),
      engine_(task_.load(folder, options)),
      facts_(std::visit([](const auto& engine) { return facts_of(*engine); }, engine_)),
      about_(read_about(folder)) {
  const auto* captions = std::get_if<std::unique_ptr<Captioner>>(&engine_);
  if (captions == nullptr && !serves(kTranslatePath)) return;
  const Vocabulary& target = *(captions != nullptr ? (*captions)->model().loaded : translator().model()).target;
  for (int32_t id = kEnd; id < target.size(); ++id) {
    const std::string text = token_text(id, target), piece = target.piece(id);
    ids_by_text_[text].push_back(id);
    if (piece != text) ids_by_text_[piece].push_back(id);
  }
}

const FolderConfig* Hosted::config() const {
  if (const auto* translator = std::get_if<std::unique_ptr<Translator>>(&engine_))
    return &(*translator)->model().config;
  if (const auto* captioner = std::get_if<std::unique_ptr<Captioner>>(&engine_))
    return &(*captioner)->model().loaded.config;
  return nullptr;
}

bool Hosted::serves(std::string_view path) const {
  if (path == task_.path) return true;
  const bool writes = std::holds_alternative<std::unique_ptr<Translator>>(engine_);
  return writes && (path == kTranslatePath || std::find(kOfText.begin(), kOfText.end(), path) != kOfText.end());
}

int64_t Hosted::weights_read(int64_t source_tokens, int64_t target_tokens) const {
  const int64_t source = std::min(source_tokens, facts_.max_source + 1);
  const int64_t target = std::min(target_tokens, facts_.max_target + 1);
  return facts_.self_maps * source * source + facts_.pair_maps * source * target;
}

Json Hosted::json() const {
  Json json{{"name", name_},
            {"task", task_.task},
            {"path", task_.path},
            {"architecture", facts_.architecture},
            {"parameters", facts_.parameters},
            {"source_language", language(about_.source_language)},
            {"target_language", language(about_.target_language)},
            {"layers", facts_.layers},
            {"attentions", facts_.attentions},
            {"examples", about_.examples}};
  if (const FolderConfig* written = config()) json["beam"] = default_search(*written).beam;
  if (const auto* classifier = std::get_if<std::unique_ptr<Classifier>>(&engine_)) {
    json["labels"] = (*classifier)->labels();
  }
  if (const auto* captioner = std::get_if<std::unique_ptr<Captioner>>(&engine_)) {
    const Shape map = (*captioner)->model().map_shape();
    json["grid"] = {{"rows", map[0]}, {"columns", map[1]}};
  }
  return json;
}

const std::vector<int32_t>& Hosted::token_ids(const std::string& text) const {
  static const std::vector<int32_t> none;
  const auto found = ids_by_text_.find(text);
  return found == ids_by_text_.end() ? none : found->second;
}

std::vector<std::string> names_of(const std::vector<std::string>& folders) {
  std::vector<std::string> names;
  for (const std::string& folder : folders) {
    const std::filesystem::path path = std::filesystem::absolute(folder).lexically_normal();
    const std::string base = (path.has_filename() ? path : path.parent_path()).filename().string();
    std::string name = base;
    for (int i = 2; std::find(names.begin(), names.end(), name) != names.end(); ++i) {
      name = base + "-" + std::to_string(i);
    }
    names.push_back(name);
  }
  return names;
}

}  // namespace fovea::app
