#include "models/recurrent_encoder.h"

namespace fovea {

Cell cell_named(std::string_view name) {
  return name == "tanh" ? Cell::kTanh : name == "lstm" ? Cell::kLstm : Cell::kGru;
}

RecurrentEncoder::RecurrentEncoder(Parameters& parameters, const ModelConfig& config, int64_t vocabulary_size)
    : config_(config),
      directions_(config.bidirectional ? 2 : 1),
      embedding_(parameters, "encoder.words", vocabulary_size, config.embedding),
      layers_(parameters, "encoder.layers", config.embedding, config.hidden,
              {.cell = cell_named(config.cell),
               .layers = config.encoder_layers,
               .bidirectional = config.bidirectional,
               .dropout = static_cast<float>(config.dropout),
               .residual = config.residual}) {}

Encoded RecurrentEncoder::operator()(const Source& source, Capture, std::span<const WeightEdit>) const {
  const auto rate = static_cast<float>(config_.dropout);
  std::vector<State> final;
  Encoded encoded{.lengths = source.lengths, .source_ids = source.ids};
  Var embedded = embedding_(source.ids);
  if (source.features) embedded = embedded + source.features;
  encoded.states = dropout(layers_(dropout(embedded, rate, true), source.lengths, &final), rate, true);
  // Of two directions the backward one, which has read the beginning of the sentence last (Bahdanau et al. 2015,
  // appendix A.2.2).
  const auto directions = static_cast<size_t>(directions_);
  for (size_t last = directions - 1; last < final.size(); last += directions) encoded.initial.push_back(final[last]);
  return encoded;
}

}  // namespace fovea
