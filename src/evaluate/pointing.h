// The pointing game (Zhang et al. 2016): does the maximum of attention while a phrase is written fall into one of the
// boxes of what the phrase names?
//
// The attention of a phrase is the mean over its tokens, interpolated bilinearly between the centres of its cells to a
// grid that is 16 times as fine. A hit is a maximum at a point (the centre of a fine cell) inside one of the boxes.
// Where several points share the maximum, the share of them that are inside counts: the expected value of a random
// choice.
//
// The baselines: a random point of the picture (the share of its area that the boxes cover), the picture's centre, and
// uniform attention, where all points of the fine grid share the maximum (the share of them that the boxes cover).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/boxes.h"

namespace fovea {

// The attention of each token of a caption over rows x columns cells of the picture, row-major from the top left.
struct TokenAttention {
  int64_t rows = 0, columns = 0;
  std::vector<int64_t> words;  // of each token, the index of its word in the text split at spaces; -1 for none
  std::vector<float> weights;  // [tokens, rows * columns], or a last column more for a sentinel, which is ignored
};

// Nothing if no token belongs to the phrase. Otherwise its score, 0 to 1.
std::optional<double> point_at(const TokenAttention& attention, const BoxedPhrase& phrase);

struct PointingRow {
  std::string type;
  int64_t phrases = 0;
  double hits = 0, random = 0, centre = 0, uniform = 0;  // sums over the phrases

  double accuracy() const { return share(hits); }
  double share(double sum) const { return phrases == 0 ? 0 : sum / static_cast<double>(phrases); }
  double best_baseline() const;  // its share
};

// The types that have a place in a picture, unlike "scene" and "other".
inline constexpr std::string_view kPointingTypes[] = {"people", "animals", "vehicles", "clothing", "bodyparts"};

class PointingGame {
 public:
  // Adds all phrases of a caption. A phrase of two types counts in both of their rows, and once in the totals.
  void add(const BoxedCaption& caption, const TokenAttention& attention);

  // A row for each type, those of kPointingTypes first; then "these five", the total of kPointingTypes, and "all".
  std::vector<PointingRow> rows() const;
  int64_t skipped() const { return skipped_; }  // phrases without a token, for instance after a truncated caption
  std::string text() const;                     // the rows as a table, in percent

 private:
  std::map<std::string, PointingRow> types_;
  PointingRow chosen_{.type = "these five"}, all_{.type = "all"};
  int64_t skipped_ = 0;
};

}  // namespace fovea
