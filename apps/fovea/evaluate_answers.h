// fovea evaluate for models of the task answer: exact match and F1, beside the sentence that shares most words.
#pragma once

#include <string>
#include <vector>

#include "fovea/flags.h"

namespace fovea::app {

struct AnswerTest {
  std::string source;   // questions with answers: SQuAD's JSON or JSON lines
  std::string output;   // file for the answers, one line each; empty: none
  std::string metrics;  // "squad", "cmrc"; empty: by the language of the questions
  bool json = false;
};

// "squad" or "cmrc", if the metrics have one of them; otherwise empty.
std::string answer_metrics_among(const std::vector<std::string>& metrics);
int evaluate_answers(const AnswerTest& test, const PredictorFlags& flags);

}  // namespace fovea::app
