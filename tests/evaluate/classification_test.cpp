// The quality of a classifier, against values computed by hand.
#include "evaluate/classification.h"

#include <gtest/gtest.h>

#include "support.h"

namespace fovea {
namespace {

const std::vector<std::string> kLabels = {"a", "b", "c"};

TEST(Classification, CountsAreThoseComputedByHand) {
  // Confusion: a: 2 right, 1 as b; b: 1 right, 1 as a; c: 1 right.
  const std::vector<ClassOutcome> outcomes = {{0, 0, 0.9}, {0, 0, 0.8}, {0, 1, 0.6},
                                              {1, 1, 0.7}, {1, 0, 0.5}, {2, 2, 1.0}};
  const ClassificationReport report = classification_report(outcomes, kLabels);
  EXPECT_EQ(report.total, 6);
  EXPECT_EQ(report.correct, 4);
  EXPECT_NEAR(report.accuracy(), 100.0 * 4 / 6, 1e-12);
  EXPECT_EQ(report.confusion, (std::vector<int64_t>{2, 1, 0, 1, 1, 0, 0, 0, 1}));
  EXPECT_NEAR(report.classes[0].precision(), 100.0 * 2 / 3, 1e-12);
  EXPECT_NEAR(report.classes[0].recall(), 100.0 * 2 / 3, 1e-12);
  EXPECT_NEAR(report.classes[0].f1(), 100.0 * 2 / 3, 1e-12);
  EXPECT_NEAR(report.classes[1].precision(), 50.0, 1e-12);
  EXPECT_NEAR(report.classes[1].f1(), 50.0, 1e-12);
  EXPECT_NEAR(report.classes[2].f1(), 100.0, 1e-12);
  EXPECT_EQ(report.classes[0].support, 3);
  EXPECT_NEAR(report.macro_f1(), (200.0 / 3 + 50 + 100) / 3, 1e-9);
}

TEST(Classification, PrecisionAndRecallDiffer) {
  const std::vector<ClassOutcome> outcomes = {{0, 0, 1}, {1, 0, 1}, {1, 0, 1}, {1, 1, 1}};
  const ClassificationReport report = classification_report(outcomes, kLabels);
  EXPECT_NEAR(report.classes[0].precision(), 100.0 / 3, 1e-12);
  EXPECT_NEAR(report.classes[0].recall(), 100.0, 1e-12);
  EXPECT_NEAR(report.classes[1].precision(), 100.0, 1e-12);
  EXPECT_NEAR(report.classes[1].recall(), 100.0 / 3, 1e-12);
  // A class that neither occurs nor is predicted does not count.
  EXPECT_NEAR(report.macro_f1(), 50.0, 1e-12);
}

TEST(Classification, CalibrationErrorIsTheOneComputedByHand) {
  // Two bins. Up to 0.5: one text, wrong, confidence 0.5. Above: three texts, two right, confidences 0.6, 0.8, 1.0.
  const std::vector<ClassOutcome> outcomes = {{0, 1, 0.5}, {0, 0, 0.6}, {0, 1, 0.8}, {1, 1, 1.0}};
  const ClassificationReport report = classification_report(outcomes, kLabels, 2);
  EXPECT_NEAR(report.calibration_error, 100 * (1.0 / 4 * 0.5 + 3.0 / 4 * std::abs(2.0 / 3 - 0.8)), 1e-9);
  const std::vector<ClassOutcome> certain = {{0, 0, 1.0}, {1, 1, 1.0}};
  EXPECT_NEAR(classification_report(certain, kLabels).calibration_error, 0.0, 1e-12);
  const std::vector<ClassOutcome> overconfident = {{0, 1, 1.0}, {1, 0, 1.0}};
  EXPECT_NEAR(classification_report(overconfident, kLabels).calibration_error, 100.0, 1e-12);
}

TEST(Classification, AnUnseenLabelCountsAsWrong) {
  const std::vector<ClassOutcome> outcomes = {{0, 0, 0.9}, {kUnseenClass, 1, 0.9}};
  const ClassificationReport report = classification_report(outcomes, kLabels);
  EXPECT_EQ(report.unseen, 1);
  EXPECT_NEAR(report.accuracy(), 50.0, 1e-12);
  EXPECT_EQ(report.classes[1].predicted, 1);
  EXPECT_EQ(report.classes[1].support, 0);
  EXPECT_NE(report.text().find("1 text with a label that the model does not know"), std::string::npos);
  const std::vector<ClassOutcome> wrong = {{3, 0, 0.9}};
  EXPECT_ERROR(classification_report(wrong, kLabels), "expected classes below 3");
}

TEST(Classification, TheTextHasTables) {
  const std::vector<std::string> labels = {"书籍", "b"};
  const std::vector<ClassOutcome> outcomes = {{0, 0, 0.9}, {1, 0, 0.9}, {1, 1, 0.7}};
  const std::string text = classification_report(outcomes, labels).text();
  EXPECT_NE(text.find("3 texts, accuracy 66.67, macro-F1 66.67"), std::string::npos) << text;
  EXPECT_NE(text.find("书籍       50.00  100.00   66.67        1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("       书籍  b\n书籍      1  0\nb         1  1\n"), std::string::npos) << text;
  EXPECT_EQ(classification_report({}, labels).accuracy(), 0.0);
}

}  // namespace
}  // namespace fovea
