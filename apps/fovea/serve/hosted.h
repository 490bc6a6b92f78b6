// A model that is served: what runs it, its description, and its token ids by their text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "decode/translator.h"
#include "fovea/serve/json.h"
#include "tasks/captioner.h"
#include "tasks/classifier.h"
#include "tasks/reader.h"

namespace fovea::app {

// The contents of about.json in the model's folder; all members are optional.
struct About {
  std::string source_language, target_language;  // codes as "en"; empty when not known
  Json examples = Json::array();                 // inputs worth trying, in the form that the model's task has
};

// What runs a model.
using Engine = std::variant<std::unique_ptr<Translator>, std::unique_ptr<Classifier>, std::unique_ptr<Reader>,
                            std::unique_ptr<Captioner>>;

// A task and the path that requests to its models go to.
struct ServedTask {
  std::string_view task, path;
  bool between_languages;  // LibreTranslate's clients may ask for it
  Engine (*load)(const std::string& folder, const TranslatorOptions& options);
};

// What is known of a model of any task.
struct ModelFacts {
  std::string architecture;
  int64_t parameters = 0, layers = 1;
  int64_t max_source = 0, max_target = 0;
  int64_t self_maps = 0;  // maps between the tokens of a source; a map is one head of one layer
  int64_t pair_maps = 0;  // between those of a source and of a target that is read
  Json attentions = Json::array();
};

class Hosted {
 public:
  Hosted(std::string name, const std::string& folder, const TranslatorOptions& options);

  const std::string& name() const { return name_; }
  const ServedTask& task() const { return task_; }
  // Whether requests to that path may be for this model: every model that writes text takes those for translations,
  // too.
  bool serves(std::string_view path) const;

  // One of these is there, by the model's task.
  const Translator& translator() const { return *std::get<std::unique_ptr<Translator>>(engine_); }
  const Classifier& classifier() const { return *std::get<std::unique_ptr<Classifier>>(engine_); }
  const Reader& reader() const { return *std::get<std::unique_ptr<Reader>>(engine_); }
  const Captioner& captioner() const { return *std::get<std::unique_ptr<Captioner>>(engine_); }

  const FolderConfig* config() const;  // of a model that decodes; null for others

  const About& about() const { return about_; }
  int64_t parameters() const { return facts_.parameters; }
  int64_t max_source() const { return facts_.max_source; }  // tokens of a text, or cells of a picture, that are read
  // The attention weights of a record that are known before anything is computed: those between tokens that are read.
  int64_t weights_read(int64_t source_tokens, int64_t target_tokens) const;
  Json json() const;  // as GET /v1/models lists it

  // The ids of the target tokens with that text, in no order: a text may have two, with and without a space before it.
  const std::vector<int32_t>& token_ids(const std::string& text) const;

 private:
  std::string name_;
  const ServedTask& task_;
  Engine engine_;
  ModelFacts facts_;
  About about_;
  std::unordered_map<std::string, std::vector<int32_t>> ids_by_text_;
};

// The last parts of the folders' names, made unique by -2, -3.
std::vector<std::string> names_of(const std::vector<std::string>& folders);

}  // namespace fovea::app
