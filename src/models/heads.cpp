#include "models/heads.h"

namespace fovea {

VocabularyHead::VocabularyHead(Parameters& parameters, const ModelConfig& config, const Embedding& embedding,
                               int64_t depth, int64_t vocabulary_size)
    : weight_(config.tie_embeddings
                  ? &embedding.table()
                  : &parameters.add("decoder.out.weight", {vocabulary_size, depth}, Initialiser::glorot())),
      bias_(&parameters.add("decoder.out.bias", {vocabulary_size}, Initialiser::constant(0.0))) {}

Var VocabularyHead::operator()(const Var& features) const {
  const bool narrow = product_precision() == Precision::kBF16 && Tape::current() != nullptr;
  return linear(cast(features, narrow ? DType::kBF16 : weight_->value().dtype()), *weight_, *bias_);
}

DeepVocabularyHead::DeepVocabularyHead(Parameters& parameters, const ModelConfig& config, const Embedding& embedding,
                                       int64_t feature_depth, int64_t vocabulary_size)
    : hidden_(parameters, "decoder.deep", feature_depth + config.embedding, output_depth(config)),
      out_(parameters, config, embedding, output_depth(config), vocabulary_size),
      dropout_(static_cast<float>(config.dropout)) {}

Var DeepVocabularyHead::operator()(std::initializer_list<Var> features) const {
  return out_(fovea::dropout(tanh(hidden_(concat(features, features.begin()->rank() - 1))), dropout_));
}

int64_t output_depth(const ModelConfig& config) { return config.tie_embeddings ? config.embedding : config.hidden; }

}  // namespace fovea
