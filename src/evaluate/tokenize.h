// The tokenizers BLEU is defined over, as sacreBLEU has them: what a "word" is decides the score.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fovea {

enum class Tokenizer {
  k13a,   // mteval-v13a, the default: Western punctuation apart, numbers whole
  kIntl,  // mteval-v14: punctuation and symbols of every script apart
  kZh,    // each Chinese character and full-width sign by itself, the rest almost as 13a
  kChar,  // every character
  kNone,  // what white space separates
};

Tokenizer tokenizer_named(std::string_view name);  // "13a", "intl", "zh", "char", "none"
std::string_view name_of(Tokenizer tokenizer);
std::vector<std::string> tokenizer_names();

std::vector<std::string> tokenize(std::string_view line, Tokenizer tokenizer, bool lowercase = false);

}  // namespace fovea
