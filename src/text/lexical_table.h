// IBM model 1 (Brown et al. 1993, section 4.1): how likely a source token is translated by a target token, estimated by
// expectation maximisation from pairs that are aligned sentence by sentence.
//   p(t | s) is proportional to the sum over all pairs and target positions with t of p(t | s) / sum_s' p(t | s')
#pragma once

#include <cstdint>
#include <vector>

#include "text/corpus.h"

namespace fovea {

struct LexicalEntry {
  int32_t target;
  float probability;
};

// The entries of each source token, most probable first. kPad stands for the empty word, which every source has.
using LexicalTable = std::vector<std::vector<LexicalEntry>>;

// Entries below `least` are left out.
LexicalTable estimate_lexical_table(const CorpusView& pairs, int64_t source_words, int iterations = 5,
                                    float least = 1e-4f);

}  // namespace fovea
