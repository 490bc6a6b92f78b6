// Sampling of one token.
#pragma once

#include <vector>

#include "decode/search.h"

namespace fovea {

// Samples with probability proportional to p^(1/temperature), among the most likely tokens with a total probability of
// `top_p` (nucleus sampling). `uniform` is a random number in [0,1). Reorders the candidates, of which there must be at
// least one.
NextToken sample_token(std::vector<NextToken>& candidates, const SearchOptions& options, double uniform);

// The random number in [0,1) of one step of one sample of a sentence.
double uniform_number(const SearchOptions& options, int64_t sentence, int64_t sample, int64_t step);

}  // namespace fovea
