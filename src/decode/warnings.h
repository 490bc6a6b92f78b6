// Signs that a translation is not one of its source: the model repeats itself, writes far too much or too little, or
// its attention is on nothing in particular.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "decode/search.h"

namespace fovea {

struct OutputWarning {
  std::string kind;     // "repetition", "length" or "attention"
  std::string message;  // a sentence without a full stop
};

// What a model reads and writes of a sentence. The attention is judged if the hypothesis has captured it.
std::vector<OutputWarning> output_warnings(std::span<const int32_t> source, const Hypothesis& hypothesis);

// The most often repeated n-gram of up to 10 tokens that follows itself: how many tokens its repetitions have. "a b a b
// a b" has 4. Two occurrences in a row are not counted: "bye bye" is language.
int64_t repeated_tokens(std::span<const int32_t> ids);

// How concentrated cross attention is: the largest weight of a step on a source token, the end mark left out, of the
// mean over all layers and heads; on average over the steps. Negative if no cross attention was captured.
double attention_concentration(const Hypothesis& hypothesis);

}  // namespace fovea
