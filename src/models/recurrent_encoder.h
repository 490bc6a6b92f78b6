// The recurrent encoder: embedded tokens through a stack of recurrent layers, in one or both directions.
#pragma once

#include "models/encoder.h"
#include "nn/recurrent.h"

namespace fovea {

Cell cell_named(std::string_view name);

class RecurrentEncoder final : public Encoder {
 public:
  RecurrentEncoder(Parameters& parameters, const ModelConfig& config, int64_t vocabulary_size);
  Encoded operator()(const Source& source, Capture capture, std::span<const WeightEdit> edits) const override;
  int64_t depth() const override { return directions_ * config_.hidden; }
  int64_t initial_depth() const override { return config_.hidden; }
  const Parameter* embeddings() const override { return &embedding_.table(); }

 private:
  ModelConfig config_;
  int64_t directions_;
  Embedding embedding_;
  RecurrentStack layers_;
};

}  // namespace fovea
