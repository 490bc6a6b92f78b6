// Output heads: from the features of a decoder to logits over the target vocabulary. A decoder knows its head only by
// this interface.
#pragma once

#include <memory>
#include <span>

#include "models/decoder.h"
#include "nn/layers.h"

namespace fovea {

// The source as a head that copies reads it.
struct CopySource {
  Var keys;              // of the head's own attention, [S,B,D]; absent if it copies by the decoder's weights
  Tensor lengths;        // i32 [B]
  Tensor ids;            // i32 [B,S]: the source tokens as target ids
  int64_t extended = 0;  // the number of extended ids
};
CopySource select_sentences(const CopySource& source, const Tensor& sentences);

// The part of an output layer for some target tokens: rows of its weight and its bias. Absent: the whole layer.
struct OutputRows {
  Var weight, bias;  // [L,F], [L]
};

// T steps of B sentences, or one step of K beams of B sentences (then K takes the place of T).
struct HeadInput {
  std::span<const Var> features;       // [...,F] each; of a recurrent decoder the embedded previous token comes last
  Var weights;                         // cross-attention weights [B,H,T,S], if the head needs them
  const CopySource* source = nullptr;  // for a head that copies
  const OutputRows* rows = nullptr;    // for a head that does not: the tokens whose logits are computed
};

class OutputHead {
 public:
  virtual ~OutputHead() = default;
  // Logits, or log-probabilities, [...,V] with the extended ids. A head that copies fills in the trace, if it is given:
  // the weights that it copies by and, as the centre, the probability of copying.
  virtual Var operator()(const HeadInput& input, AttentionTrace* copy = nullptr) const = 0;
  // Copies the rows for these target tokens, once for many steps; absent for no tokens. Error for a head that copies.
  virtual OutputRows select_rows(std::span<const int32_t> tokens) const;
  // The losses [T,B] of known targets, by a head that copies.
  virtual Var losses(const HeadInput& input, const KnownTargets& targets, AttentionTrace* copy) const;
  virtual bool copies() const { return false; }
  virtual bool needs_weights() const { return false; }  // of the decoder's attention
  virtual CopySource prepare(const Encoded& encoded) const;
  // The attention that a head copies by; none for a head that does not.
  virtual std::vector<AttentionInfo> attentions() const { return {}; }
};

// The predictions of a teacher-forced target: losses, if the head copies and the targets are known, or logits.
void predict(const OutputHead& head, const HeadInput& input, const KnownTargets* targets, Capture capture,
             TeacherForced& result);

struct HeadSizes {
  int64_t features;    // the sum of F
  int64_t vocabulary;  // V
  int64_t memory;      // the depth of the encoder's states
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
