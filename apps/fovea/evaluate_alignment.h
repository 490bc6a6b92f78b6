// fovea evaluate --alignment: how well alignments, or the attention heads of a model, agree with gold alignments.
#pragma once

#include <string>
#include <vector>

#include "fovea/flags.h"

namespace fovea::app {

struct AlignmentTest {
  std::string gold;            // Pharaoh
  int64_t first = 0;           // the number of the first word
  std::string hypotheses;      // alignments to measure; or
  std::string source, target;  // text whose targets are teacher-forced with the model of the flags
  bool store_best = false, json = false;
};

int evaluate_alignment(const AlignmentTest& test, const ModelFlags& models);

}  // namespace fovea::app
