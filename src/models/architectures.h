// The architectures' constructors, and the last layer they share.
#pragma once

#include <memory>

#include "models/model.h"

namespace fovea {

std::unique_ptr<Model> make_rnn_seq2seq(Parameters&, const ModelConfig&, const VocabularySizes&);
std::unique_ptr<Model> make_bahdanau(Parameters&, const ModelConfig&, const VocabularySizes&);
std::unique_ptr<Model> make_luong(Parameters&, const ModelConfig&, const VocabularySizes&);
std::unique_ptr<Model> make_transformer(Parameters&, const ModelConfig&, const VocabularySizes&);

// From features to words: a matrix of its own, or the embedding's (Press & Wolf 2017).
class OutputLayer {
 public:
  OutputLayer(Parameters& parameters, const ModelConfig& config, const Embedding& words, int64_t depth,
              int64_t target_words)
      : weight_(config.tie_embeddings
                    ? &words.table()
                    : &parameters.add("decoder.out.weight", {target_words, depth}, Initialiser::glorot())),
        bias_(&parameters.add("decoder.out.bias", {target_words}, Initialiser::constant(0.0))) {}
  // While a model trains with bf16 products its logits, by far the largest tensor there is, are bf16 too. What is
  // decoded or validated sees them as wide as the weights.
  Var operator()(const Var& features) const {
    const bool narrow = product_precision() == Precision::kBF16 && Tape::current() != nullptr;
    return linear(cast(features, narrow ? DType::kBF16 : weight_->value().dtype()), *weight_, *bias_);
  }

 private:
  const Parameter *weight_, *bias_;  // [V,D], [V]
};

}  // namespace fovea
