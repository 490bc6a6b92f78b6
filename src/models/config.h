// The settings of a model in a recipe and in a model folder's config.json.
#pragma once

#include <cstdint>
#include <string>

#include "attention/config.h"

namespace fovea {

struct ModelConfig {
  std::string architecture = "bahdanau";
  std::string encoder;  // empty: the one of the architecture's paper
  int64_t embedding = 256;
  int64_t hidden = 512;
  int64_t encoder_layers = 1;
  int64_t decoder_layers = 1;
  std::string cell = "gru";
  bool bidirectional = true;
  bool input_feeding = true;
  bool context_gate = false;
  bool residual = false;
  int64_t feed_forward = 1024;
  std::string norm = "pre";
  std::string activation = "relu";
  std::string positions = "sinusoidal";
  int64_t longest = 256;
  bool tie_embeddings = false;
  std::string copy = "none";
  std::string copy_attention = "cross";
  double dropout = 0.1;
  AttentionConfig attention;
  AttentionConfig self_attention;

  // Whether a model with these settings attends to its source, and whether one of its attentions is trained by
  // REINFORCE.
  bool has_cross_attention() const;
  bool uses_reinforce() const;
  bool copies() const { return copy != "none"; }

  ModelConfig();
  void describe(Fields& fields);
};

}  // namespace fovea
