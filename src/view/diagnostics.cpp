#include "view/diagnostics.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace fovea {

namespace {

double weight_at(const Grid& grid, int64_t row, int64_t column) {
  const float weight = grid.at(row, column);
  return is_absent(weight) ? 0.0 : static_cast<double>(weight);
}

double entropy_term(double p) { return p > 0 ? -p * std::log(p) : 0.0; }

}  // namespace

std::vector<std::string> Diagnostics::names() {
  return {"entropy", "peak", "coverage-deviation", "absent-out", "absent-in", "confidence"};
}

double Diagnostics::named(std::string_view name) const {
  if (name == "entropy") return entropy;
  if (name == "peak") return peak;
  if (name == "coverage-deviation") return coverage_deviation;
  if (name == "absent-out") return absent_out;
  if (name == "absent-in") return absent_in;
  check(name == "confidence", "diagnostics: no such number as {}", name);
  return confidence;
}

bool Diagnostics::higher_is_worse(std::string_view name) { return name != "peak" && name != "confidence"; }

Diagnostics diagnose(const Grid& grid) {
  check(grid.height() > 0 && grid.width() > 0, "diagnostics: expected an attention with rows and columns");
  const auto rows = static_cast<double>(grid.height()), columns = static_cast<double>(grid.width());
  Diagnostics d;
  for (int64_t t = 0; t < grid.height(); ++t) {
    double entropy = 0, largest = 0;
    for (int64_t s = 0; s < grid.width(); ++s) {
      entropy += entropy_term(weight_at(grid, t, s));
      largest = std::max(largest, weight_at(grid, t, s));
    }
    d.absent_out += entropy / rows;
    d.peak += largest / rows;
  }
  d.entropy = grid.width() > 1 ? d.absent_out / std::log(columns) : 0.0;
  for (int64_t s = 0; s < grid.width(); ++s) {
    double sum = 0, entropy = 0;
    for (int64_t t = 0; t < grid.height(); ++t) sum += weight_at(grid, t, s);
    for (int64_t t = 0; sum > 0 && t < grid.height(); ++t) entropy += entropy_term(weight_at(grid, t, s) / sum);
    d.coverage_deviation += std::log1p((1 - sum) * (1 - sum)) / columns;
    d.absent_in += entropy / rows;
  }
  d.confidence = std::exp(-(d.coverage_deviation + d.absent_out + d.absent_in));
  return d;
}

}  // namespace fovea
