// Models of every architecture that are small enough for a test.
#pragma once

#include <string>

#include "models/config.h"

namespace fovea {

struct Setup {
  std::string name;
  ModelConfig config;
};

inline ModelConfig small_config(const std::string& architecture) {
  ModelConfig c;
  c.architecture = architecture;
  c.embedding = 8;
  c.hidden = 8;
  c.bidirectional = false;  // so that dot products find one depth
  c.feed_forward = 12;
  c.longest = 32;
  c.dropout = 0.0;
  c.self_attention.heads = 2;
  c.attention.window = 2;
  c.attention.longest = 32;
  return c;
}

}  // namespace fovea
