// Error rates by edit distance: 100 · (substitutions + insertions + deletions) / reference length.
// Where a segment has several references, as a word has several pronunciations, the one with the fewest
// errors counts, the first of equals. Words are what white space separates; write a pronunciation with a
// space between phonemes and the word error rate is the phoneme error rate.
#pragma once

#include <cstdint>
#include <span>

#include "evaluate/segment.h"

namespace fovea {

struct ErrorRate {
  int64_t substitutions = 0, insertions = 0, deletions = 0;
  int64_t reference_length = 0;

  int64_t errors() const { return substitutions + insertions + deletions; }
  double percent() const;  // may pass 100; against empty references each error counts 100
};

ErrorRate word_error_rate(std::span<const Segment> segments);

// Of characters, with one space wherever there was white space between words.
ErrorRate character_error_rate(std::span<const Segment> segments);

// PER (Tillmann et al. 1997): of words regardless of their order, as two bags.
ErrorRate position_independent_error_rate(std::span<const Segment> segments);

// The percentage of hypotheses that are, word for word, one of their references.
double exact_match(std::span<const Segment> segments);

}  // namespace fovea
