// Attention as nodes: the same score x scope x selection x heads as attention/attention.h, with the batch first.
#pragma once

#include <string>

#include "attention/config.h"
#include "onnx/ops.h"

namespace fovea::onnx {

struct Memory {
  Value keys, values;  // [B,H,S,d], projected
};

struct AttentionQuery {
  Value query;     // [B,T,D]
  Value position;  // int64 [1], of the first query; absent: 0
  Value mask;      // bool [B,1,1,S]; absent: all keys count
  Value last;      // the last position that is not masked, float [B,1,1,1] or [1]; needed by local scopes
  Value coverage;  // [B,H,T,S], with coverage
  Value sentinel;  // [B,1,memory depth], with a sentinel
};

struct Attended {
  Value context;   // [B,T,D]
  Value weights;   // [B,H,T,S]
  Value coverage;  // with coverage: the input of the next step
  Value sentinel;  // with a sentinel: its weights, [B,H,1,1]
};

class Attention {
 public:
  Attention(Graph& graph, std::string name, const AttentionConfig& config, int64_t query_depth, int64_t memory_depth);

  // states [B,S,D], the first of them at `position`.
  Memory project_memory(const Value& states, const Value& position = {}) const;
  Attended operator()(const Memory& memory, const AttentionQuery& query) const;

  int64_t heads() const { return config_.heads; }
  int64_t key_depth() const;    // of a head
  int64_t value_depth() const;  // of a head
  // Whether an attention depends on the position of its queries.
  static bool uses_position(const AttentionConfig& config);

 private:
  bool projects() const { return config_.heads > 1; }
  Value split_heads(const Value& x) const;  // [B,T,D] -> [B,H,T,d]
  Value merge_heads(const Value& x) const;  // the inverse
  Value rotate(const Value& x, const Value& position) const;
  Value project_keys(const Value& states, const Value& position) const;
  Value score(const Value& projected, const Value& q, const Value& keys) const;
  Value add_bias(const Value& scores, const Value& q, const Memory& memory, const AttentionQuery& query) const;
  Value select(const Value& scores) const;
  Value apply_window(const Value& weights, const Value& q, const AttentionQuery& query) const;

  Graph* graph_;
  std::string name_;
  AttentionConfig config_;
  int64_t query_depth_, key_depth_, value_depth_, depth_;  // of all heads: of queries, keys, values, comparison
};

}  // namespace fovea::onnx
