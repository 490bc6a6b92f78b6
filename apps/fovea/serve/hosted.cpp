#include "fovea/serve/hosted.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "recipe/recipe.h"
#include "text/generators.h"

namespace fovea::app {

namespace {

constexpr int64_t kExamples = 5;

// For a model that was trained on generated text, some of that text.
std::vector<std::string> made_examples(const std::string& folder) {
  const std::string path = folder + "/recipe.toml";
  if (!std::filesystem::exists(path)) return {};
  try {
    const Recipe recipe = read_recipe(path);
    if (recipe.data.generator.empty()) return {};
    return generate(recipe.data.generator, kExamples, 7).source;
  } catch (const Error&) {
    return {};  // a recipe of another version; the model is what matters
  }
}

About read_about(const std::string& folder) {
  About about;
  const std::string path = folder + "/about.json";
  if (std::filesystem::exists(path)) {
    try {
      const Json json = parse_json(read_file(path), path);
      about.source_language = json.value("source_language", "");
      about.target_language = json.value("target_language", "");
      about.examples = json.value("examples", std::vector<std::string>());
    } catch (const Json::exception& error) {
      fail("{}: expected an object with source_language, target_language and examples: {}", path, error.what());
    }
  }
  if (about.examples.empty()) about.examples = made_examples(folder);
  return about;
}

Json language(const std::string& code) { return code.empty() ? Json() : Json(code); }

Json attentions(const Model& model) {
  Json list = Json::array();
  for (const AttentionKind kind :
       {AttentionKind::kCross, AttentionKind::kCopy, AttentionKind::kEncoderSelf, AttentionKind::kDecoderSelf}) {
    for (const AttentionInfo& a : model.attentions()) {
      if (a.kind != kind) continue;
      list.push_back({{"kind", name_of(kind)},
                      {"layers", a.layers},
                      {"heads", a.config.heads},
                      {"mechanism", a.config.mechanism()}});
    }
  }
  return list;
}

}  // namespace

Hosted::Hosted(std::string name, const std::string& folder, const TranslatorOptions& options)
    : name_(std::move(name)), translator_({folder}, options), about_(read_about(folder)) {
  const Vocabulary& target = *translator_.model().target;
  for (int32_t id = kEnd; id < target.size(); ++id) {
    const std::string text = token_text(id, target), piece = target.piece(id);
    ids_by_text_[text].push_back(id);
    if (piece != text) ids_by_text_[piece].push_back(id);
  }
}

Json Hosted::json() const {
  const LoadedModel& model = translator_.model();
  const ModelConfig& c = model.config.model;
  return {{"name", name_},
          {"architecture", c.architecture},
          {"parameters", model.parameters->count()},
          {"source_language", language(about_.source_language)},
          {"target_language", language(about_.target_language)},
          {"layers", c.decoder_layers},
          {"attentions", attentions(*model.model)},
          {"examples", about_.examples}};
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
