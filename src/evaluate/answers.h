// Exact match and F1 of answers, as two test sets define them, and a baseline that any model must exceed.
//   squad: evaluate-v1.1.py of SQuAD (Rajpurkar et al. 2016). Lower case, no ASCII punctuation, no articles; F1 over
//   the
//     bag of words.
//   cmrc: cmrc2018_evaluate.py of CMRC 2018 (Cui et al. 2019). Lower case, no punctuation; F1 over the longest common
//     substring of tokens, where a Chinese character is a token. Words between them are split by a simple form of the
//     Treebank rules.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/segment.h"

namespace fovea {

enum class AnswerMetrics { kSquad, kCmrc };
AnswerMetrics answer_metrics_named(std::string_view name);  // "squad", "cmrc"
std::string_view name_of(AnswerMetrics metrics);
std::vector<std::string> answer_metrics_names();
// cmrc if most questions are Chinese, otherwise squad.
AnswerMetrics answer_metrics_for(std::span<const std::string> questions);

struct AnswerScore {
  double exact = 0, f1 = 0;  // percent
};
// The mean over the segments of the best score against any reference. Throws an Error if there are no segments.
AnswerScore answer_score(std::span<const Segment> segments, AnswerMetrics metrics);

// The sentence of the passage that shares most different words (or Chinese characters) with the question: the baseline.
std::string best_sentence(std::string_view passage, std::string_view question);

}  // namespace fovea
