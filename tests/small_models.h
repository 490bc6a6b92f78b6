// Models of every architecture that are small enough for a test.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "models/model.h"

namespace fovea {

struct Setup {
  std::string name;
  ModelConfig config;
};
inline void PrintTo(const Setup& setup, std::ostream* out) { *out << setup.name; }

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

// The architectures that attend: a new one is tested as soon as it is listed.
inline std::vector<std::string> attending_models() {
  std::vector<std::string> names;
  for (const ArchitectureEntry& entry : architectures()) {
    if (entry.cross_attention) names.emplace_back(entry.name);
  }
  return names;
}

inline const ArchitectureEntry& architecture_named(const std::string& name) {
  return *find_entry(architectures(), name);
}

// Every architecture with every encoder, called "bahdanau_with_recurrent_encoder".
inline std::vector<Setup> encoder_setups() {
  std::vector<Setup> all;
  for (const ArchitectureEntry& architecture : architectures()) {
    for (const EncoderEntry& encoder : text_encoders()) {
      Setup& setup = all.emplace_back(Setup{fmt::format("{}_with_{}_encoder", architecture.name, encoder.name),
                                            small_config(std::string(architecture.name))});
      setup.config.encoder = encoder.name;
      std::replace(setup.name.begin(), setup.name.end(), '-', '_');
    }
  }
  return all;
}

}  // namespace fovea
