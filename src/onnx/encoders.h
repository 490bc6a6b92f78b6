// Encoders as nodes: from a batch of inputs to states that a decoder or a classifier attends over.
#pragma once

#include <vector>

#include "models/config.h"
#include "models/vision_config.h"
#include "onnx/ops.h"

namespace fovea::onnx {

struct State {
  Value state, cell_state;  // [B,H]; the cell state is for LSTM only
};

struct Encoded {
  Value states;                // [B,S,D]
  int64_t depth = 0;           // D
  Value mask;                  // bool [B,S]; absent: all states count
  std::vector<State> initial;  // the final states of a recurrent encoder, one for each of its layers
  Value attentions;            // of a Transformer's encoder, [B,L,H,S,S]
};

// A batch of token ids, int64 [B,S] and their numbers int64 [B].
struct Tokens {
  Value ids, lengths;
};

bool encoder_is_recurrent(const ModelConfig& config);
Encoded encode_text(const ModelConfig& config, const Tokens& source);
Encoded encode_recurrent(const ModelConfig& config, const Tokens& source);
Encoded encode_transformer(const ModelConfig& config, const Tokens& source);
// The feature map of a picture.
struct ImageMap {
  int64_t rows, columns, channels;
};
// Pictures uint8 [B,size,size,3].
Encoded encode_images(const VisionConfig& config, const ImageMap& map, const Value& images);

// The mean of the states that count, [B,D].
Value mean_state(const Encoded& encoded);

// What Transformers' encoders and decoders share (models/transformer_layers.h).
// Token ids [B,T], the first of them at `position` -> [B,T,D].
Value embed(const std::string& name, const ModelConfig& config, const Value& ids, const Value& position = {});
Value feed_forward(const std::string& name, const ModelConfig& config, const Value& x);
// A sublayer with its residual connection and layer norm: x + f(norm(x)) with norm = pre, norm(x + f(x)) with post.
template <class Function>
Value sublayer(const std::string& name, const ModelConfig& config, const Value& x, Function&& f) {
  const std::string norm = name + ".norm";
  return config.norm == "pre" ? x + f(layer_norm(norm, x)) : layer_norm(norm, x + f(x));
}
// After the last layer; with norm = post the sum is normed already.
inline Value final_norm(const std::string& name, const ModelConfig& config, const Value& x) {
  return config.norm == "pre" ? layer_norm(name, x) : x;
}

}  // namespace fovea::onnx
