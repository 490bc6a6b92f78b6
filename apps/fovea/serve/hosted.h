// A model that is served: its translator, what it says of itself, and words by their text.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "decode/translator.h"
#include "fovea/serve/json.h"

namespace fovea::app {

// What about.json in the model's folder may say; everything is optional.
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

  // The words that are written like this, in no order; those of two spellings (with and without a space before) both.
  const std::vector<int32_t>& words(const std::string& text) const;

 private:
  std::string name_;
  Translator translator_;
  About about_;
  std::unordered_map<std::string, std::vector<int32_t>> words_;
};

// The last parts of the folders' names, made unique by -2, -3.
std::vector<std::string> names_of(const std::vector<std::string>& folders);

}  // namespace fovea::app
