// A model that is served: its translator, its description, and its token ids by their text.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "decode/translator.h"
#include "fovea/serve/json.h"

namespace fovea::app {

// The contents of about.json in the model's folder; all members are optional.
struct About {
  std::string source_language, target_language;  // codes as "en"; empty when not known
  std::vector<std::string> examples;             // sources worth trying
};

class Hosted {
 public:
  Hosted(std::string name, const std::string& folder, const TranslatorOptions& options);

  const std::string& name() const { return name_; }
  const Translator& translator() const { return translator_; }
  const About& about() const { return about_; }
  Json json() const;  // as GET /v1/models lists it

  // The ids of the target tokens with that text, in no order: a text may have two, with and without a space before it.
  const std::vector<int32_t>& token_ids(const std::string& text) const;

 private:
  std::string name_;
  Translator translator_;
  About about_;
  std::unordered_map<std::string, std::vector<int32_t>> ids_by_text_;
};

// The last parts of the folders' names, made unique by -2, -3.
std::vector<std::string> names_of(const std::vector<std::string>& folders);

}  // namespace fovea::app
