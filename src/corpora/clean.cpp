#include "corpora/clean.h"

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "text/language.h"
#include "text/lines.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace fovea {

namespace {

// Short pairs may differ more: "OK" and "好的，没问题".
constexpr int64_t kRatioAllowance = 5;
constexpr size_t kLongestTag = 1000;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// The length of the tag that starts at byte `at` of the text; 0 if none does. "a < b" is not one.
size_t tag_length(std::string_view text, size_t at) {
  if (text[at] != '<' || at + 2 >= text.size()) return 0;
  const char next = text[at + 1];
  if (!is_letter(next) && next != '!' && !(next == '/' && is_letter(text[at + 2]))) return 0;
  const size_t end = text.substr(0, std::min(text.size(), at + kLongestTag)).find('>', at);
  return end == std::string_view::npos ? 0 : end + 1 - at;
}

struct Reference {
  std::string_view name, text;
};
constexpr std::array kReferences = {Reference{"&amp;", "&"},   Reference{"&lt;", "<"},   Reference{"&gt;", ">"},
                                    Reference{"&quot;", "\""}, Reference{"&apos;", "'"}, Reference{"&#39;", "'"},
                                    Reference{"&nbsp;", " "}};

// The length of the character reference that starts at byte `at`: &name; or &#123;.
size_t reference_length(std::string_view text, size_t at) {
  constexpr size_t kLongest = 10;
  if (text[at] != '&') return 0;
  size_t end = at + 1;
  if (end < text.size() && text[end] == '#') ++end;
  const size_t begin = end;
  while (end < text.size() && end < at + kLongest && (is_letter(text[end]) || (text[end] >= '0' && text[end] <= '9'))) {
    ++end;
  }
  return end > begin && end < text.size() && text[end] == ';' ? end + 1 - at : 0;
}

bool has_control(std::string_view text) {
  for (const auto& [value, begin, end] : code_points(text)) {
    const bool control = (value < 0x20 && value != '\t') || (value >= 0x7F && value < 0xA0);
    // Byte order marks inside a text, private characters and U+FFFD are left by conversions that failed.
    if (control || value == kReplacement || value == 0xFEFF || (value >= 0xE000 && value < 0xF900)) return true;
  }
  return false;
}

// The text as it is compared with held-out texts.
std::string bare(std::string_view text) {
  std::string bare;
  for (const char32_t c : unicode::lower(unicode::decode(text))) {
    if (!unicode::is_space(c) && !unicode::is_punctuation(c)) append_code_point(bare, c);
  }
  return bare;
}

uint64_t hash_of(std::string_view text) { return std::hash<std::string_view>()(text); }

}  // namespace

void CleanOptions::describe(Fields& f) {
  f.add("min_length", min_length, "Shortest side, in words; in scripts without spaces, in characters.").at_least(0);
  f.add("max_length", max_length, "Longest side; 0 for no limit.").at_least(0);
  f.add("max_ratio", max_ratio,
        "A side may be this many times as long as the other, and 5 words or characters more. 0 for no limit.")
      .at_least(0);
  f.add("duplicates", duplicates,
        "Pairs that occurred before; drop-source and drop-target also drop pairs of which that side did.")
      .choices({"drop", "drop-source", "drop-target", "keep"});
  f.add("identical", identical, "Pairs whose sides are the same.").choices({"drop", "keep"});
  f.add("markup", markup, "Pairs with tags such as <b> or references such as &nbsp;: strip removes the markup alone.")
      .choices({"drop", "strip", "keep"});
  f.add("script", script,
        "Least share of a side's letters in the script of its language (--source, --target); 0 to disable.")
      .at_least(0)
      .at_most(1);
  f.add("language", language,
        "Pairs with a side that is in another language of the same script, by its commonest words.")
      .choices({"drop", "keep"});
}

int64_t text_length(std::string_view text) {
  int64_t length = 0;
  bool in_word = false;
  for (const auto& [value, begin, end] : code_points(text)) {
    const bool unspaced = is_unspaced(value);
    const bool word = !is_space(value) && !unspaced;
    length += unspaced || (word && !in_word) ? 1 : 0;
    in_word = word;
  }
  return length;
}

bool has_markup(std::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (tag_length(text, at) > 0 || reference_length(text, at) > 0) return true;
  }
  return false;
}

std::string without_markup(std::string_view text) {
  std::string stripped;
  for (size_t at = 0; at < text.size();) {
    if (const size_t tag = tag_length(text, at); tag > 0) {
      // What is on both sides of <br> or </p> is not one word.
      if (text.substr(at).starts_with("<br") || text.substr(at).starts_with("</p")) stripped += ' ';
      at += tag;
      continue;
    }
    const size_t length = reference_length(text, at);
    const std::string_view name = text.substr(at, length);
    const auto known =
        std::find_if(kReferences.begin(), kReferences.end(), [&](const Reference& r) { return r.name == name; });
    if (length > 0 && known != kReferences.end()) {
      stripped += known->text;
      at += length;
    } else {
      stripped += text[at++];
    }
  }
  return one_line(stripped);
}

void HeldOutTexts::add(const std::string& path) {
  LineReader reader(path);
  for (std::string line; reader.next(line);) {
    for (size_t begin = 0; begin <= line.size();) {
      const size_t end = std::min(line.find('\t', begin), line.size());
      if (const std::string text = bare(std::string_view(line).substr(begin, end - begin)); !text.empty()) {
        texts_.insert(hash_of(text));
      }
      begin = end + 1;
    }
  }
}

bool HeldOutTexts::contains(std::string_view text) const {
  return !texts_.empty() && texts_.count(hash_of(bare(text))) > 0;
}

Cleaner::Cleaner(const CleanOptions& options, std::string source_language, std::string target_language,
                 HeldOutTexts held_out)
    : options_(options),
      source_language_(std::move(source_language)),
      target_language_(std::move(target_language)),
      held_out_(std::move(held_out)) {}

std::string_view Cleaner::wrong_side(std::string_view text, const std::string& language) const {
  if (language.empty()) return "";
  if (options_.script > 0 && script_share(text, language) < options_.script) return "wrong script";
  if (options_.language == "drop" && !other_language(text, language).empty()) return "wrong language";
  return "";
}

bool Cleaner::is_duplicate(const TextPair& pair) {
  if (options_.duplicates == "keep") return false;
  if (options_.duplicates == "drop-source") return !seen_.insert(hash_of(pair.source)).second;
  if (options_.duplicates == "drop-target") return !seen_.insert(hash_of(pair.target)).second;
  return !seen_.insert(hash_of(pair.source + "\t" + pair.target)).second;
}

std::string_view Cleaner::reason_to_drop(TextPair& pair) {
  if (options_.markup == "strip") {
    for (std::string* side : {&pair.source, &pair.target}) {
      if (has_markup(*side)) *side = without_markup(*side);
    }
  }
  const int64_t source = text_length(pair.source), target = text_length(pair.target);
  const int64_t longer = std::max(source, target), shorter = std::min(source, target);
  if (shorter == 0) return "empty";
  if (has_control(pair.source) || has_control(pair.target)) return "control characters";
  if (options_.markup == "drop" && (has_markup(pair.source) || has_markup(pair.target))) return "markup";
  if (options_.identical == "drop" && pair.source == pair.target) return "identical sides";
  if (shorter < options_.min_length) return "too short";
  if (options_.max_length > 0 && longer > options_.max_length) return "too long";
  const double most = options_.max_ratio * static_cast<double>(shorter) + static_cast<double>(kRatioAllowance);
  if (options_.max_ratio > 0 && static_cast<double>(longer) > most) return "length ratio";
  for (const auto& [text, language] : {std::pair(&pair.source, &source_language_), {&pair.target, &target_language_}}) {
    if (const std::string_view reason = wrong_side(*text, *language); !reason.empty()) return reason;
  }
  if (held_out_.contains(pair.source) || held_out_.contains(pair.target)) return "held out";
  return is_duplicate(pair) ? "duplicate" : "";
}

}  // namespace fovea
