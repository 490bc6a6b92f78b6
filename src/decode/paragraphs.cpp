#include "decode/paragraphs.h"

#include <algorithm>

#include "base/error.h"
#include "text/sentences.h"
#include "text/utf8.h"

namespace fovea {

namespace {

bool is_break(char32_t c) { return c == '\n' || c == '\r' || c == 0x85 || c == 0x2028 || c == 0x2029; }

TextPart trimmed(std::string_view text, TextPart part) {
  while (part.begin < part.end) {
    const CodePoint first = code_point_at(text, part.begin);
    if (!is_space(first.value)) break;
    part.begin = first.end;
  }
  size_t end = part.begin;
  for (size_t at = part.begin; at < part.end;) {
    const CodePoint point = code_point_at(text, at);
    at = point.end;
    if (!is_space(point.value)) end = at;
  }
  part.end = end;
  return part;
}

// How well a part may end after this character; 0 if it may not.
int break_quality(char32_t c, bool space_follows) {
  if (std::u32string_view(U"；;：").find(c) != std::u32string_view::npos) return 3;
  if (std::u32string_view(U"，、").find(c) != std::u32string_view::npos) return 2;
  if ((c == ',' || c == ':') && space_follows) return 2;
  return is_space(c) ? 1 : 0;
}

// At most the first `bytes` of the text, without a part of a character at the end.
std::string_view whole_characters(std::string_view text, size_t bytes) {
  while (bytes > 0 && bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

// Splits a sentence that is longer than the model reads. Each part is as long as the model reads, at most, and ends at
// the best place of its second half.
void split_long(std::string_view text, TextPart sentence, const SplitLimits& limits, const CountTokens& count,
                std::vector<TextPart>& parts) {
  while (true) {
    sentence = trimmed(text, sentence);
    const std::string_view rest = text.substr(sentence.begin, sentence.end - sentence.begin);
    // No more is tokenised than can become a part, so that the cost stays linear in the length.
    constexpr size_t kBytesPerToken = 32;
    size_t most = std::min(rest.size(), static_cast<size_t>(limits.longest) * kBytesPerToken);
    int64_t tokens = rest.empty() ? 0 : count(whole_characters(rest, most));
    if (most == rest.size() && tokens <= limits.longest) break;
    while (most > 1 && tokens > limits.longest) {
      const double share = static_cast<double>(limits.longest) / static_cast<double>(tokens);
      most = std::max<size_t>(1, static_cast<size_t>(static_cast<double>(most) * std::min(share, 0.95)));
      tokens = count(whole_characters(rest, most));
    }
    size_t best = 0, fits = 0;
    int best_quality = 0;
    for (size_t at = 0; at < rest.size();) {
      const CodePoint point = code_point_at(rest, at);
      if (point.end > most && fits > 0) break;
      at = fits = point.end;
      const bool space = at < rest.size() && is_space(code_point_at(rest, at).value);
      const int quality = break_quality(point.value, space);
      if (quality > 0 && quality >= best_quality && at > most / 2) {
        best = at;
        best_quality = quality;
      }
    }
    const size_t end = best > 0 ? best : fits;
    parts.push_back(trimmed(text, {sentence.begin, sentence.begin + end}));
    sentence.begin += end;
  }
  if (sentence.begin < sentence.end) parts.push_back(sentence);
}

void split_line(std::string_view text, TextPart line, const SplitLimits& limits, const CountTokens& count,
                std::vector<TextPart>& parts) {
  line = trimmed(text, line);
  if (line.begin == line.end) return;
  const std::string_view whole = text.substr(line.begin, line.end - line.begin);
  // A token has at least one byte, so a short line need not be tokenised.
  if (std::ssize(whole) <= limits.above || count(whole) <= limits.above) {
    parts.push_back(line);
    return;
  }
  for (const std::string_view sentence : split_sentences(whole)) {
    const auto begin = static_cast<size_t>(sentence.data() - text.data());
    split_long(text, {begin, begin + sentence.size()}, limits, count, parts);
  }
}

// Whether a text in this script goes on after the character, or before it, without a space.
bool is_dense(char32_t c) { return is_unspaced(c) || (c >= 0x3000 && c < 0x3040) || (c >= 0xFF00 && c < 0xFFF0); }

std::string_view gap_between(std::string_view left, std::string_view right) {
  if (left.empty() || right.empty()) return "";
  char32_t last = 0;
  for (const auto& [value, begin, end] : code_points(left.substr(left.size() > 8 ? left.size() - 8 : 0))) last = value;
  return is_dense(last) || is_dense(code_point_at(right, 0).value) ? "" : " ";
}

}  // namespace

std::vector<TextPart> split_text(std::string_view text, const SplitLimits& limits, const CountTokens& count) {
  std::vector<TextPart> parts;
  if (limits.above > 0) {
    size_t begin = 0;
    for (const auto& [value, at, end] : code_points(text)) {
      if (!is_break(value)) continue;
      split_line(text, {begin, at}, limits, count, parts);
      begin = end;
    }
    split_line(text, {begin, text.size()}, limits, count, parts);
  }
  if (parts.empty()) parts.push_back({0, text.size()});
  return parts;
}

std::vector<TextPart> split_text(std::string_view text, int64_t above, const Translator& translator) {
  const auto count = [&](std::string_view part) {
    return std::ssize(translator.tokenise_source(std::string(part))->ids);
  };
  return split_text(text, {std::min(above, translator.max_source()), translator.max_source()}, count);
}

std::string join_parts(std::string_view text, std::span<const TextPart> parts,
                       std::span<const std::string_view> translations) {
  std::string joined;
  size_t before = 0;  // the end of the part before
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string_view between = text.substr(before, parts[i].begin - before);
    const bool breaks = std::any_of(between.begin(), between.end(), [](char c) { return c == '\n' || c == '\r'; });
    if (i == 0 || breaks) {
      joined += between;  // indentation
    } else {
      joined += gap_between(joined, translations[i]);
    }
    joined += translations[i];
    before = parts[i].end;
  }
  // The line breaks at the end; other white space there has no meaning.
  const std::string_view rest = text.substr(before);
  if (rest.find('\n') != std::string_view::npos) joined += rest;
  return joined;
}

Translation join_translations(std::string_view text, std::span<const TextPart> parts,
                              std::span<const Translation> translations) {
  check(parts.size() == translations.size(), "translate: expected a translation for each of {} parts, got {}",
        parts.size(), translations.size());
  Translation whole;
  size_t candidates = 0;
  for (const Translation& translation : translations) {
    whole.source_tokens += translation.source_tokens;
    whole.truncated = whole.truncated || translation.truncated;
    whole.unknown_tokens += translation.unknown_tokens;
    candidates = std::max(candidates, translation.candidates.size());
  }
  for (size_t n = 0; n < candidates; ++n) {
    std::vector<std::string_view> texts;
    Translation::Candidate joined;
    joined.hypothesis.finished = true;
    for (const Translation& translation : translations) {
      const Translation::Candidate& one = translation.candidates[std::min(n, translation.candidates.size() - 1)];
      texts.push_back(one.text);
      joined.hypothesis.score += one.hypothesis.score;
      joined.hypothesis.log_probability += one.hypothesis.log_probability;
      joined.hypothesis.finished = joined.hypothesis.finished && one.hypothesis.finished;
    }
    joined.text = join_parts(text, parts, texts);
    whole.candidates.push_back(std::move(joined));
  }
  return whole;
}

void translate_paragraphs(const Translator& translator, std::span<const std::string> lines, const SearchOptions& search,
                          const ParagraphOptions& options, const TakeTexts& take,
                          const std::function<void(int64_t)>& done) {
  std::vector<TranslatedText> texts(lines.size());
  std::vector<std::string> sources;
  std::vector<size_t> line_of;  // for each part
  for (size_t i = 0; i < lines.size(); ++i) {
    texts[i].parts = split_text(lines[i], options.split_above, translator);
    for (const TextPart& part : texts[i].parts) {
      sources.push_back(lines[i].substr(part.begin, part.end - part.begin));
      line_of.push_back(i);
    }
  }
  const std::vector<SharedLine> tokenised = translator.tokenise_source(sources);
  size_t ready = 0;  // lines that are complete
  const auto take_parts = [&](int64_t first, std::span<Translation> translations) {
    const size_t passed = ready;
    for (size_t i = 0; i < translations.size(); ++i) {
      const size_t line = line_of[static_cast<size_t>(first) + i];
      TranslatedText& text = texts[line];
      if (options.rerank) options.rerank(translations[i]);
      text.sources.push_back(tokenised[static_cast<size_t>(first) + i]);
      text.translations.push_back(std::move(translations[i]));
      if (text.translations.size() < text.parts.size()) continue;
      text.whole = join_translations(lines[line], text.parts, text.translations);
      ready = line + 1;
    }
    if (ready == passed) return;
    take(static_cast<int64_t>(passed), std::span(texts).subspan(passed, ready - passed));
    for (size_t i = passed; i < ready; ++i) texts[i] = {};  // frees its memory
  };
  // Progress in parts, as shares of the lines.
  const auto show = [&](int64_t parts) {
    if (done) done(parts * std::ssize(lines) / std::max<int64_t>(1, std::ssize(line_of)));
  };
  translator.translate(tokenised, search, take_parts, show);
}

}  // namespace fovea
