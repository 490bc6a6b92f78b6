#include "view/align.h"

#include <algorithm>

#include "base/error.h"
#include "text/utf8.h"
#include "text/words.h"

namespace fovea {

void AlignOptions::describe(Fields& f) {
  f.add("method", method,
        "argmax: link each target word to the source word with the highest weight; threshold: link all words with at "
        "least that weight.")
      .choices({"argmax", "threshold"});
  f.add("threshold", threshold, "Smallest weight that makes a link.").at_least(0).at_most(1);
  f.add("count", count,
        "What to number: words separated by spaces, subword pieces, or auto: words separated by spaces, and pieces "
        "where a script has no spaces (Chinese, Japanese, Thai).")
      .choices({"auto", "spaces", "pieces"});
}

std::vector<int64_t> word_numbers(const std::vector<RecordToken>& tokens, const std::string& text,
                                  const std::string& count) {
  std::vector<size_t> byte_of;  // the first byte of each character
  for (const CodePoint& c : code_points(text)) byte_of.push_back(c.begin);
  byte_of.push_back(text.size());
  std::vector<size_t> begins;
  for (const RecordToken& token : tokens) {
    begins.push_back(byte_of[static_cast<size_t>(std::clamp<int64_t>(token.begin, 0, std::ssize(byte_of) - 1))]);
  }
  std::vector<bool> starts;
  for (const RecordToken& token : tokens) starts.push_back(token.starts_word && !token.mark);
  std::vector<int64_t> words = count == "auto" ? alignment_words(text, begins, starts) : word_indices(text, begins);
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].mark) {
      words[i] = -1;
    } else if (count == "pieces") {
      words[i] = static_cast<int64_t>(i);
    }
  }
  return words;
}

namespace {

// Weights between words: columns are summed, rows averaged, special tokens left out.
struct WordWeights {
  int64_t rows = 0, columns = 0;
  std::vector<double> weights;
};

WordWeights word_weights(const Grid& grid, const std::vector<int64_t>& targets, const std::vector<int64_t>& sources) {
  const auto count = [](const std::vector<int64_t>& words) {
    return words.empty() ? 0 : std::max<int64_t>(0, *std::max_element(words.begin(), words.end()) + 1);
  };
  WordWeights result{count(targets), count(sources), {}};
  result.weights.resize(static_cast<size_t>(result.rows * result.columns));
  std::vector<double> pieces(static_cast<size_t>(result.rows));
  for (const int64_t word : targets) {
    if (word >= 0) pieces[static_cast<size_t>(word)] += 1;
  }
  for (int64_t t = 0; t < grid.height(); ++t) {
    const int64_t row = targets[static_cast<size_t>(t)];
    for (int64_t s = 0; row >= 0 && s < grid.width(); ++s) {
      const int64_t column = sources[static_cast<size_t>(s)];
      if (column < 0 || is_absent(grid.at(t, s))) continue;
      result.weights[static_cast<size_t>(row * result.columns + column)] +=
          static_cast<double>(grid.at(t, s)) / pieces[static_cast<size_t>(row)];
    }
  }
  return result;
}

}  // namespace

Alignment align(const AttentionRecord& record, const ReduceOptions& heads, const AlignOptions& options) {
  const std::string kind = heads.attention == "auto" ? default_attention(record) : heads.attention;
  check(!heads.words && kind == "cross", "align: expected the cross attention over pieces");
  const Grid grid = reduce(record, heads);
  const WordWeights w = word_weights(grid, word_numbers(record.target, record.target_text, options.count),
                                     word_numbers(record.source, record.source_text, options.count));
  Alignment links;
  for (int64_t t = 0; t < w.rows; ++t) {
    const auto row = w.weights.begin() + t * w.columns;
    const int64_t best = std::max_element(row, row + w.columns) - row;
    for (int64_t s = 0; s < w.columns; ++s) {
      if (row[s] > 0 && (options.method == "argmax" ? s == best : row[s] >= options.threshold)) links.push_back({s, t});
    }
  }
  std::sort(links.begin(), links.end());
  return links;
}

}  // namespace fovea
