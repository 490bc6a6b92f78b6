// A score of how noisy a pair is: dual conditional cross-entropy (Junczys-Dowmunt 2018). With H_f(y|x) and H_b(x|y) the
// cross-entropies per token of a model in each direction,
//
//   score = |H_f - H_b| + (H_f + H_b) / 2
//
// is small where both models expect the pair, and large where they disagree or neither does.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "corpora/pairs.h"
#include "decode/translator.h"

namespace fovea {

double dual_cross_entropy(const Hypothesis& forward, const Hypothesis& backward);

// The score of each pair; infinite for a pair that is longer than the models read. `done` receives the number of pairs
// that one of the models has read, up to twice the number of pairs.
std::vector<double> noise_scores(std::span<const TextPair> pairs, const Translator& forward, const Translator& backward,
                                 const std::function<void(int64_t)>& done = {});

// The largest score among the best `share` of all: pairs up to it stay.
double score_limit(std::vector<double> scores, double share);

}  // namespace fovea
