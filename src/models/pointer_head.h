// The head that copies source tokens.
#pragma once

#include <memory>
#include <optional>

#include "models/heads.h"

namespace fovea {

// With a vocabulary, the pointer-generator of See et al. 2017, section 2.2: with probability g = sigmoid(w . x) a token
// of the vocabulary is generated, otherwise a source token is copied by its attention weight a_s:
//   p(y) = g p_vocabulary(y) + (1 - g) sum_{s: source_s = y} a_s
// Without one, every token is copied (g = 0), as by the pointer network of Vinyals et al. 2015. The weights are the
// mean over the heads of the decoder's attention, or those of an attention of the head's own: softmax(W x . U h_s /
// sqrt(D)).
//
// The losses of known targets need p(y) of one token each, so no distribution over the vocabulary is computed. Label
// smoothing applies to p_vocabulary alone, weighted by how likely the target was generated: copying is not smoothed.
class PointerHead final : public OutputHead {
 public:
  // `vocabulary` is null for a pointer without generated tokens.
  PointerHead(Parameters& parameters, const ModelConfig& config, std::unique_ptr<OutputHead> vocabulary,
              const HeadSizes& sizes);
  Var operator()(const HeadInput& input, AttentionTrace* copy) const override;
  Var losses(const HeadInput& input, const KnownTargets& targets, AttentionTrace* copy) const override;
  bool copies() const override { return true; }
  bool needs_weights() const override { return !query_; }
  CopySource prepare(const Encoded& encoded) const override;
  std::vector<AttentionInfo> attentions() const override;

 private:
  struct Copied {
    Var weights;  // [B,H,T,S]
    Var gate;     // [T,B]: the logit of g, in the accumulator's dtype; absent without a vocabulary
  };
  Copied copy_weights(const HeadInput& input, AttentionTrace* trace) const;

  std::unique_ptr<OutputHead> vocabulary_;
  std::optional<Linear> generate_;
  std::optional<Linear> query_, keys_;  // of its own attention
  int64_t size_, depth_;
  AttentionConfig attention_;
};

}  // namespace fovea
