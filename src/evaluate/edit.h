// Error rates by edit distance: 100 · (substitutions + insertions + deletions) / reference length.
// If a segment has several references, the one with the fewest errors counts. Words are separated by white space: for
// pronunciations with a space between phonemes, the word error rate is the phoneme error rate.
#pragma once

#include <cstdint>
#include <span>

#include "evaluate/segment.h"

namespace fovea {

struct ErrorRate {
  int64_t substitutions = 0, insertions = 0, deletions = 0;
  int64_t reference_length = 0;

  int64_t errors() const { return substitutions + insertions + deletions; }
  double percent() const;  // may exceed 100; for an empty reference each error counts 100
};

ErrorRate word_error_rate(std::span<const Segment> segments);

// The error rate of characters. White space between words is reduced to one space.
ErrorRate character_error_rate(std::span<const Segment> segments);

// PER (Tillmann et al. 1997): the error rate of words regardless of their order.
ErrorRate position_independent_error_rate(std::span<const Segment> segments);

// The percentage of hypotheses that equal one of their references, word for word.
double exact_match(std::span<const Segment> segments);

}  // namespace fovea
