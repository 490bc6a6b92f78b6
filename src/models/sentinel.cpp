#include "models/sentinel.h"

#include "base/error.h"
#include "models/recurrent_encoder.h"

namespace fovea {

Sentinel::Sentinel(Parameters& parameters, const ModelConfig& config, int64_t depth)
    : token_(parameters, "attention.sentinel.token", config.embedding, config.hidden),
      state_(parameters, "attention.sentinel.state", config.hidden, config.hidden, {.bias = false}) {
  const std::string& section = config.attention.section;
  check(cell_named(config.cell) == Cell::kLstm,
        "{}.sentinel: a sentinel is a part of the cell state: expected model.cell = lstm, got {}", section,
        config.cell);
  check(!config.copies() || config.copy_attention == "own",
        "{}.sentinel: tokens cannot be copied by the weight of a sentinel: expected model.copy = none or "
        "model.copy_attention = own, got {} and {}",
        section, config.copy, config.copy_attention);
  if (config.hidden != depth) projection_.emplace(parameters, "attention.sentinel.projection", config.hidden, depth);
}

Var Sentinel::operator()(const Var& token_gates, const Var& state, const Var& cell_state) const {
  const Var sentinel = sigmoid(token_gates + state_(state)) * tanh(cell_state);
  return projection_ ? (*projection_)(sentinel) : sentinel;
}

}  // namespace fovea
