#include "models/heads.h"

#include "models/pointer_head.h"
#include "models/row_selection.h"

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
  Var operator()(const Var& features, const OutputRows* rows) const {
    const bool narrow = product_precision() == Precision::kBF16 && Tape::current() != nullptr;
    const Var x = cast(features, narrow ? DType::kBF16 : weight_->value().dtype());
    return rows != nullptr && rows->weight ? linear(x, rows->weight, rows->bias) : linear(x, *weight_, *bias_);
  }
  OutputRows select_rows(std::span<const int32_t> tokens) const {
    if (tokens.empty()) return {};
    return {Var(copy_rows(weight_->value(), tokens)), Var(copy_rows(bias_->value(), tokens))};
  }

 private:
  const Parameter *weight_, *bias_;  // [V,F], [V]
};

// softmax(W x + b)
class LinearHead final : public OutputHead {
 public:
  LinearHead(Parameters& parameters, const ModelConfig& config, const Embedding& embedding, const HeadSizes& sizes)
      : out_(parameters, config, embedding, sizes) {}
  Var operator()(const HeadInput& input, AttentionTrace*) const override { return out_(input.features[0], input.rows); }
  OutputRows select_rows(std::span<const int32_t> tokens) const override { return out_.select_rows(tokens); }

 private:
  VocabularyLayer out_;
};

// softmax(W tanh(U x))
class DeepHead final : public OutputHead {
 public:
  DeepHead(Parameters& parameters, const ModelConfig& config, const Embedding& embedding, const HeadSizes& sizes)
      : hidden_(parameters, "decoder.deep", sizes.features, output_depth(config)),
        out_(parameters, config, embedding, {output_depth(config), sizes.vocabulary, sizes.memory}),
        dropout_(static_cast<float>(config.dropout)) {}
  Var operator()(const HeadInput& input, AttentionTrace*) const override {
    return out_(dropout(tanh(hidden_(concat(input.features, input.features[0].rank() - 1))), dropout_), input.rows);
  }
  OutputRows select_rows(std::span<const int32_t> tokens) const override { return out_.select_rows(tokens); }

 private:
  Linear hidden_;
  VocabularyLayer out_;
  float dropout_;
};

template <class Head>
std::unique_ptr<OutputHead> make(Parameters& parameters, const ModelConfig& config, const Embedding& embedding,
                                 const HeadSizes& sizes) {
  std::unique_ptr<OutputHead> head;
  if (config.copy != "pointer") head = std::make_unique<Head>(parameters, config, embedding, sizes);
  if (!config.copies()) return head;
  return std::make_unique<PointerHead>(parameters, config, std::move(head), sizes);
}

}  // namespace

Var OutputHead::losses(const HeadInput&, const KnownTargets&, AttentionTrace*) const {
  fail("losses: expected a head that copies");
}

OutputRows OutputHead::select_rows(std::span<const int32_t> tokens) const {
  check(tokens.empty(), "shortlist: expected a model that does not copy words of its source");
  return {};
}

CopySource OutputHead::prepare(const Encoded&) const { return {}; }

void predict(const OutputHead& head, const HeadInput& input, const KnownTargets* targets, Capture capture,
             TeacherForced& result) {
  AttentionTrace copy{AttentionKind::kCopy, 0, {}, {}, {}};
  AttentionTrace* trace = capture.weights && head.copies() ? &copy : nullptr;
  if (targets != nullptr && head.copies()) {
    result.losses = head.losses(input, *targets, trace);
  } else {
    result.logits = head(input, trace);
  }
  if (trace != nullptr) result.attentions.push_back(copy);
}

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
