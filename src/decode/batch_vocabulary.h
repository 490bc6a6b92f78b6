// The part of the target vocabulary that a batch is decoded with: the union of its sentences' shortlists. Every
// sentence keeps to its own list, so that its translation does not depend on the other sentences of the batch.
#pragma once

#include <vector>

#include "autograd/var.h"
#include "decode/search.h"

namespace fovea {

struct BatchVocabulary {
  // The target tokens that logits are computed of, in ascending order; empty: all.
  std::vector<int32_t> ids;
  // f32 [B,L], added to logits [K,B,L]: minus infinity for the tokens that are not in a sentence's list. Absent if
  // every sentence has the whole list.
  Var mask;
};

// Allocates the mask in the current arena.
BatchVocabulary batch_vocabulary(const SearchOptions& options, const CorpusView& sources, const Batch& batch);

}  // namespace fovea
