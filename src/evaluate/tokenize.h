// sacreBLEU's tokenizers for BLEU. The score depends on which one is used.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fovea {

enum class Tokenizer {
  k13a,   // mteval-v13a, the default: separates Western punctuation but not inside numbers
  kIntl,  // mteval-v14: separates punctuation and symbols of all scripts
  kZh,    // separates Chinese characters and full-width signs; other text almost as 13a
  kChar,  // separates all characters
  kNone,  // splits at white space only
};

Tokenizer tokenizer_named(std::string_view name);  // "13a", "intl", "zh", "char", "none"
std::string_view name_of(Tokenizer tokenizer);
std::vector<std::string> tokenizer_names();

std::vector<std::string> tokenize(std::string_view line, Tokenizer tokenizer, bool lowercase = false);

}  // namespace fovea
