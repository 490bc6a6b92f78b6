#include "evaluate/classification.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/thousands.h"
#include "text/utf8.h"

namespace fovea {

namespace {

constexpr size_t kMaxMatrix = 20;  // classes; a larger matrix is not readable as text

double percent(int64_t part, int64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

// The texts are grouped by confidence into bins of equal width; the error is the mean distance between accuracy and
// confidence, weighted by the number of texts in each bin.
double expected_calibration_error(std::span<const ClassOutcome> outcomes, int64_t bins) {
  struct Bin {
    double correct = 0, confidence = 0;
  };
  std::vector<Bin> all(static_cast<size_t>(bins));
  for (const ClassOutcome& outcome : outcomes) {
    // A bin includes its upper edge.
    const double place = std::ceil(outcome.confidence * static_cast<double>(bins)) - 1;
    Bin& bin = all[static_cast<size_t>(std::clamp(place, 0.0, static_cast<double>(bins - 1)))];
    bin.correct += outcome.truth == outcome.predicted ? 1 : 0;
    bin.confidence += outcome.confidence;
  }
  double error = 0;
  for (const Bin& bin : all) error += std::abs(bin.correct - bin.confidence);
  return outcomes.empty() ? 0.0 : 100.0 * error / static_cast<double>(outcomes.size());
}

// Chinese characters take two columns of a terminal.
size_t columns_of(std::string_view text) {
  size_t columns = 0;
  for (const auto& [value, begin, end] : code_points(text)) columns += is_unspaced(value) ? 2 : 1;
  return columns;
}

std::string padded(const std::string& text, size_t width, bool right) {
  const std::string blanks(width - std::min(width, columns_of(text)), ' ');
  return right ? blanks + text : text + blanks;
}

}  // namespace

double ClassQuality::precision() const { return percent(correct, predicted); }
double ClassQuality::recall() const { return percent(correct, support); }
double ClassQuality::f1() const { return percent(2 * correct, support + predicted); }

double ClassificationReport::accuracy() const { return percent(correct, total); }

double ClassificationReport::macro_f1() const {
  double sum = 0;
  int64_t occurring = 0;
  for (const ClassQuality& c : classes) {
    if (c.support + c.predicted == 0) continue;
    sum += c.f1();
    ++occurring;
  }
  return occurring == 0 ? 0.0 : sum / static_cast<double>(occurring);
}

std::string ClassificationReport::text(std::string_view what) const {
  std::string out = fmt::format("{}, accuracy {:.2f}, macro-F1 {:.2f}, calibration error {:.2f} ({} bins)\n",
                                counted(total, what), accuracy(), macro_f1(), calibration_error, kCalibrationBins);
  if (unseen > 0)
    out += fmt::format("{} with a label that the model does not know, counted as wrong\n", counted(unseen, what));
  size_t width = 5;
  for (const ClassQuality& c : classes) width = std::max(width, columns_of(c.label));
  out += fmt::format("\n{}  precision  recall      F1  support\n", padded("class", width, false));
  for (const ClassQuality& c : classes) {
    out += fmt::format("{}  {:9.2f}  {:6.2f}  {:6.2f}  {:>7}\n", padded(c.label, width, false), c.precision(),
                       c.recall(), c.f1(), thousands(c.support));
  }
  if (classes.size() > kMaxMatrix) return out;
  out += "\nconfusion matrix (rows: true class, columns: predicted class)\n" + std::string(width, ' ');
  std::vector<size_t> widths;
  for (size_t p = 0; p < classes.size(); ++p) {
    widths.push_back(columns_of(classes[p].label));
    for (size_t t = 0; t < classes.size(); ++t) widths[p] = std::max(widths[p], thousands(confused(t, p)).size());
    out += "  " + padded(classes[p].label, widths[p], true);
  }
  for (size_t t = 0; t < classes.size(); ++t) {
    out += "\n" + padded(classes[t].label, width, false);
    for (size_t p = 0; p < classes.size(); ++p) out += "  " + padded(thousands(confused(t, p)), widths[p], true);
  }
  return out + "\n";
}

ClassificationReport classification_report(std::span<const ClassOutcome> outcomes, std::span<const std::string> labels,
                                           int64_t bins) {
  const auto count = static_cast<int32_t>(labels.size());
  ClassificationReport report;
  for (const std::string& label : labels) report.classes.push_back({.label = label});
  report.confusion.resize(labels.size() * labels.size());
  report.total = std::ssize(outcomes);
  for (const ClassOutcome& outcome : outcomes) {
    const auto [truth, predicted, confidence] = outcome;
    check(truth >= kUnseenClass && truth < count && predicted >= 0 && predicted < count,
          "classification: expected classes below {}, got {} and {}", count, truth, predicted);
    const auto p = static_cast<size_t>(predicted);
    ++report.classes[p].predicted;
    if (truth == kUnseenClass) {
      ++report.unseen;
      continue;
    }
    const auto t = static_cast<size_t>(truth);
    ++report.classes[t].support;
    ++report.confusion[t * labels.size() + p];
    if (t != p) continue;
    ++report.classes[t].correct;
    ++report.correct;
  }
  report.calibration_error = expected_calibration_error(outcomes, bins);
  return report;
}

}  // namespace fovea
