// Output heads: from the features of a decoder or encoder to what a task predicts.
#pragma once

#include "models/config.h"
#include "nn/layers.h"

namespace fovea {

// A linear layer over a vocabulary: with weights of its own, or with those of the target embedding (Press & Wolf 2017).
// [...,depth] -> logits [...,V]
class VocabularyHead {
 public:
  VocabularyHead(Parameters& parameters, const ModelConfig& config, const Embedding& embedding, int64_t depth,
                 int64_t vocabulary_size);
  // Logits are by far the largest tensor of a training step. They are bf16 while a model trains with bf16 products, and
  // of the weights' dtype in decoding and validation.
  Var operator()(const Var& features) const;

 private:
  const Parameter *weight_, *bias_;  // [V,D], [V]
};

// W tanh(U [features; y]), y the embedding of the previous token: the deep output of Bahdanau et al. 2015, appendix
// A.2.2.
class DeepVocabularyHead {
 public:
  DeepVocabularyHead(Parameters& parameters, const ModelConfig& config, const Embedding& embedding,
                     int64_t feature_depth, int64_t vocabulary_size);
  Var operator()(std::initializer_list<Var> features) const;  // [...,F] each, y last -> [...,V]

 private:
  Linear hidden_;
  VocabularyHead out_;
  float dropout_;
};

// The size of the features that a vocabulary head of a recurrent decoder reads: the embedding's, if the two share their
// weights.
int64_t output_depth(const ModelConfig& config);

}  // namespace fovea
