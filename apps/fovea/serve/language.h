// Which of a few languages a text is in: by its script, and where several languages share one, by their commonest words
// and their own letters. Good for a sentence; a word or a name may be in any language.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fovea::app {

struct Detection {
  std::string language;   // a code as "en"
  double confidence = 0;  // of all candidates together: 1
};

// The candidates, most likely first. Languages that are unknown to the program are the least likely.
std::vector<Detection> detect_language(std::string_view text, const std::vector<std::string>& candidates);

// "English" for "en"; the code itself where it is not known.
std::string language_name(const std::string& code);

}  // namespace fovea::app
