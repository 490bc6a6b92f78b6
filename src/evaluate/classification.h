// The quality of a classifier: accuracy, precision, recall and F1 of each class, the confusion matrix, and how well the
// probabilities are calibrated.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

// One classified text. Classes are indices of the labels.
struct ClassOutcome {
  int32_t truth = 0;  // kUnseenClass for a label that the model does not know, which counts as wrong
  int32_t predicted = 0;
  double confidence = 0;  // the probability of the predicted class
};
constexpr int32_t kUnseenClass = -1;

struct ClassQuality {
  std::string label;
  int64_t support = 0, predicted = 0, correct = 0;  // texts of this class, texts classified as it, and both
  double precision() const;                         // in percent, as are the others; 0 if nothing was predicted
  double recall() const;
  double f1() const;
};

struct ClassificationReport {
  std::vector<ClassQuality> classes;
  std::vector<int64_t> confusion;  // [truth][predicted]
  int64_t total = 0, correct = 0;
  int64_t unseen = 0;            // texts whose label the model does not know
  double calibration_error = 0;  // expected calibration error, in percent (Guo et al. 2017)

  double accuracy() const;  // in percent
  // The mean F1 of the classes that occur, in the texts or in the predictions, in percent.
  double macro_f1() const;
  int64_t confused(size_t truth, size_t predicted) const { return confusion[truth * classes.size() + predicted]; }
  std::string text(std::string_view what = "text") const;  // tables for people; `what` is the name of an example
};

constexpr int64_t kCalibrationBins = 15;

ClassificationReport classification_report(std::span<const ClassOutcome> outcomes, std::span<const std::string> labels,
                                           int64_t bins = kCalibrationBins);

}  // namespace fovea
