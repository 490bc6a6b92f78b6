// Features of tokens that a model with little data cannot learn by itself: whether a token occurs in the question (Chen
// et al. 2017, "Reading Wikipedia to answer open-domain questions", section 3.2), how many tokens in a row do, how many
// words its sentence shares with the question, and what the token looks like.
#pragma once

#include <span>
#include <vector>

#include "models/span_model.h"
#include "tasks/answer_text.h"

namespace fovea {

// kTokenFeatures numbers for each token.
struct TokenFeatureRows {
  std::vector<float> values;
  std::span<const float> row(int64_t token) const {
    return std::span(values).subspan(static_cast<size_t>(token * kTokenFeatures), kTokenFeatures);
  }
};

struct AnswerFeatures {
  TokenFeatureRows passage, question;
};

// With `matches` false, only what a token looks like and which text it is from.
AnswerFeatures answer_features(const TokenisedText& passage, std::span<const TextToken> question,
                               int64_t vocabulary_size, bool matches);
// The features of the separator between question and passage.
std::vector<float> separator_features();

}  // namespace fovea
