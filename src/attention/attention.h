// Attention: score x scope x selection x heads, with masks, relative positions and coverage. Masking, the selection of
// weights and the weighted sum are implemented here and nowhere else.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attention/config.h"
#include "attention/registry.h"

namespace fovea {

// The states that are attended over. Immutable.
struct Memory {
  Var keys, values;  // [S,B,...], projected
  Tensor lengths;    // i32 [B]; absent: all positions count
  int64_t size() const { return values.dim(0); }
  int64_t batch() const { return values.dim(1); }
};

// Replaces weights before the weighted sum, to see what a model would have predicted with other attention. Edited
// weights are computed by the unfused ops; everything else stays the same to the bit.
struct AttentionEdit {
  static constexpr int64_t kAll = -1;
  int64_t head = kAll;
  int64_t row = kAll;  // the position of a query: its step, or its index in the source
  // Of the row, one for each key that is not masked, and then that of a sentinel, which is 0 if it is left out. They
  // are not normalised.
  std::vector<float> weights;
  bool off = false;  // instead of weights: the head's context is zero
};

struct AttentionQuery {
  Var query;             // [T,B,D]
  Var projected;         // instead of `query`: a query that project_self or project_cross returned
  int64_t position = 0;  // of the first query: its step, and in self-attention its index among the keys
  int64_t stride = 1;    // between the positions of two queries; 0 if the queries are beams of one step
  Var coverage;          // [B,H,T,S]: the sum of the weights of the previous steps (with coverage)
  Var sentinel;          // [T,B,depth of the states]: with a sentinel, that of each query
  bool causal = false;   // keys after the position of a query are masked
  bool capture_weights = false;
  bool capture_scores = false;  // costs what the fused kernels save
  std::span<const AttentionEdit> edits;
};

struct AttentionResult {
  Var context;             // [T,B,depth of the values]
  Var weights;             // [B,H,T,S]; present if captured, or if the mechanism computes them anyway
  Var scores;              // [B,H,T,S], if captured: with relative positions and coverage, before mask and softmax
  Var sentinel;            // the weights of the sentinels, [B,H,T,1]: with them the weights of a query sum to 1
  Var sentinel_scores;     // [B,H,T,1], if captured
  Var center;              // local-p: the centres of the windows, [T,B,H]
  Var coverage;            // with coverage: the input of the next step
  Var selection_log_prob;  // hard selection that is trained by REINFORCE: of the sampled positions, [B,H,T]
  Var entropy;             // of that selection, [B,H,T]
};

// Projected queries with the memory that they attend to.
struct ProjectedAttention {
  Var query;
  Memory memory;
};

class Attention {
 public:
  // Sizes of the queries and of the states attended over. With several heads queries, keys and values are projected,
  // and so is the concatenation of the heads' contexts (Vaswani et al. 2017, section 3.2.2). With one head the states
  // themselves are the values. Error when the settings exclude each other.
  Attention(Parameters& parameters, const std::string& name, const AttentionConfig& config, int64_t query_depth,
            int64_t memory_depth);

  // `position` is that of the first state, for a memory that grows step by step.
  Memory project_memory(const Var& states, const Tensor& lengths = {}, int64_t position = 0) const;
  // Projects queries and memory together, by fewer and larger products where the device gains from that: states that
  // attend to themselves, and all queries of a target to the states of an encoder.
  ProjectedAttention project_self(const Var& states, const Tensor& lengths = {}, int64_t position = 0) const;
  ProjectedAttention project_cross(const Var& states, const Tensor& lengths, const Var& query) const;
  AttentionResult operator()(const Memory& memory, const AttentionQuery& query) const;

  int64_t context_depth() const { return context_depth_; }
  int64_t max_keys() const { return score_->max_keys(); }  // 0 for no limit
  const AttentionConfig& config() const { return config_; }

 private:
  Var project_query(const Var& query, int64_t position, int64_t stride) const;
  Var rotate(const Var& x, int64_t position, int64_t stride) const;  // with rotary positions
  Memory make_memory(const Var& keys, const Var& values, const Tensor& lengths, int64_t position) const;
  Var scores(const Memory& memory, const AttentionQuery& query, const Var& q) const;
  Mask make_mask(const Memory& memory, const AttentionQuery& query, const Var& q) const;
  // With a sentinel: the scores of the queries' own sentinels, [B,H,T,1], and what they add to the contexts.
  Var score_sentinel(const AttentionQuery& query, const Var& q) const;
  Var weigh_sentinel(const AttentionQuery& query, const Var& weights) const;
  Var attend_with_sentinel(const Memory& memory, const AttentionQuery& query, const Var& q, const Mask& mask,
                           AttentionResult& result) const;
  Var apply_window(const Var& weights, const Memory& memory, const AttentionQuery& query, const Var& q,
                   AttentionResult& result) const;

  AttentionConfig config_;
  const ScopeEntry* scope_;
  const SelectionEntry* selection_;
  const RelativeEntry* relative_;
  int64_t context_depth_ = 0;
  std::unique_ptr<Linear> query_, keys_, values_, out_;          // with several heads
  std::unique_ptr<FusedLinear> qkv_projection_, kv_projection_;  // the same weights; qkv if all have one size
  std::unique_ptr<Score> score_;
  std::unique_ptr<Linear> center_hidden_, center_;  // local-p: W and v
  const Parameter* distances_ = nullptr;            // shaw: [2w+1, d]
  const Parameter* coverage_weight_ = nullptr;      // [1]
};

}  // namespace fovea
