// Attention, once: score x scope x selection x heads, with masks, relative positions and coverage.
// Masking, the choice of weights and the weighted sum happen here and nowhere else.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attention/config.h"
#include "attention/registry.h"

namespace fovea {

// What is attended over: a value that never changes once it is made.
struct Memory {
  Var keys, values;  // [S,B,...], projected
  Tensor lengths;    // i32 [B]; absent: all positions count
  int64_t size() const { return values.dim(0); }
  int64_t batch() const { return values.dim(1); }
};

// A change to weights before the weighted sum, to see what a model would have said had it looked elsewhere. What is
// changed goes by the unfused path; everything else is as it was, to the bit.
struct AttentionEdit {
  static constexpr int64_t kAll = -1;
  int64_t head = kAll;
  int64_t row = kAll;          // the position of a query: its step, or its place in the source
  std::vector<float> weights;  // of the row, one for each key it may see; they are used as they are
  bool off = false;            // no weights: what the head brings is zero
};

struct AttentionQuery {
  Var query;             // [T,B,D]
  Var projected;         // instead of it: what Attention made of it together with a memory
  int64_t position = 0;  // of the first query: its step, and its place among the keys in self-attention
  int64_t stride = 1;    // from one query's position to the next's; 0 when they are beams of one step
  Var coverage;          // [B,H,T,S]: the sum of the weights of the steps before (with coverage)
  bool causal = false;   // a query sees no key past its own position
  bool capture_weights = false;
  bool capture_scores = false;  // also what weights are made of; costs what the fused kernels save
  std::span<const AttentionEdit> edits;
};

struct AttentionResult {
  Var context;   // [T,B,depth of the values]
  Var weights;   // [B,H,T,S]; present if kept, or made on the way
  Var scores;    // [B,H,T,S], if kept: with relative positions, coverage and ALiBi's bias, before any mask and softmax
  Var center;    // local-p: where the windows stand, [T,B,H]
  Var coverage;  // with coverage: what the next step takes
  Var selection_log_prob;  // hard selection while it learns by REINFORCE: the log-probability of what was chosen,
                           // [B,H,T]
  Var entropy;             // ... and how open the choice was, [B,H,T]
};

// What looks, projected, and what it looks at.
struct ProjectedAttention {
  Var query;
  Memory memory;
};

class Attention {
 public:
  // Depths of the queries and of what is remembered. With several heads, queries, keys and values are
  // projected and the contexts joined by a last projection (Vaswani et al. 2017, section 3.2.2); with one
  // head the values are attended to as they are. Error when the choices do not go together.
  Attention(Parameters& parameters, const std::string& name, const AttentionConfig& config, int64_t query_depth,
            int64_t memory_depth);

  // `position` is that of the first state, when a memory grows step by step.
  Memory project_memory(const Var& states, const Tensor& lengths = {}, int64_t position = 0) const;
  // The same with the queries, for states that attend to themselves, and for queries that come all at once: what is
  // made of one thing is made by one product, where that is possible.
  ProjectedAttention project_self(const Var& states, const Tensor& lengths = {}, int64_t position = 0) const;
  ProjectedAttention project_cross(const Var& states, const Tensor& lengths, const Var& query) const;
  AttentionResult operator()(const Memory& memory, const AttentionQuery& query) const;

  int64_t context_depth() const { return context_depth_; }
  const AttentionConfig& config() const { return config_; }

 private:
  Var project_query(const Var& query, int64_t position, int64_t stride) const;
  Var turned(const Var& x, int64_t position, int64_t stride) const;  // with rotary positions
  Memory memory_of(const Var& keys, const Var& values, const Tensor& lengths, int64_t position) const;
  Var scores(const Memory& memory, const AttentionQuery& query, const Var& q) const;
  Mask mask_for(const Memory& memory, const AttentionQuery& query, const Var& q) const;
  Var select(const Var& scores, const Mask& mask, AttentionResult& result) const;

  AttentionConfig config_;
  int64_t context_depth_ = 0;
  std::unique_ptr<Linear> query_, keys_, values_, out_;  // with several heads
  std::unique_ptr<Linears> of_one_, of_memory_;          // all three of these, where they are of one size; the last two
  std::unique_ptr<Score> score_;
  std::unique_ptr<Linear> center_hidden_, center_;  // local-p: W and v
  const Parameter* distances_ = nullptr;            // shaw: [2w+1, d]
  const Parameter* coverage_weight_ = nullptr;      // [1]
};

}  // namespace fovea
