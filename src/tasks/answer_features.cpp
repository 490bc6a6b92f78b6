#include "tasks/answer_features.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace fovea {

namespace {

// The columns of a row of features.
enum Column : size_t {
  kExact,
  kLower,
  kStem,
  kRun1,  // the token is part of 1, 2, 3, 4 or more tokens in a row that occur in the other text
  kRun2,
  kRun3,
  kRun4,
  kSentenceShare,  // the part of the question's words, weighted, that occur in the token's sentence
  kSentenceRank,   // the same, relative to the best sentence
  kBestSentence,
  kNear,       // the part that occurs within a few tokens
  kProximity,  // falls with the distance to the nearest word of the question
  kRepeated,
  kFirst,  // of its sentence
  kUnknownWord,
  kFromPassage,
  kFromQuestion,
  kSeparator,
  kShape,  // kTokenShapes columns
};
static_assert(static_cast<int64_t>(kShape) + kTokenShapes <= kTokenFeatures);

constexpr int64_t kNearTokens = 8;
constexpr double kProximityTokens = 5;

using Tokens = std::span<const TextToken>;
using Positions = std::unordered_map<int32_t, std::vector<int32_t>>;  // of each stem

class Rows {
 public:
  explicit Rows(int64_t count) : values_(static_cast<size_t>(count * kTokenFeatures)) {}
  float& at(int64_t token, size_t column) { return values_[static_cast<size_t>(token * kTokenFeatures) + column]; }
  std::vector<float> take() { return std::move(values_); }

 private:
  std::vector<float> values_;
};

bool is_content(const TextToken& token) {
  return token.shape < TokenShape::kSentenceEnd || token.shape == TokenShape::kHan ||
         token.shape == TokenShape::kHanNumber || token.shape == TokenShape::kOther;
}

void add_looks(Tokens tokens, Column origin, Rows& rows) {
  for (int64_t i = 0; i < std::ssize(tokens); ++i) {
    const TextToken& token = tokens[static_cast<size_t>(i)];
    rows.at(i, origin) = 1;
    rows.at(i, kUnknownWord) = token.id == kUnknown ? 1 : 0;
    rows.at(i, kShape + static_cast<size_t>(token.shape)) = 1;
  }
}

Positions positions_of(Tokens tokens) {
  Positions positions;
  for (size_t i = 0; i < tokens.size(); ++i) positions[tokens[i].stem].push_back(static_cast<int32_t>(i));
  return positions;
}

// Which tokens occur in the other text, and in how long a run.
void add_matches(Tokens tokens, Tokens other, Rows& rows) {
  constexpr int64_t kMaxPlaces = 64;  // of one stem that are compared
  const Positions positions = positions_of(other);
  for (int64_t i = 0; i < std::ssize(tokens); ++i) {
    const TextToken& token = tokens[static_cast<size_t>(i)];
    const auto found = positions.find(token.stem);
    if (found == positions.end()) continue;
    rows.at(i, kStem) = 1;
    int64_t run = 1;
    const int64_t places = std::min<int64_t>(kMaxPlaces, std::ssize(found->second));
    for (int64_t place = 0; place < places; ++place) {
      const auto at = static_cast<size_t>(found->second[static_cast<size_t>(place)]);
      const TextToken& match = other[at];
      if (match.lower == token.lower) rows.at(i, kLower) = 1;
      if (match.exact == token.exact) rows.at(i, kExact) = 1;
      int64_t here = 1;
      while (here < 4 && i + here < std::ssize(tokens) && at + static_cast<size_t>(here) < other.size() &&
             tokens[static_cast<size_t>(i + here)].stem == other[at + static_cast<size_t>(here)].stem) {
        ++here;
      }
      run = std::max(run, here);
    }
    for (int64_t k = 0; k < run; ++k) {
      for (int64_t length = 1; length <= run; ++length) rows.at(i + k, kRun1 + static_cast<size_t>(length) - 1) = 1;
    }
  }
}

// The weights of the question's different stems; rare tokens count most. Vocabularies are sorted by frequency.
struct StemWeights {
  std::unordered_map<int32_t, double> of;
  double total = 1e-6;  // above 0, because it divides
};

StemWeights stem_weights(Tokens question, int64_t vocabulary_size) {
  StemWeights weights;
  const double most = std::log(1.0 + static_cast<double>(vocabulary_size));
  for (const TextToken& token : question) {
    if (!is_content(token)) continue;
    const double rank = token.id == kUnknown ? 1.0 : std::log(1.0 + static_cast<double>(token.id)) / most;
    if (weights.of.emplace(token.stem, rank * rank).second) weights.total += rank * rank;
  }
  return weights;
}

// The sum of the weights of the different stems among the tokens [begin, end).
class Overlap {
 public:
  explicit Overlap(const StemWeights& weights) : weights_(weights.of) {}
  void add(const TextToken& token) {
    const auto found = weights_.find(token.stem);
    if (found != weights_.end() && counts_[token.stem]++ == 0) sum_ += found->second;
  }
  void remove(const TextToken& token) {
    const auto found = weights_.find(token.stem);
    if (found != weights_.end() && --counts_[token.stem] == 0) sum_ -= found->second;
  }
  double sum() const { return sum_; }

 private:
  const std::unordered_map<int32_t, double>& weights_;
  std::unordered_map<int32_t, int64_t> counts_;
  double sum_ = 0;
};

void add_sentences(Tokens passage, const StemWeights& weights, Rows& rows) {
  const int64_t count = std::ssize(passage);
  std::vector<std::pair<int64_t, double>> sentences;  // end and overlap of each
  double best = 0;
  for (int64_t begin = 0; begin < count;) {
    int64_t end = begin;
    Overlap overlap(weights);
    do overlap.add(passage[static_cast<size_t>(end)]);
    while (passage[static_cast<size_t>(end++)].shape != TokenShape::kSentenceEnd && end < count);
    sentences.emplace_back(end, overlap.sum());
    best = std::max(best, overlap.sum());
    rows.at(begin, kFirst) = 1;
    begin = end;
  }
  int64_t token = 0;
  for (const auto& [end, sum] : sentences) {
    for (; token < end; ++token) {
      rows.at(token, kSentenceShare) = static_cast<float>(sum / weights.total);
      rows.at(token, kSentenceRank) = best > 0 ? static_cast<float>(sum / best) : 0;
      rows.at(token, kBestSentence) = best > 0 && sum == best ? 1 : 0;
    }
  }
}

void add_neighbourhood(Tokens passage, const StemWeights& weights, Rows& rows) {
  const int64_t count = std::ssize(passage);
  Overlap near(weights);
  for (int64_t i = -kNearTokens; i < count; ++i) {
    if (i + kNearTokens < count) near.add(passage[static_cast<size_t>(i + kNearTokens)]);
    if (i - kNearTokens - 1 >= 0) near.remove(passage[static_cast<size_t>(i - kNearTokens - 1)]);
    if (i >= 0) rows.at(i, kNear) = static_cast<float>(std::max(0.0, near.sum()) / weights.total);
  }
  const auto spread = [&](int64_t first, int64_t step) {
    double proximity = 0;
    for (int64_t i = first; i >= 0 && i < count; i += step) {
      const auto found = weights.of.find(passage[static_cast<size_t>(i)].stem);
      proximity *= std::exp(-1 / kProximityTokens);
      if (found != weights.of.end()) proximity = std::max(proximity, found->second);
      rows.at(i, kProximity) = std::max(rows.at(i, kProximity), static_cast<float>(proximity));
    }
  };
  spread(0, 1);
  spread(count - 1, -1);
}

void add_repetitions(Tokens passage, Rows& rows) {
  std::unordered_map<int32_t, int64_t> counts;
  for (const TextToken& token : passage) ++counts[token.stem];
  for (int64_t i = 0; i < std::ssize(passage); ++i) {
    const auto times = static_cast<double>(counts[passage[static_cast<size_t>(i)].stem]);
    rows.at(i, kRepeated) = static_cast<float>(std::min(1.0, std::log(times) / 3));
  }
}

}  // namespace

AnswerFeatures answer_features(const TokenisedText& passage, std::span<const TextToken> question,
                               int64_t vocabulary_size, bool matches) {
  Rows of_passage(passage.size()), of_question(std::ssize(question));
  add_looks(passage.tokens, kFromPassage, of_passage);
  add_looks(question, kFromQuestion, of_question);
  if (matches && passage.size() > 0) {
    add_matches(passage.tokens, question, of_passage);
    add_matches(question, passage.tokens, of_question);
    const StemWeights weights = stem_weights(question, vocabulary_size);
    add_sentences(passage.tokens, weights, of_passage);
    add_neighbourhood(passage.tokens, weights, of_passage);
    add_repetitions(passage.tokens, of_passage);
  }
  return {{of_passage.take()}, {of_question.take()}};
}

std::vector<float> separator_features() {
  Rows row(1);
  row.at(0, kSeparator) = 1;
  return row.take();
}

}  // namespace fovea
