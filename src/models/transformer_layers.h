// The parts that the encoder and decoder of a Transformer share (Vaswani et al. 2017): embeddings with positions,
// feed-forward layers, and residual connections with layer norm.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "models/attention_trace.h"
#include "models/config.h"

namespace fovea {

// The table of PE(pos, 2i) = sin(pos / 10000^{2i/d}), PE(pos, 2i+1) = cos(...) (section 3.5). Tables are computed once
// and live as long as this object, because captured CUDA graphs read them at their address.
class SinusoidalPositions {
 public:
  // Rows first .. first + count - 1, [count,depth].
  Tensor operator()(int64_t first, int64_t count, int64_t depth, Device device, DType dtype) const;

 private:
  static constexpr int64_t kFirstRows = 64;
  mutable std::mutex mutex_;
  mutable std::map<DType, std::vector<Tensor>> tables_;
};

// Token embeddings, scaled by sqrt(d), plus positions.
class PositionedEmbedding {
 public:
  PositionedEmbedding(Parameters& parameters, const std::string& name, const ModelConfig& config,
                      int64_t vocabulary_size);
  // ids [T,B], the first of them at `position` -> [T,B,D]. `features` [T,B,D], if given, are added.
  Var operator()(const Tensor& ids, int64_t position, const Var& features = {}) const;
  const Embedding& table() const { return tokens_; }
  int64_t max_length() const { return learned_ != nullptr ? config_.longest : 0; }

 private:
  ModelConfig config_;
  Embedding tokens_;
  const Parameter* learned_ = nullptr;  // [longest,D]
  SinusoidalPositions sinusoids_;
};

class FeedForward {
 public:
  FeedForward(Parameters& parameters, const std::string& name, const ModelConfig& config);
  Var operator()(const Var& x) const;

 private:
  Linear in_, out_;
  Var (*activation_)(const Var&);  // null: relu, which is one kernel with the dropout
  float dropout_;
};

// The value between two sublayers: x + dropout(residual). The addition is left to the next layer norm, which performs
// it in the same kernel.
struct ResidualSum {
  Var x, residual;  // residual may be absent
};

// A sublayer (attention or feed-forward) with its residual connection and layer norm: x + f(norm(x)) with norm = pre,
// norm(x + f(x)) with norm = post, as in the paper.
class SubLayer {
 public:
  SubLayer(Parameters& parameters, const std::string& name, const ModelConfig& config);
  template <class Function> ResidualSum operator()(const ResidualSum& input, Function&& f) const {
    if (!pre_) return {norm_(input.x, f(input.x), dropout_).normed, {}};
    const auto [sum, normed] = add_and_norm(norm_, input, dropout_);
    return {sum, f(normed)};
  }
  static Residual add_and_norm(const LayerNorm& norm, const ResidualSum& input, float dropout) {
    return input.residual ? norm(input.x, input.residual, dropout) : Residual{input.x, norm(input.x)};
  }

 private:
  LayerNorm norm_;
  bool pre_;
  float dropout_;
};

// The layer norm after the last layer of a stack with norm = pre. With norm = post the sum is normed already.
class FinalNorm {
 public:
  FinalNorm(Parameters& parameters, const std::string& name, const ModelConfig& config);
  Var operator()(const ResidualSum& input) const {
    return pre_ ? SubLayer::add_and_norm(norm_, input, dropout_).normed : input.x;
  }

 private:
  LayerNorm norm_;
  bool pre_;
  float dropout_;
};

}  // namespace fovea
