// fovea evaluate for a classifier.
#pragma once

#include <string>

#include "fovea/flags.h"

namespace fovea::app {

struct ClassTest {
  std::string source;  // labelled texts; of pictures, also a folder with a folder for each label
  std::string output;  // file for the predicted labels; empty for none
  bool json = false;
};

// Classifies labelled texts and prints accuracy, macro-F1, the quality of each class and the confusion matrix. Returns
// the exit status.
int evaluate_classes(const ClassTest& test, const PredictorFlags& flags);
// The same of labelled pictures; names of pictures in a file are of the folder `images`.
int evaluate_image_classes(const ClassTest& test, const std::string& images, const PredictorFlags& flags);

}  // namespace fovea::app
