// Which of a few languages a text is in: by its script, and where several languages share one, by their commonest words
// and their own letters. Good for a sentence; a word or a name may be in any language.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fovea {

enum class Script { kLatin, kCyrillic, kGreek, kArabic, kHebrew, kDevanagari, kThai, kHan, kKana, kHangul, kOther };
inline constexpr size_t kScripts = 11;

// The script of a letter; kOther for digits, punctuation and scripts that no known language is written in.
Script script_of(char32_t c);
// The share of the letters, where a Han character counts as 2.5 Latin ones, that a language is written with: for
// Japanese kana and Han, for Chinese Han, where kana do not count. 1 for a text without letters and for a language that
// is not known.
double script_share(std::string_view text, std::string_view language);

struct Detection {
  std::string language;   // a code as "en"
  double confidence = 0;  // of all candidates together: 1
};

// The candidates, most likely first. Languages that are unknown to the program are the least likely.
std::vector<Detection> detect_language(std::string_view text, const std::vector<std::string>& candidates);

// The language that the text is in with some certainty, if it is not `expected`: both must be known languages of one
// script, and the text have at least eight words. Empty otherwise.
std::string other_language(std::string_view text, std::string_view expected);

// "English" for "en"; the code itself where it is not known.
std::string language_name(const std::string& code);

}  // namespace fovea
