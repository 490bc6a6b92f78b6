// BLEU (Papineni et al. 2002): BP · exp(mean over n = 1..4 of log p_n), where p_n is the clipped n-gram precision and
// BP = exp(1 - r/c) penalises hypotheses shorter than their references. The scores equal sacreBLEU's in every printed
// digit.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "evaluate/segment.h"
#include "evaluate/tokenize.h"

namespace fovea {

inline constexpr size_t kBleuOrder = 4;

// How n-gram orders without a match are smoothed (Chen and Cherry 2014).
enum class Smoothing {
  kExp,    // half a match for the first such order, then a quarter, an eighth ... (mteval-v13a, the default)
  kFloor,  // `smooth_value` matches
  kAddK,   // `smooth_value` is added to matches and totals of every order above the first
  kNone,   // the score is 0
};

Smoothing smoothing_named(std::string_view name);  // "exp", "floor", "add-k", "none"
std::string_view name_of(Smoothing smoothing);

struct BleuOptions {
  Tokenizer tokenizer = Tokenizer::k13a;
  Smoothing smoothing = Smoothing::kExp;
  std::optional<double> smooth_value;  // by default 0.1 for floor and 1 for add-k
  bool lowercase = false;
  bool effective_order = false;  // ignore the orders for which the hypotheses are too short
};

struct BleuScore {
  double score = 0;  // in percent, like the precisions
  std::array<int64_t, kBleuOrder> matches{}, totals{};
  std::array<double, kBleuOrder> precisions{};
  double brevity_penalty = 1;
  int64_t hypothesis_length = 0, reference_length = 0;  // in tokens

  double ratio() const;
  std::string line() const;  // "BLEU = 36.90 70.1/45.2/30.4/20.8 (BP = 0.980 ratio = ... ref_len = ...)"
};

BleuScore corpus_bleu(std::span<const Segment> segments, const BleuOptions& options = {});

// Always uses the effective order, because otherwise short sentences would have no score.
BleuScore sentence_bleu(const Segment& segment, BleuOptions options = {});

// The signature of a score in sacreBLEU's form: "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:..."
std::string bleu_signature(std::span<const Segment> segments, const BleuOptions& options = {});

}  // namespace fovea
