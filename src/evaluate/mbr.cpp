#include "evaluate/mbr.h"

#include <map>

#include "base/error.h"
#include "evaluate/bleu.h"
#include "evaluate/chrf.h"
#include "text/utf8.h"

namespace fovea {

Utility utility_named(std::string_view name) {
  check(name == "chrf" || name == "bleu", "mbr_metric: expected chrf or bleu, got {}", name);
  return name == "chrf" ? Utility::kChrf : Utility::kBleu;
}

std::vector<double> expected_utilities(std::span<const std::string> candidates, std::span<const double> weights,
                                       Utility utility) {
  check(weights.empty() || weights.size() == candidates.size(),
        "mbr: expected a weight for each of {} candidates, got {}", candidates.size(), weights.size());
  // Samples are often equal: each text is compared once.
  std::map<std::string_view, double> evidence;
  for (size_t i = 0; i < candidates.size(); ++i) evidence[candidates[i]] += weights.empty() ? 1.0 : weights[i];
  double total = 0;
  for (const auto& [text, weight] : evidence) total += weight;
  std::map<std::string_view, double> expected;
  for (const auto& [text, own] : evidence) {
    double sum = 0;
    for (const auto& [other, weight] : evidence) {
      const Segment segment{std::string(text), {std::string(other)}};
      const BleuOptions bleu{.tokenizer = has_han(other) ? Tokenizer::kZh : Tokenizer::k13a, .effective_order = true};
      sum += weight * (utility == Utility::kChrf ? sentence_chrf(segment).score : sentence_bleu(segment, bleu).score);
    }
    expected[text] = total > 0 ? sum / total : 0;
  }
  std::vector<double> utilities;
  for (const std::string& candidate : candidates) utilities.push_back(expected[candidate]);
  return utilities;
}

}  // namespace fovea
