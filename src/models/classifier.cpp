#include "models/classifier.h"

#include "base/fields.h"
#include "models/architectures.h"

namespace fovea {

void ClassifierConfig::describe(Fields& f) {
  PoolingConfig::describe(f);
  f.add("head_hidden", head_hidden, "Size of a hidden layer before the classes; 0 for none.")
      .at_least(0)
      .also_called({"mlp", "classifier_hidden"});
  f.add("head_dropout", head_dropout, "Dropout rate of the pooled features, and of the hidden layer.")
      .at_least(0)
      .below(1)
      .also_called({"classifier_dropout", "feature_dropout"});
}

ClassHead::ClassHead(Parameters& parameters, const std::string& name, const ClassifierConfig& config, int64_t features,
                     int64_t classes)
    : dropout_(static_cast<float>(config.head_dropout)),
      hidden_(config.head_hidden > 0
                  ? std::optional<Linear>(std::in_place, parameters, name + ".hidden", features, config.head_hidden)
                  : std::nullopt),
      out_(parameters, name + ".out", config.head_hidden > 0 ? config.head_hidden : features, classes) {}

Var ClassHead::operator()(const Var& features) const {
  const Var x = dropout(features, dropout_);
  return out_(hidden_ ? relu_dropout((*hidden_)(x), dropout_) : x);
}

EncoderClassifier::EncoderClassifier(Parameters& parameters, std::unique_ptr<Encoder> encoder,
                                     const ClassifierConfig& config, int64_t classes)
    : encoder_(std::move(encoder)),
      pooling_(parameters, "pooling", config, encoder_->depth()),
      head_(parameters, "classes", config, pooling_.depth(), classes) {}

EncoderClassifier::EncoderClassifier(Parameters& parameters, const ModelConfig& model, const ClassifierConfig& config,
                                     int64_t vocabulary_size, int64_t classes)
    : EncoderClassifier(parameters, encoder_of(model).make(parameters, model, vocabulary_size), config, classes) {}

Classified EncoderClassifier::operator()(const Source& source, Capture capture) const {
  Encoded encoded = (*encoder_)(source, capture);
  const Pooled pooled = pooling_(encoded.states, source.lengths);
  Classified result{
      .logits = head_(pooled.features), .weights = pooled.weights, .attentions = std::move(encoded.attentions)};
  if (!capture.weights) return result;
  result.states = encoded.states;
  if (pooled.weights) result.attentions.push_back({AttentionKind::kPooling, 0, pooled.weights, {}, {}});
  return result;
}

}  // namespace fovea
