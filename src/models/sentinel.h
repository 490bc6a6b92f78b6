// The visual sentinel (Lu et al. 2017, "Knowing when to look"): what the decoder knows without looking. It is attended
// to beside the encoder's states, so that a step which needs none of them may attend to no place.
//   g_t = sigmoid(W_x x_t + W_h h_{t-1}),  s_t = g_t * tanh(m_t)   (equations 9 and 10)
// x_t is the embedded token, h_{t-1} the previous state of the top layer and m_t its cell state when it attends. s_t is
// projected to the size of the encoder's states if that differs.
#pragma once

#include <optional>

#include "models/config.h"
#include "nn/layers.h"

namespace fovea {

class Sentinel {
 public:
  Sentinel(Parameters& parameters, const ModelConfig& config, int64_t depth);
  // The tokens' part of the gate, for one step or all: [...,E] -> [...,H].
  Var token_gates(const Var& embedded) const { return token_(embedded); }
  // [K*B,H] each -> [K*B,D]
  Var operator()(const Var& token_gates, const Var& state, const Var& cell_state) const;

 private:
  Linear token_, state_;
  std::optional<Linear> projection_;
};

}  // namespace fovea
