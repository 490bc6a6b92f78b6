#include "models/heads.h"

namespace fovea {

namespace {

// A linear layer over the vocabulary, with weights of its own or with those of the target embedding (Press & Wolf
// 2017). Logits are by far the largest tensor of a training step: they are bf16 while a model trains with bf16
// products, and of the weights' dtype in decoding and validation.
class VocabularyLayer {
 public:
  VocabularyLayer(Parameters& parameters, const ModelConfig& config, const Embedding& embedding, const HeadSizes& sizes)
      : weight_(config.tie_embeddings
                    ? &embedding.table()
                    : &parameters.add("decoder.out.weight", {sizes.vocabulary, sizes.features}, Initialiser::glorot())),
        bias_(&parameters.add("decoder.out.bias", {sizes.vocabulary}, Initialiser::constant(0.0))) {}
  Var operator()(const Var& features) const {
    const bool narrow = product_precision() == Precision::kBF16 && Tape::current() != nullptr;
    return linear(cast(features, narrow ? DType::kBF16 : weight_->value().dtype()), *weight_, *bias_);
  }

 private:
  const Parameter *weight_, *bias_;  // [V,F], [V]
};

// softmax(W x + b)
class LinearHead final : public OutputHead {
 public:
  LinearHead(Parameters& parameters, const ModelConfig& config, const Embedding& embedding, const HeadSizes& sizes)
      : out_(parameters, config, embedding, sizes) {}
  Var operator()(const HeadInput& input) const override { return out_(input.features[0]); }

 private:
  VocabularyLayer out_;
};

// softmax(W tanh(U x))
class DeepHead final : public OutputHead {
 public:
  DeepHead(Parameters& parameters, const ModelConfig& config, const Embedding& embedding, const HeadSizes& sizes)
      : hidden_(parameters, "decoder.deep", sizes.features, output_depth(config)),
        out_(parameters, config, embedding, {output_depth(config), sizes.vocabulary}),
        dropout_(static_cast<float>(config.dropout)) {}
  Var operator()(const HeadInput& input) const override {
    return out_(dropout(tanh(hidden_(concat(input.features, input.features[0].rank() - 1))), dropout_));
  }

 private:
  Linear hidden_;
  VocabularyLayer out_;
  float dropout_;
};

// The pointer-generator of See et al. 2017, section 2.2: with probability g = sigmoid(w . x) a token of the vocabulary
// is generated, otherwise a source token is copied by its attention weight, the mean over the heads:
//   p(y) = g p_vocabulary(y) + (1 - g) sum_{s: source_s = y} a_s
class PointerHead final : public OutputHead {
 public:
  PointerHead(Parameters& parameters, std::unique_ptr<OutputHead> vocabulary, const HeadSizes& sizes)
      : vocabulary_(std::move(vocabulary)), generate_(parameters, "decoder.generate", sizes.features, 1) {}
  bool needs_weights() const override { return true; }
  Var operator()(const HeadInput& input) const override {
    const int64_t steps = input.weights.dim(2), batch = input.weights.dim(0);
    const DType dtype = accumulator_of(input.weights.dtype());
    const Var logits = cast((*vocabulary_)(input), dtype);
    const int64_t size = logits.dim(-1);
    const Var generated = softmax(logits).reshape({steps, batch, size});
    const Var generate = cast(sigmoid(generate_(concat(input.features, input.features[0].rank() - 1))), dtype)
                             .reshape({steps, batch, 1});
    const Var weights = permute(cast(mean(input.weights, 1), dtype), {1, 0, 2});  // [T,B,S]
    const Var copied = weights * affine(generate, -1.0f, 1.0f);
    const Var mixture = scatter_add(generated * generate, 2, input.source_ids, copied);
    return log(affine(mixture, 1.0f, kSmallest)).reshape(logits.shape());
  }

 private:
  static constexpr float kSmallest = 1e-20f;  // keeps the logarithm finite
  std::unique_ptr<OutputHead> vocabulary_;
  Linear generate_;
};

template <class Head>
std::unique_ptr<OutputHead> make(Parameters& parameters, const ModelConfig& config, const Embedding& embedding,
                                 const HeadSizes& sizes) {
  auto head = std::make_unique<Head>(parameters, config, embedding, sizes);
  if (!config.copy) return head;
  return std::make_unique<PointerHead>(parameters, std::move(head), sizes);
}

}  // namespace

std::unique_ptr<OutputHead> make_head(Parameters& parameters, const ModelConfig& config, const Embedding& embedding,
                                      const HeadSizes& sizes) {
  return make<LinearHead>(parameters, config, embedding, sizes);
}

std::unique_ptr<OutputHead> make_deep_head(Parameters& parameters, const ModelConfig& config,
                                           const Embedding& embedding, const HeadSizes& sizes) {
  return make<DeepHead>(parameters, config, embedding, sizes);
}

int64_t output_depth(const ModelConfig& config) { return config.tie_embeddings ? config.embedding : config.hidden; }

}  // namespace fovea
