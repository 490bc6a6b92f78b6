// Output heads: from the features of a decoder to logits over the target vocabulary. A decoder knows its head only by
// this interface.
#pragma once

#include <memory>
#include <span>

#include "models/config.h"
#include "nn/layers.h"

namespace fovea {

// T steps of B sentences, or one step of K beams of B sentences (then K takes the place of T).
struct HeadInput {
  std::span<const Var> features;  // [...,F] each; of a recurrent decoder the embedded previous token comes last
  Var weights;                    // cross-attention weights [B,H,T,S], if the head needs them
  Tensor source_ids;              // i32 [1,B,S], likewise
};

class OutputHead {
 public:
  virtual ~OutputHead() = default;
  // Logits, or log-probabilities, [...,V].
  virtual Var operator()(const HeadInput& input) const = 0;
  virtual bool needs_weights() const { return false; }
};

struct HeadSizes {
  int64_t features;    // the sum of F
  int64_t vocabulary;  // V
};
// The head that the configuration asks for, for features of one tensor: a linear layer.
std::unique_ptr<OutputHead> make_head(Parameters& parameters, const ModelConfig& config, const Embedding& embedding,
                                      const HeadSizes& sizes);
// The same for several features, with a hidden layer: the deep output of Bahdanau et al. 2015, appendix A.2.2.
std::unique_ptr<OutputHead> make_deep_head(Parameters& parameters, const ModelConfig& config,
                                           const Embedding& embedding, const HeadSizes& sizes);

// The size of the features that a linear head of a recurrent decoder reads: the embedding's, if the two share their
// weights.
int64_t output_depth(const ModelConfig& config);

}  // namespace fovea
