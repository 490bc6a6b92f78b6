// A classifier of texts or pictures: an encoder, a pooling over its states, and a class head.
#pragma once

#include <memory>
#include <optional>

#include "models/model.h"
#include "models/pooling.h"

namespace fovea {

// From the features of a text or picture to logits of classes, through a hidden layer if one is asked for:
// logits = V dropout(relu(W dropout(x))), or V dropout(x).
class ClassHead {
 public:
  ClassHead(Parameters& parameters, const std::string& name, const ClassifierConfig& config, int64_t features,
            int64_t classes);
  Var operator()(const Var& features) const;  // [B,F] -> [B,C]

 private:
  float dropout_;
  std::optional<Linear> hidden_;
  Linear out_;
};

struct Classified {
  Var logits;                              // [B,C]
  Var weights;                             // of the pooling, [B,1,R,S]; absent for a pooling without attention
  Var states;                              // of the encoder, [S,B,D], if attention was captured
  std::vector<AttentionTrace> attentions;  // of the encoder, then of the pooling, if they were captured
};

class EncoderClassifier final : public Model {
 public:
  EncoderClassifier(Parameters& parameters, std::unique_ptr<Encoder> encoder, const ClassifierConfig& config,
                    int64_t classes);
  // With the encoder of texts that `model` names.
  EncoderClassifier(Parameters& parameters, const ModelConfig& model, const ClassifierConfig& config,
                    int64_t vocabulary_size, int64_t classes);

  Classified operator()(const Source& source, Capture capture = {}) const;

  std::vector<AttentionInfo> attentions() const override { return encoder_->attentions(); }
  int64_t max_source() const override { return encoder_->max_length(); }
  const Encoder& encoder() const { return *encoder_; }

 private:
  std::unique_ptr<Encoder> encoder_;
  Pooling pooling_;
  ClassHead head_;
};

}  // namespace fovea
