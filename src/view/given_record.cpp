#include "view/given_record.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/error.h"
#include "text/utf8.h"

namespace fovea {

namespace {

constexpr double kSumTolerance = 0.01;  // of a row; softmax in 16 bits is as far from 1 as this

constexpr std::array<std::string_view, 14> kMarks = {"<s>",           "</s>",   "<pad>", "<bos>", "<eos>",
                                                     "<cls>",         "<sep>",  "[CLS]", "[SEP]", "[PAD]",
                                                     "<|endoftext|>", "<mask>", "[BOS]", "[EOS]"};

bool is_mark(std::string_view token) { return std::find(kMarks.begin(), kMarks.end(), token) != kMarks.end(); }

// How a tokeniser marks the tokens inside a word.
enum class Convention { kNone, kSpacePrefix, kWordPiece, kContinued };
struct Marking {
  Convention convention;
  std::string_view mark;
};
constexpr std::array<Marking, 4> kMarkings = {{{Convention::kSpacePrefix, "▁"},
                                               {Convention::kSpacePrefix, "Ġ"},
                                               {Convention::kWordPiece, "##"},
                                               {Convention::kContinued, "@@"}}};

Marking marking_of(const std::vector<std::string>& tokens) {
  for (const Marking& marking : kMarkings) {
    const bool at_end = marking.convention == Convention::kContinued;
    const auto marked = [&](const std::string& token) {
      return token.size() > marking.mark.size() &&
             (at_end ? token.ends_with(marking.mark) : token.starts_with(marking.mark));
    };
    if (std::any_of(tokens.begin(), tokens.end(), marked)) return marking;
  }
  return {Convention::kNone, ""};
}

struct Side {
  std::vector<RecordToken> tokens;
  std::string text;
};

Side side_of(const std::vector<std::string>& tokens) {
  const Marking marking = marking_of(tokens);
  Side side;
  int64_t length = 0;  // of the text, in characters
  bool continues = false;
  for (const std::string& written : tokens) {
    check(find_invalid_utf8(written) == std::string_view::npos, "record: expected tokens in UTF-8");
    RecordToken token;
    std::string_view text = written;
    token.mark = is_mark(written);
    switch (token.mark ? Convention::kNone : marking.convention) {
      case Convention::kNone: break;
      case Convention::kSpacePrefix:
        token.starts_word = side.tokens.empty() || text.starts_with(marking.mark) || side.tokens.back().mark;
        if (text.starts_with(marking.mark)) text.remove_prefix(marking.mark.size());
        break;
      case Convention::kWordPiece:
        token.starts_word = !text.starts_with(marking.mark);
        if (!token.starts_word) text.remove_prefix(marking.mark.size());
        break;
      case Convention::kContinued:
        token.starts_word = !continues;
        continues = text.ends_with(marking.mark) && text.size() > marking.mark.size();
        if (continues) text.remove_suffix(marking.mark.size());
        break;
    }
    token.text = text.empty() ? written : std::string(text);
    if (!token.mark && !text.empty()) {
      if (token.starts_word && !side.text.empty()) side.text += ' ', ++length;
      token.begin = length;
      side.text += text;
      length += count_code_points(text);
    } else {
      token.begin = length;
    }
    token.end = length;
    side.tokens.push_back(std::move(token));
  }
  return side;
}

// Checks the weights of a row and masks those right of its diagonal.
void check_row(std::span<float> row, const GivenWeights& given, int64_t layer, int64_t head, int64_t index) {
  double sum = 0;
  bool masked = true;
  for (int64_t column = 0; column < std::ssize(row); ++column) {
    float& weight = row[static_cast<size_t>(column)];
    if (std::isnan(weight)) continue;
    check(std::isfinite(weight) && weight >= 0,
          "record: expected weights from 0 to 1, got {} in layer {}, head {}, row {}, column {}", weight, layer + 1,
          head + 1, index + 1, column + 1);
    if (given.causal && column > index) {
      check(weight == 0,
            "record: expected no weight right of the diagonal, got {} in layer {}, head {}, row {}, column {}", weight,
            layer + 1, head + 1, index + 1, column + 1);
      weight = std::numeric_limits<float>::quiet_NaN();
      continue;
    }
    sum += weight;
    masked = false;
  }
  if (masked || given.any_sums) return;
  check(std::abs(sum - 1) <= kSumTolerance,
        "record: expected the weights of each row to sum to 1, got {:.4f} in layer {}, head {}, row {}; any_sums "
        "accepts them as they are",
        sum, layer + 1, head + 1, index + 1);
}

}  // namespace

AttentionRecord record_of_weights(const GivenWeights& given) {
  const bool self = given.target.empty();
  const int64_t columns = std::ssize(given.source), rows = self ? columns : std::ssize(given.target);
  check(columns > 0, "record: expected tokens of the source, got none");
  check(!given.causal || self, "record: expected causal weights between the tokens of one sequence, got a target, too");
  check(given.layers > 0 && given.heads > 0, "record: expected layers and heads, got {} and {}", given.layers,
        given.heads);
  check(std::ssize(given.weights) == given.layers * given.heads * rows * columns,
        "record: expected {} layers x {} heads x {} rows x {} columns of weights, got {}", given.layers, given.heads,
        rows, columns, given.weights.size());
  AttentionRecord record;
  record.architecture = given.model;
  Side source = side_of(given.source), target = side_of(given.target);
  record.source = std::move(source.tokens), record.source_text = std::move(source.text);
  record.target = std::move(target.tokens), record.target_text = std::move(target.text);
  RecordedAttention& a = record.attentions.emplace_back();
  a.kind = name_of(self ? AttentionKind::kEncoderSelf : AttentionKind::kCross);
  if (self) a.reduction = "self-attention";
  a.layers = given.layers, a.heads = given.heads, a.rows = rows, a.columns = columns;
  a.weights.assign(given.weights.begin(), given.weights.end());
  for (int64_t i = 0; i < given.layers * given.heads * rows; ++i) {
    check_row(std::span(a.weights).subspan(static_cast<size_t>(i * columns), static_cast<size_t>(columns)), given,
              i / rows / given.heads, i / rows % given.heads, i % rows);
  }
  return record;
}

}  // namespace fovea
