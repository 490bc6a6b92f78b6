// fovea evaluate --alignment: how well alignments, or the heads of a model, agree with what people drew.
#pragma once

#include <string>
#include <vector>

#include "fovea/flags.h"

namespace fovea::app {

struct AlignmentTest {
  std::string gold;            // Pharaoh
  int64_t first = 0;           // the number of the first word
  std::string hypotheses;      // alignments to measure; or
  std::string source, target;  // what the model of the flags is made to read and write
  bool store_best = false, json = false;
};

int evaluate_alignment(const AlignmentTest& test, const ModelFlags& models);

}  // namespace fovea::app
