#include "evaluate/porter.h"

#include <array>
#include <span>
#include <utility>

namespace fovea {

namespace {

// A rule replaces a suffix if the condition holds for the stem before it. Of several rules, the first whose suffix
// matches decides, whether its condition holds or not.
struct Rule {
  std::string_view suffix, replacement;
};

bool is_consonant(std::string_view word, size_t i) {
  constexpr std::string_view kVowels = "aeiou";
  if (kVowels.find(word[i]) != std::string_view::npos) return false;
  if (word[i] != 'y') return true;
  // A y is a vowel after a consonant; a run of them alternates.
  size_t run = i;
  while (run > 0 && word[run] == 'y') --run;
  const bool first = word[run] == 'y' || kVowels.find(word[run]) == std::string_view::npos;
  return (i - run) % 2 == 0 ? first : !first;
}

// m in [C](VC)^m[V], where C and V are sequences of consonants and of vowels.
int measure(std::string_view stem) {
  int m = 0;
  for (size_t i = 1; i < stem.size(); ++i) m += !is_consonant(stem, i - 1) && is_consonant(stem, i) ? 1 : 0;
  return m;
}

bool has_vowel(std::string_view stem) {
  for (size_t i = 0; i < stem.size(); ++i) {
    if (!is_consonant(stem, i)) return true;
  }
  return false;
}

bool ends_with_double_consonant(std::string_view word) {
  const size_t n = word.size();
  return n >= 2 && word[n - 1] == word[n - 2] && is_consonant(word, n - 1);
}

// Consonant, vowel, consonant other than w, x and y; or a word of a vowel and a consonant.
bool ends_with_cvc(std::string_view word) {
  const size_t n = word.size();
  if (n == 2) return !is_consonant(word, 0) && is_consonant(word, 1);
  return n >= 3 && is_consonant(word, n - 3) && !is_consonant(word, n - 2) && is_consonant(word, n - 1) &&
         std::string_view("wxy").find(word[n - 1]) == std::string_view::npos;
}

// Replaces the suffix of the first matching rule if the stem's measure is above `least`.
std::string apply(std::span<const Rule> rules, std::string word, int least) {
  for (const auto& [suffix, replacement] : rules) {
    if (!word.ends_with(suffix)) continue;
    const std::string_view stem = std::string_view(word).substr(0, word.size() - suffix.size());
    if (measure(stem) > least) word.replace(stem.size(), suffix.size(), replacement);
    return word;
  }
  return word;
}

// Plurals.
std::string step1a(std::string word) {
  if (word.ends_with("ies") && word.size() == 4) {
    word.pop_back();  // dies: die
  } else if (word.ends_with("sses") || word.ends_with("ies")) {
    word.resize(word.size() - 2);
  } else if (word.ends_with("s") && !word.ends_with("ss")) {
    word.pop_back();
  }
  return word;
}

// The end of a word that has lost -ed or -ing.
std::string restored(std::string word) {
  if (word.ends_with("at") || word.ends_with("bl") || word.ends_with("iz")) return word + "e";
  if (ends_with_double_consonant(word)) {
    if (std::string_view("lsz").find(word.back()) == std::string_view::npos) word.pop_back();
    return word;
  }
  return measure(word) == 1 && ends_with_cvc(word) ? word + "e" : word;
}

std::string step1b(std::string word) {
  if (word.ends_with("ied")) {
    word.resize(word.size() - (word.size() == 4 ? 1 : 2));  // died: die, spied: spi
    return word;
  }
  if (word.ends_with("eed")) {
    if (measure(std::string_view(word).substr(0, word.size() - 3)) > 0) word.pop_back();
    return word;
  }
  for (const std::string_view suffix : {"ed", "ing"}) {
    if (!word.ends_with(suffix)) continue;
    const std::string_view stem = std::string_view(word).substr(0, word.size() - suffix.size());
    if (has_vowel(stem)) return restored(std::string(stem));
  }
  return word;
}

std::string step1c(std::string word) {
  if (word.size() > 2 && word.back() == 'y' && is_consonant(word, word.size() - 2)) word.back() = 'i';
  return word;
}

std::string step2(std::string word) {
  constexpr std::array kRules = {
      Rule{"ational", "ate"}, Rule{"tional", "tion"}, Rule{"enci", "ence"},   Rule{"anci", "ance"},
      Rule{"izer", "ize"},    Rule{"bli", "ble"},     Rule{"entli", "ent"},   Rule{"eli", "e"},
      Rule{"ousli", "ous"},   Rule{"ization", "ize"}, Rule{"ation", "ate"},   Rule{"ator", "ate"},
      Rule{"alism", "al"},    Rule{"iveness", "ive"}, Rule{"fulness", "ful"}, Rule{"ousness", "ous"},
      Rule{"aliti", "al"},    Rule{"iviti", "ive"},   Rule{"biliti", "ble"},  Rule{"fulli", "ful"},
  };
  if (word.ends_with("alli") && measure(std::string_view(word).substr(0, word.size() - 4)) > 0) {
    word.resize(word.size() - 2);
    return step2(word);  // conditionalli: conditional: condition
  }
  if (word.ends_with("logi")) {  // the l counts as part of the stem: geologi, geolog
    if (measure(std::string_view(word).substr(0, word.size() - 3)) > 0) word.pop_back();
    return word;
  }
  return apply(kRules, std::move(word), 0);
}

std::string step3(std::string word) {
  constexpr std::array kRules = {Rule{"icate", "ic"}, Rule{"ative", ""}, Rule{"alize", "al"}, Rule{"iciti", "ic"},
                                 Rule{"ical", "ic"},  Rule{"ful", ""},   Rule{"ness", ""}};
  return apply(kRules, std::move(word), 0);
}

std::string step4(std::string word) {
  constexpr std::array kRules = {
      Rule{"al", ""},   Rule{"ance", ""}, Rule{"ence", ""},  Rule{"er", ""},   Rule{"ic", ""},  Rule{"able", ""},
      Rule{"ible", ""}, Rule{"ant", ""},  Rule{"ement", ""}, Rule{"ment", ""}, Rule{"ent", ""}, Rule{"ou", ""},
      Rule{"ism", ""},  Rule{"ate", ""},  Rule{"iti", ""},   Rule{"ous", ""},  Rule{"ive", ""}, Rule{"ize", ""}};
  if (!word.ends_with("ion")) return apply(kRules, std::move(word), 1);
  const std::string_view stem = std::string_view(word).substr(0, word.size() - 3);
  if (measure(stem) > 1 && (stem.back() == 's' || stem.back() == 't')) word.resize(stem.size());
  return word;
}

std::string step5(std::string word) {
  if (word.ends_with("e")) {
    const std::string_view stem = std::string_view(word).substr(0, word.size() - 1);
    const int m = measure(stem);
    if (m > 1 || (m == 1 && !ends_with_cvc(stem))) word.pop_back();
  }
  if (word.ends_with("ll") && measure(std::string_view(word).substr(0, word.size() - 1)) > 1) word.pop_back();
  return word;
}

}  // namespace

std::string porter_stem(std::string_view word) {
  struct Irregular {
    std::string_view form, stem;
  };
  constexpr std::array kIrregular = {
      Irregular{"sky", "sky"},        Irregular{"skies", "sky"},        Irregular{"dying", "die"},
      Irregular{"lying", "lie"},      Irregular{"tying", "tie"},        Irregular{"news", "news"},
      Irregular{"innings", "inning"}, Irregular{"inning", "inning"},    Irregular{"outings", "outing"},
      Irregular{"outing", "outing"},  Irregular{"cannings", "canning"}, Irregular{"canning", "canning"},
      Irregular{"howe", "howe"},      Irregular{"proceed", "proceed"},  Irregular{"exceed", "exceed"},
      Irregular{"succeed", "succeed"}};
  for (const auto& [form, stem] : kIrregular) {
    if (word == form) return std::string(stem);
  }
  if (word.size() <= 2) return std::string(word);
  return step5(step4(step3(step2(step1c(step1b(step1a(std::string(word))))))));
}

}  // namespace fovea
