#include "evaluate/answers.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace fovea {

namespace {

using Words = std::vector<std::u32string>;

double f1_of(double same, size_t predicted, size_t expected) {
  if (same == 0) return 0;
  const double precision = same / static_cast<double>(predicted), recall = same / static_cast<double>(expected);
  return 2 * precision * recall / (precision + recall);
}

// ---- SQuAD

bool is_ascii_punctuation(char32_t c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// Python's \w without the underscore, which is removed before.
bool is_word_character(char32_t c) {
  const bool mark = (c >= 0x300 && c <= 0x36F) || (c >= 0x200B && c <= 0x200F) || (c >= 0xFE00 && c <= 0xFE0F);
  return c > ' ' && !mark && !unicode::is_space(c) && !unicode::is_punctuation(c) && !unicode::is_symbol(c);
}

std::u32string without_articles(const std::u32string& text) {
  std::u32string result;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && is_word_character(text[end])) ++end;
    if (end == i) {
      result += text[i++];
      continue;
    }
    const std::u32string word = text.substr(i, end - i);
    const bool article = word == U"a" || word == U"an" || word == U"the";
    result += article ? U" " : word;
    i = end;
  }
  return result;
}

Words squad_words(std::string_view answer) {
  std::u32string text;
  for (const char32_t c : unicode::lower(unicode::decode(answer))) {
    if (!is_ascii_punctuation(c)) text += c;
  }
  text = without_articles(text);
  const auto words = unicode::split(text);
  return {words.begin(), words.end()};
}

double squad_f1(const Words& predicted, const Words& expected) {
  std::map<std::u32string, int64_t> counts;
  for (const std::u32string& word : expected) ++counts[word];
  double same = 0;
  for (const std::u32string& word : predicted) {
    if (counts[word]-- > 0) ++same;
  }
  return f1_of(same, predicted.size(), expected.size());
}

// ---- CMRC 2018

bool is_removed(char32_t c) {
  static constexpr std::u32string_view kRemoved = U"-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』";
  return kRemoved.find(c) != std::u32string_view::npos;
}
bool is_chinese(char32_t c) { return c >= 0x4E00 && c <= 0x9FA5; }

std::u32string cmrc_text(std::string_view answer) {
  const std::u32string lower = unicode::lower(unicode::decode(answer));
  std::u32string text;
  for (const char32_t c : unicode::strip(lower)) {
    if (!is_removed(c)) text += c;
  }
  return text;
}

// Splits off punctuation, but not inside words and numbers: "1,000", "3.5", "u.s".
void add_words(std::u32string_view text, Words& words) {
  for (const std::u32string_view word : unicode::split(text)) {
    size_t begin = 0;
    for (size_t i = 0; i < word.size(); ++i) {
      const bool inside = i > begin && i + 1 < word.size() && (word[i] == '.' || word[i] == ',' || word[i] == '\'') &&
                          !unicode::is_punctuation(word[i + 1]);
      if (!unicode::is_punctuation(word[i]) || inside) continue;
      if (begin < i) words.emplace_back(word.substr(begin, i - begin));
      words.emplace_back(1, word[i]);
      begin = i + 1;
    }
    if (begin < word.size()) words.emplace_back(word.substr(begin));
  }
}

Words cmrc_words(std::string_view answer) {
  Words words;
  std::u32string other;  // the text between Chinese characters
  for (const char32_t c : cmrc_text(answer)) {
    if (!is_chinese(c)) {
      other += c;
      continue;
    }
    add_words(other, words);
    other.clear();
    words.emplace_back(1, c);
  }
  add_words(other, words);
  return words;
}

double cmrc_f1(const Words& predicted, const Words& expected) {
  std::vector<int64_t> lengths(predicted.size() + 1, 0), before;  // of common substrings that end here
  int64_t longest = 0;
  for (const std::u32string& word : expected) {
    before = lengths;
    for (size_t j = 0; j < predicted.size(); ++j) {
      lengths[j + 1] = predicted[j] == word ? before[j] + 1 : 0;
      longest = std::max(longest, lengths[j + 1]);
    }
  }
  return f1_of(static_cast<double>(longest), predicted.size(), expected.size());
}

// ---- the baseline

bool ends_sentence(std::u32string_view text, size_t i) {
  static constexpr std::u32string_view kChinese = U"。！？；\n";
  if (kChinese.find(text[i]) != std::u32string_view::npos) return true;
  const bool mark = text[i] == '.' || text[i] == '!' || text[i] == '?';
  return mark && (i + 1 == text.size() || unicode::is_space(text[i + 1]));
}

std::set<std::u32string> different_words(std::string_view text) {
  std::set<std::u32string> words;
  for (std::u32string& word : cmrc_words(text)) {
    if (word.size() > 1 || !unicode::is_punctuation(word.front())) words.insert(std::move(word));
  }
  return words;
}

}  // namespace

AnswerMetrics answer_metrics_named(std::string_view name) {
  check(name == "squad" || name == "cmrc", "metrics: expected one of {}, got {}",
        fmt::join(answer_metrics_names(), ", "), name);
  return name == "squad" ? AnswerMetrics::kSquad : AnswerMetrics::kCmrc;
}
std::string_view name_of(AnswerMetrics metrics) { return metrics == AnswerMetrics::kSquad ? "squad" : "cmrc"; }
std::vector<std::string> answer_metrics_names() { return {"squad", "cmrc"}; }

AnswerMetrics answer_metrics_for(std::span<const std::string> questions) {
  const auto chinese = std::count_if(questions.begin(), questions.end(), has_han);
  return 2 * chinese > std::ssize(questions) ? AnswerMetrics::kCmrc : AnswerMetrics::kSquad;
}

AnswerScore answer_score(std::span<const Segment> segments, AnswerMetrics metrics) {
  check_segments("answers", segments);
  AnswerScore sum;
  for (const Segment& segment : segments) {
    double exact = 0, f1 = 0;
    for (const std::string& reference : segment.references) {
      if (metrics == AnswerMetrics::kSquad) {
        const Words predicted = squad_words(segment.hypothesis), expected = squad_words(reference);
        exact = std::max(exact, predicted == expected ? 1.0 : 0.0);
        f1 = std::max(f1, squad_f1(predicted, expected));
      } else {
        exact = std::max(exact, cmrc_text(segment.hypothesis) == cmrc_text(reference) ? 1.0 : 0.0);
        f1 = std::max(f1, cmrc_f1(cmrc_words(segment.hypothesis), cmrc_words(reference)));
      }
    }
    sum.exact += exact;
    sum.f1 += f1;
  }
  const double share = 100 / static_cast<double>(segments.size());
  return {sum.exact * share, sum.f1 * share};
}

std::string best_sentence(std::string_view passage, std::string_view question) {
  const std::u32string text = unicode::decode(passage);
  const std::set<std::u32string> wanted = different_words(question);
  std::string best;
  int64_t most = -1;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin;
    while (end < text.size() && !ends_sentence(text, end)) ++end;
    end = std::min(end + 1, text.size());
    const std::string sentence = unicode::encode(unicode::strip(std::u32string_view(text).substr(begin, end - begin)));
    const std::set<std::u32string> words = different_words(sentence);
    const auto shared =
        std::count_if(wanted.begin(), wanted.end(), [&](const auto& word) { return words.contains(word); });
    if (shared > most && !sentence.empty()) {
      most = shared;
      best = sentence;
    }
    begin = end;
  }
  return best;
}

}  // namespace fovea
