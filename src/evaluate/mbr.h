// Minimum Bayes risk decoding (Kumar and Byrne 2004; Eikema and Aziz 2020): of several translations of a sentence, the
// one with the highest expected utility, which is its mean chrF or BLEU against the others, each weighted by its
// probability.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

enum class Utility { kChrf, kBleu };
Utility utility_named(std::string_view name);  // "chrf", "bleu"

// The expected utility of each candidate, in percent. `weights` has one for each candidate, or none if all are the
// same: samples are equally likely as evidence.
std::vector<double> expected_utilities(std::span<const std::string> candidates, std::span<const double> weights,
                                       Utility utility);

}  // namespace fovea
