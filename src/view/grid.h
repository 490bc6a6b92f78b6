// One matrix of attention weights, as a view shows it. Its title says how layers and heads were reduced to it.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attention/record.h"

namespace fovea {

struct Label {
  std::string text;
  bool space_before = false;  // a space precedes it in its sentence
  bool mark = false;          // a special token: <s> or </s>
};

// What the record says of a row that is a step of decoding.
struct StepNote {
  double probability = 0;
  std::vector<std::pair<std::string, double>> alternatives;  // with their probabilities, likeliest first
};

struct Grid {
  std::string title;                  // "cross attention, layer 2, mean of 8 heads"
  std::string row_name, column_name;  // "target", "source"
  std::vector<Label> rows, columns;   // of cross attention: target tokens, source tokens
  std::vector<float> weights;         // [rows, columns]; NaN where a cell is absent (masked)
  bool named_rows = false;            // rows are no tokens but, for instance, the hops of a pooling
  bool hard = false;                  // hard selection: one cell of each row has all of its weight
  std::vector<StepNote> notes;        // one for each row, or empty
  // The picture whose cells the columns are, or null. A column after the cells is the weight of no place.
  std::shared_ptr<const RecordImage> image;
  // Self-attention of a picture: the only cell whose attention is drawn; by default cells that look far.
  std::optional<int64_t> cell;

  int64_t height() const { return static_cast<int64_t>(rows.size()); }
  int64_t width() const { return static_cast<int64_t>(columns.size()); }
  float& at(int64_t row, int64_t column) { return weights[static_cast<size_t>(row * width() + column)]; }
  float at(int64_t row, int64_t column) const { return weights[static_cast<size_t>(row * width() + column)]; }
};

inline constexpr float kAbsent = std::numeric_limits<float>::quiet_NaN();
inline bool is_absent(float weight) { return std::isnan(weight); }

}  // namespace fovea
