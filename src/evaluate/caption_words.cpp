#include "evaluate/caption_words.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "text/unicode.h"
#include "text/utf8.h"

namespace fovea {

namespace {

using Text = std::u32string;
using TextView = std::u32string_view;

// Words that keep a point after them.
constexpr TextView kAbbreviations[] = {
    U"adm", U"al",   U"apr",  U"assn", U"aug", U"ave",  U"blvd", U"bros", U"brig", U"calif", U"capt", U"cmdr", U"co",
    U"col", U"colo", U"conn", U"corp", U"cpl", U"ct",   U"dec",  U"dept", U"det",  U"dr",    U"drs",  U"esq",  U"est",
    U"etc", U"ext",  U"feb",  U"fla",  U"fri", U"ft",   U"ga",   U"gen",  U"gov",  U"hon",   U"inc",  U"ind",  U"insp",
    U"jan", U"jr",   U"jul",  U"jun",  U"ky",  U"lt",   U"ltd",  U"maj",  U"mar",  U"md",    U"mich", U"minn", U"mme",
    U"mo",  U"mon",  U"mont", U"mr",   U"mrs", U"ms",   U"mt",   U"natl", U"nev",  U"nov",   U"oct",  U"okla", U"pfc",
    U"ph",  U"pres", U"prof", U"pvt",  U"rd",  U"rep",  U"rev",  U"sen",  U"sep",  U"sept",  U"sgt",  U"sq",   U"sr",
    U"st",  U"ste",  U"tenn", U"thu",  U"tue", U"tues", U"univ", U"va",   U"vs",   U"vt",    U"wed",  U"wisc", U"wyo",
};
// Words that keep a point before a number.
constexpr TextView kNumbered[] = {U"art", U"ca", U"fig", U"figs", U"no", U"nos", U"pp"};
// Words with an apostrophe that are not split at it.
constexpr TextView kWithApostrophe[] = {U"'cause", U"'em",   U"'n",   U"'n'",  U"'til",  U"'till",
                                        U"c'mon",  U"cap'n", U"e'er", U"li'l", U"nat'l", U"s'mores"};
// A word that is two, and the length of the first.
constexpr struct {
  TextView word;
  size_t first;
} kTwoWords[] = {{U"cannot", 3}, {U"gonna", 3}, {U"gotta", 3}, {U"lemme", 3}, {U"gimme", 3}, {U"wanna", 3}};
constexpr TextView kSuffixes[] = {U"'s", U"'m", U"'d", U"'re", U"'ve", U"'ll"};
constexpr TextView kNot = U"n't";
constexpr TextView kLeftOut =
    U".,:;?!'\"`-\u2013\u2014\u2015\u2026\u201C\u201D\u201E\u201F\u2018\u201A\u201B\u00AB\u00BB";

template <class List> bool is_among(TextView word, const List& list) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

bool is_digit(char32_t c) { return unicode::is_number(c); }
bool is_hyphen(char32_t c) { return c == U'-' || c == U'_' || c == 0x2010 || c == 0x2011; }
bool is_letter(char32_t c) {
  return c > U' ' && !unicode::is_space(c) && !unicode::is_punctuation(c) && !unicode::is_symbol(c) && !is_digit(c) &&
         !is_unspaced(c);
}
bool is_alphanumeric(char32_t c) { return is_letter(c) || is_digit(c); }
bool is_vowel(char32_t c) { return TextView(U"aeiou").find(c) != TextView::npos; }

// Reads one word after the other. Each rule returns where the word would end that begins at a position, or nothing;
// the longest one is taken, as in the tokeniser's grammar.
class CaptionReader {
 public:
  explicit CaptionReader(std::string_view caption) : text_(unicode::lower(unicode::decode(caption))) {
    std::replace(text_.begin(), text_.end(), U'\u2019', U'\'');
    constexpr TextView kAmpersand = U"&amp;";
    for (size_t i = text_.find(kAmpersand); i != Text::npos; i = text_.find(kAmpersand, i + 1)) {
      text_.replace(i, kAmpersand.size(), U"&");
    }
  }

  std::vector<std::string> words() {
    std::vector<std::string> words;
    const auto add = [&](size_t begin, size_t end) {
      words.push_back(unicode::encode(TextView(text_).substr(begin, end - begin)));
    };
    for (size_t at = 0; at < text_.size();) {
      const size_t end = word_end(at);
      if (end == at) {  // a sign
        if (is_kept(text_[at])) add(at, at + 1);
        ++at;
        continue;
      }
      const TextView word = TextView(text_).substr(at, end - at);
      const auto two =
          std::find_if(std::begin(kTwoWords), std::end(kTwoWords), [&](auto& t) { return t.word == word; });
      if (two != std::end(kTwoWords)) {
        add(at, at + two->first);
        at += two->first;
      }
      add(at, end);
      at = end;
    }
    return words;
  }

 private:
  char32_t at(size_t i) const { return i < text_.size() ? text_[i] : U' '; }
  bool starts_with(size_t i, TextView part) const { return TextView(text_).substr(i).starts_with(part); }
  template <class Is> size_t skip(size_t i, Is is) const {
    while (i < text_.size() && is(text_[i])) ++i;
    return i;
  }
  static bool is_kept(char32_t c) {
    if (unicode::is_space(c) || kLeftOut.find(c) != TextView::npos) return false;
    return c > U' ' && !(is_unspaced(c) && unicode::is_punctuation(c)) && !(c >= 0x3000 && c <= 0x303F) &&
           !(c >= 0xFF00 && c <= 0xFF0F) && c != 0xFF1A && c != 0xFF1B && c != 0xFF1F;
  }

  // 's and the like, before something that is no letter.
  std::optional<size_t> suffix(size_t i) const {
    for (const TextView suffix : kSuffixes) {
      if (starts_with(i, suffix) && !is_letter(at(i + suffix.size()))) return i + suffix.size();
    }
    return std::nullopt;
  }
  bool is_not(size_t i) const { return starts_with(i, kNot) && !is_letter(at(i + kNot.size())); }

  size_t number_end(size_t i) const {
    size_t end = skip(i, is_digit);
    while (TextView(U".,:").find(at(end)) != TextView::npos && is_digit(at(end + 1))) end = skip(end + 1, is_digit);
    return end;
  }

  // Letters and digits, with hyphens and slashes between them.
  size_t compound_end(size_t i) const {
    if (!is_alphanumeric(at(i))) return i;
    size_t end = skip(i, is_alphanumeric);
    while ((is_hyphen(at(end)) || at(end) == U'/') && is_alphanumeric(at(end + 1))) {
      end = skip(end + 1, is_alphanumeric);
    }
    return end;
  }

  // The end of a word with an apostrophe inside or before it; `i` if there is none.
  size_t apostrophe_end(size_t i) const {
    for (const TextView word : kWithApostrophe) {
      if (starts_with(i, word) && !is_letter(at(i + word.size())) && at(i + word.size()) != U'\'') {
        return i + word.size();
      }
    }
    if (at(i) == U'\'' && is_digit(at(i + 1)) && is_digit(at(i + 2))) {  // '80s, '08
      const size_t end = i + 3 + (at(i + 3) == U's' ? 1 : 0);
      if (!is_alphanumeric(at(end))) return end;
    }
    const size_t letters = skip(i, is_letter);
    if (letters == i || at(letters) != U'\'' || suffix(letters)) return i;
    if (letters == i + 1 && TextView(U"dol").find(at(i)) != TextView::npos && is_letter(at(letters + 1))) {
      return compound_end(letters + 1);  // o'clock, d'oeuvre
    }
    const bool inside = letters > i + 1 && TextView(U"aeiouy").find(at(letters - 1)) != TextView::npos;
    if (inside && is_vowel(at(letters + 1))) return skip(letters + 1, is_letter);  // ma'am
    return i;
  }

  // The end of an abbreviation with its point: u.s., mr., and a single letter; `i` if there is none.
  size_t abbreviation_end(size_t i) const {
    size_t end = i;
    while (is_letter(at(end)) && at(end + 1) == U'.') end += 2;
    if (end > i && !is_alphanumeric(at(end))) return end;
    end = skip(i, is_letter);
    if (end == i || at(end) != U'.') return i;
    const TextView word = TextView(text_).substr(i, end - i);
    if (is_among(word, kAbbreviations) && !is_alphanumeric(at(end + 1))) return end + 1;
    const bool numbered = is_digit(at(end + 1)) || (at(end + 1) == U' ' && is_digit(at(end + 2)));
    return numbered && is_among(word, kNumbered) ? end + 1 : i;
  }

  // Letters and digits with . ! ? between two of them, as where a space is missing: "end.start".
  size_t dotted_end(size_t i) const {
    if (!is_letter(at(i))) return i;
    size_t end = skip(i, is_alphanumeric);
    while (TextView(U".!?").find(at(end)) != TextView::npos && is_letter(at(end + 1))) {
      end = skip(end + 1, is_alphanumeric);
    }
    return end;
  }

  // The end of the word that begins at i; i if none begins there.
  size_t word_end(size_t i) const {
    if (is_unspaced(text_[i])) return unicode::is_punctuation(text_[i]) ? i : i + 1;
    if (const std::optional<size_t> end = suffix(i)) return *end;
    if (is_not(i)) return i + kNot.size();
    // The n of n't is no part of the word before it.
    const size_t letters = skip(i, is_letter);
    if (letters > i + 1 && at(letters) == U'\'' && is_not(letters - 1)) return letters - 1;
    if ((at(i) == U'#' || at(i) == U'@') && is_letter(at(i + 1))) return skip(i + 1, is_letter);
    return std::max({compound_end(i), number_end(i), apostrophe_end(i), abbreviation_end(i), dotted_end(i)});
  }

  Text text_;
};

}  // namespace

std::vector<std::string> caption_words(std::string_view caption) { return CaptionReader(caption).words(); }

}  // namespace fovea
