// Encoders as nodes: from a batch of inputs to states that a decoder or a classifier attends over.
#pragma once

#include <string>
#include <vector>

#include "models/config.h"
#include "models/vision_config.h"
#include "onnx/ops.h"

namespace fovea::onnx {

// The axes of inputs and outputs.
inline const std::string kBatch = "batch", kSource = "source", kPast = "past";

// A value that becomes an output.
struct Named {
  Port port;
  Value value;
};

struct State {
  Value state, cell_state;  // [B,H]; the cell state is for LSTM only
};

struct Encoded {
  Value states;                // [B,S,D]
  int64_t depth = 0;           // D
  Value mask;                  // bool [B,S]; absent: all states count
  std::vector<State> initial;  // the final states of a recurrent encoder, one for each of its layers
  Named attentions;            // of a Transformer's encoder or a non-local block, [B,L,H,S,S]; may be absent
};

// A batch of token ids, int64 [B,S] and their numbers int64 [B].
struct Tokens {
  Value ids, lengths;
};

bool encoder_is_recurrent(const ModelConfig& config);
Encoded encode_text(const ModelConfig& config, const Tokens& source);
Encoded encode_recurrent(const ModelConfig& config, const Tokens& source);
Encoded encode_transformer(const ModelConfig& config, const Tokens& source);
// Pictures uint8 [B,size,size,3]. `depth` is that of the states.
Encoded encode_images(const VisionConfig& config, int64_t depth, const Value& images);

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
