#include "evaluate/tokenize.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "text/unicode.h"

namespace fovea {
namespace {

using Text = std::u32string;
using TextView = std::u32string_view;

constexpr std::string_view kNames[] = {"13a", "intl", "zh", "char", "none"};

bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool not_digit(char32_t c) { return !is_digit(c); }
bool is_dash(char32_t c) { return c == '-'; }
bool is_point(char32_t c) { return c == '.' || c == ','; }
bool not_number(char32_t c) { return !unicode::is_number(c); }

// The ASCII signs that are always separate tokens: all but the apostrophe, the comma, the dash and the point.
bool is_sign(char32_t c) {
  return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
         (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// sacreBLEU writes two of its ranges with five hexadecimal digits after \u, which Python reads as four
// and a letter: they end up as U+2001..2A6D and U+2F81..2FA1, so dashes, curly quotes and ellipses count
// as Chinese, and the ideographs beyond U+FFFF do not.
bool is_chinese(char32_t c) {
  static constexpr struct {
    char32_t first, last;
  } kRanges[] = {
      {0x2001, 0x2A6D}, {0x2E80, 0x2FDF}, {0x2FF0, 0x303F}, {0x3100, 0x312F}, {0x31A0, 0x31EF},
      {0x3200, 0x4DB5}, {0x4E00, 0x9FBB}, {0xF900, 0xFA2D}, {0xFA30, 0xFA6A}, {0xFA70, 0xFAD9},
      {0xFE10, 0xFE1F}, {0xFE30, 0xFE4F}, {0xFF00, 0xFFEF},
  };
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [c](const auto& range) { return c >= range.first && c <= range.last; });
}

// The three substitutions that the tokenizers consist of. Like a regular expression's substitution, each scans from
// left to right and does not scan its own output.

template <class Is> Text set_apart(TextView text, Is is) {  // s/(is)/ $1 /g
  Text out;
  for (const char32_t c : text) {
    if (is(c)) {
      out += {U' ', c, U' '};
    } else {
      out += c;
    }
  }
  return out;
}

template <class Before, class Is>
Text set_apart_after(TextView text, Before before, Is is) {  // s/(before)(is)/$1 $2 /g
  Text out;
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (i + 1 < text.size() && before(text[i]) && is(text[i + 1])) out += {U' ', text[++i], U' '};
  }
  return out;
}

template <class Is, class After> Text set_apart_before(TextView text, Is is, After after) {  // s/(is)(after)/ $1 $2/g
  Text out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i + 1 < text.size() && is(text[i]) && after(text[i + 1])) {
      out += {U' ', text[i], U' ', text[i + 1]};
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

void replace_all(Text& text, TextView from, TextView to) {
  for (size_t at = text.find(from); at != Text::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// Points and commas inside numbers are not separated; a dash after a digit is.
Text western(TextView text) {
  const Text signs = set_apart(text, is_sign);
  const Text before = set_apart_after(signs, not_digit, is_point);
  const Text after = set_apart_before(before, is_point, not_digit);
  return set_apart_after(after, is_digit, is_dash);
}

Text mteval_13a(TextView line) {
  Text text(line);
  replace_all(text, U"<skipped>", U"");
  replace_all(text, U"-\n", U"");
  replace_all(text, U"\n", U" ");
  replace_all(text, U"&quot;", U"\"");
  replace_all(text, U"&amp;", U"&");
  replace_all(text, U"&lt;", U"<");
  replace_all(text, U"&gt;", U">");
  return western(U" " + text + U" ");
}

Text mteval_14(TextView line) {
  const Text before = set_apart_after(line, not_number, unicode::is_punctuation);
  const Text after = set_apart_before(before, unicode::is_punctuation, not_number);
  return set_apart(after, unicode::is_symbol);
}

Text spaced(TextView line, Tokenizer tokenizer) {
  switch (tokenizer) {
    case Tokenizer::k13a: return mteval_13a(line);
    case Tokenizer::kIntl: return mteval_14(line);
    case Tokenizer::kZh: return western(set_apart(unicode::strip(line), is_chinese));
    case Tokenizer::kChar: return set_apart(line, [](char32_t) { return true; });
    case Tokenizer::kNone: break;
  }
  return Text(line);
}

}  // namespace

Tokenizer tokenizer_named(std::string_view name) {
  const auto found = std::find(std::begin(kNames), std::end(kNames), name);
  check(found != std::end(kNames), "tokenizer: expected one of {}, got {}", fmt::join(kNames, ", "), name);
  return static_cast<Tokenizer>(found - std::begin(kNames));
}

std::string_view name_of(Tokenizer tokenizer) { return kNames[static_cast<size_t>(tokenizer)]; }

std::vector<std::string> tokenizer_names() { return {std::begin(kNames), std::end(kNames)}; }

std::vector<std::string> tokenize(std::string_view line, Tokenizer tokenizer, bool lowercase) {
  Text text = unicode::decode(line);
  if (lowercase) text = unicode::lower(text);
  const Text words = spaced(unicode::strip_end(text), tokenizer);
  std::vector<std::string> tokens;
  for (const TextView word : unicode::split(words)) tokens.push_back(unicode::encode(word));
  return tokens;
}

}  // namespace fovea
