// Attention computed directly from the papers' equations: one scalar at a time, in float64, without any of the
// operations of src. It is what Attention is compared with.
#pragma once

#include <string>

#include "attention/array.h"
#include "attention/attention.h"
#include "nn/parameters.h"

namespace fovea::testing {

struct NaiveProblem {
  const AttentionConfig& config;
  const Parameters& parameters;  // those of an Attention whose name is `name`
  std::string name;
  Array queries, states;         // [T,B,query depth], [S,B,memory depth]
  std::vector<int64_t> lengths;  // [B]: keys from lengths[b] on are padding
  int64_t position = 0;          // position of the first query
  int64_t stride = 1;            // from one query's position to the next one's
  bool causal = false;
  Array coverage = {};  // [B,H,T,S], or none before the first step
  std::span<const AttentionEdit> edits = {};
};

struct NaiveResult {
  Array context;  // [T,B,depth]
  Array weights;  // [B,H,T,S]
  Array scores;   // [B,H,T,S]: the argument of the softmax, without masks
  Array visible;  // [B,H,T,S]: 1 where a query may attend to a key, else 0
  Array center;   // local-p: [T,B,H]
};

// An Error when the configuration names an equation that is not written here: whoever adds a mechanism to the
// registry adds its equation to naive_attention.cpp.
NaiveResult naive_attention(const NaiveProblem& problem);

}  // namespace fovea::testing
