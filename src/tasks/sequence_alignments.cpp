#include "tasks/sequence_alignments.h"

#include "base/error.h"
#include "text/words.h"

namespace fovea {

namespace {

// The index of the word that each token is a part of.
std::vector<int64_t> words_of_tokens(const std::string& text, const Vocabulary& vocabulary) {
  std::vector<size_t> begins;
  std::vector<bool> starts;
  for (const Token& token : vocabulary.tokenise(text)) {
    begins.push_back(token.begin);
    starts.push_back(token.starts_word);
  }
  return alignment_words(text, begins, starts);
}

}  // namespace

Alignments::Alignments(const std::string& path, const ParallelLines& lines, const ParallelCorpus& corpus,
                       const Vocabulary& source, const Vocabulary& target) {
  LineReader reader(path);
  std::vector<std::string> text;
  for (std::string line; reader.next(line);) text.push_back(line);
  check(text.size() == lines.source.size(), "{}: expected {} lines, as many as the training text has, got {}", path,
        lines.source.size(), text.size());
  for (int64_t pair = 0; pair < corpus.size(); ++pair) {
    const auto line = static_cast<size_t>(corpus.lines[static_cast<size_t>(pair)]);
    const std::vector<int64_t> source_words = words_of_tokens(lines.source[line], source);
    const std::vector<int64_t> target_words = words_of_tokens(lines.target[line], target);
    Alignment& links = links_.emplace_back();
    for (const Link& word : parse_pharaoh(text[line], 0, fmt::format("{}:{}", path, line + 1)).possible) {
      for (size_t t = 0; t < target_words.size(); ++t) {
        for (size_t s = 0; s < source_words.size(); ++s) {
          if (source_words[s] != word.source || target_words[t] != word.target) continue;
          links.push_back({static_cast<int64_t>(s), static_cast<int64_t>(t)});
        }
      }
    }
  }
}

Tensor Alignments::weights(const std::vector<int64_t>& rows, int64_t target_time, int64_t source_time, bool reversed,
                           int64_t delay, const ParallelCorpus& corpus, Device device) const {
  const auto batch = static_cast<int64_t>(rows.size());
  std::vector<float> values(static_cast<size_t>(batch * target_time * source_time), 0.0f);
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t row = rows[static_cast<size_t>(b)], length = corpus.source.length(row);
    std::vector<float> count(static_cast<size_t>(target_time), 0.0f);
    const Alignment& links = links_[static_cast<size_t>(row)];
    for (const Link& link : links) count[static_cast<size_t>(link.target)] += 1.0f;
    for (const Link& link : links) {
      const int64_t s = reversed ? length - 1 - link.source : link.source;
      values[static_cast<size_t>((b * target_time + link.target + delay) * source_time + s)] +=
          1.0f / count[static_cast<size_t>(link.target)];
    }
  }
  return from_host(values, {batch, 1, target_time, source_time}, device);
}

}  // namespace fovea
