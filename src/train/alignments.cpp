#include "train/alignments.h"

#include <charconv>

#include "base/error.h"

namespace fovea {

namespace {

// The word, by white space, that each piece lies in.
std::vector<int32_t> words_of_pieces(const std::string& text, const std::vector<Token>& tokens) {
  std::vector<int32_t> word_at(text.size() + 1, 0);
  int32_t word = -1;
  bool space = true;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool here = text[i] == ' ' || text[i] == '\t';
    if (space && !here) ++word;
    space = here;
    word_at[i] = std::max(word, 0);
  }
  word_at[text.size()] = std::max(word, 0);
  std::vector<int32_t> words;
  words.reserve(tokens.size());
  for (const Token& token : tokens) words.push_back(word_at[token.begin]);
  return words;
}

std::pair<int32_t, int32_t> parse_link(std::string_view text, const std::string& place) {
  int32_t source = -1, target = -1;
  const auto first = std::from_chars(text.data(), text.data() + text.size(), source);
  bool ok = first.ec == std::errc() && first.ptr != text.data() + text.size() && *first.ptr == '-';
  if (ok) {
    const auto second = std::from_chars(first.ptr + 1, text.data() + text.size(), target);
    ok = second.ec == std::errc() && second.ptr == text.data() + text.size() && source >= 0 && target >= 0;
  }
  check(ok, "{}: expected links like 0-0 1-2, got \"{}\"", place, text);
  return {source, target};
}

}  // namespace

Alignments::Alignments(const std::string& path, const ParallelLines& lines, const ParallelCorpus& corpus,
                       const Vocabulary& source, const Vocabulary& target) {
  LineReader reader(path);
  std::vector<std::string> text;
  for (std::string line; reader.next(line);) text.push_back(line);
  check(text.size() == lines.source.size(), "{}: expected {} lines, as many as the text has, got {}", path,
        lines.source.size(), text.size());
  for (int64_t pair = 0; pair < corpus.size(); ++pair) {
    const auto line = static_cast<size_t>(corpus.lines[static_cast<size_t>(pair)]);
    const std::vector<int32_t> source_words = words_of_pieces(lines.source[line], source.tokenise(lines.source[line]));
    const std::vector<int32_t> target_words = words_of_pieces(lines.target[line], target.tokenise(lines.target[line]));
    std::vector<Link>& links = links_.emplace_back();
    const std::string place = fmt::format("{}:{}", path, line + 1);
    std::string_view rest = text[line];
    while (!rest.empty()) {
      const size_t end = std::min(rest.find(' '), rest.size());
      if (end > 0) {
        const auto [from, to] = parse_link(rest.substr(0, end), place);
        for (size_t t = 0; t < target_words.size(); ++t) {
          for (size_t s = 0; s < source_words.size(); ++s) {
            if (source_words[s] == from && target_words[t] == to) {
              links.push_back({static_cast<int32_t>(s), static_cast<int32_t>(t)});
            }
          }
        }
      }
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
}

Tensor Alignments::of(const std::vector<int64_t>& rows, int64_t target_time, int64_t source_time, bool reversed,
                      const ParallelCorpus& corpus, Device device) const {
  const auto batch = static_cast<int64_t>(rows.size());
  std::vector<float> weights(static_cast<size_t>(batch * target_time * source_time), 0.0f);
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t row = rows[static_cast<size_t>(b)], length = corpus.source.length(row);
    std::vector<float> count(static_cast<size_t>(target_time), 0.0f);
    const std::vector<Link>& links = links_[static_cast<size_t>(row)];
    for (const Link& link : links) count[static_cast<size_t>(link.target)] += 1.0f;
    for (const Link& link : links) {
      const int64_t s = reversed ? length - 1 - link.source : link.source;
      weights[static_cast<size_t>((b * target_time + link.target) * source_time + s)] +=
          1.0f / count[static_cast<size_t>(link.target)];
    }
  }
  return from_host(weights, {batch, 1, target_time, source_time}, device);
}

}  // namespace fovea
