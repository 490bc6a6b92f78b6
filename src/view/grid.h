// One matrix to look at: an attention reduced to rows and columns, always with a title that says how.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace fovea {

struct Label {
  std::string text;
  bool space_before = false;  // as it stands in its sentence
  bool mark = false;          // the beginning or end of a sentence: no words of it
};

// Beside a row that is a step of decoding.
struct StepNote {
  double probability = 0;
  std::vector<std::pair<std::string, double>> alternatives;  // and their probabilities, likeliest first
};

struct Grid {
  std::string title;                  // "cross attention, layer 2, mean of 8 heads"
  std::string row_name, column_name;  // "target", "source"
  std::vector<Label> rows, columns;   // rows of a cross attention are the target's
  std::vector<float> weights;         // [rows, columns]; NaN where a cell is absent (masked)
  bool hard = false;                  // the one cell chosen in each row has all of its weight
  std::vector<StepNote> notes;        // of each row, or none

  int64_t height() const { return static_cast<int64_t>(rows.size()); }
  int64_t width() const { return static_cast<int64_t>(columns.size()); }
  float& at(int64_t row, int64_t column) { return weights[static_cast<size_t>(row * width() + column)]; }
  float at(int64_t row, int64_t column) const { return weights[static_cast<size_t>(row * width() + column)]; }
};

inline constexpr float kAbsent = std::numeric_limits<float>::quiet_NaN();
inline bool is_absent(float weight) { return std::isnan(weight); }

}  // namespace fovea
