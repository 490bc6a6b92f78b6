// fovea evaluate --alignment: how well alignments, or the heads of a model, agree with what people drew.
#pragma once

#include <string>
#include <vector>

#include "decode/translator.h"

namespace fovea::app {

struct AlignmentTest {
  std::string gold;        // Pharaoh
  int64_t first = 0;       // the number of the first word
  std::string hypotheses;  // alignments to measure; or
  std::string model, source, target;
  bool store_best = false, json = false;
  TranslatorOptions translator;
};

int evaluate_alignment(const AlignmentTest& test);

}  // namespace fovea::app
