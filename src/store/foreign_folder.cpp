#include "store/foreign_folder.h"

#include <cmath>

#include "base/error.h"

namespace fovea {

namespace {

const ForeignFormat kFormats[] = {
    {"huggingface", "MarianMTModel, as OPUS-MT publishes it", is_marian, read_marian},
    {"ctranslate2", "a Transformer with an encoder and a decoder", is_ctranslate2, read_ctranslate2},
};

}  // namespace

std::span<const ForeignFormat> foreign_formats() { return kFormats; }

const ForeignFormat* foreign_format(const std::string& folder) {
  for (const ForeignFormat& format : kFormats) {
    if (format.recognises(folder)) return &format;
  }
  return nullptr;
}

LoadedModel load_foreign(const ForeignFormat& format, const std::string& folder, Device device) {
  ForeignModel foreign = format.read(folder);
  const auto parameters = std::make_shared<Parameters>(device);
  LoadedModel loaded{foreign.config, foreign.source, foreign.target, parameters, nullptr};
  loaded.model = make_model(*parameters, foreign.config.model,
                            {.source = foreign.config.source_words, .target = foreign.config.target_words});
  check_weights(*foreign.tensors, foreign.places, foreign.source_order, foreign.target_order, foreign.ignored,
                *parameters);
  parameters->allocate_unset();
  read_weights(*foreign.tensors, foreign.places, foreign.source_order, foreign.target_order, *parameters);
  return loaded;
}

void read_positions(const ForeignTensors& file, const std::vector<std::string>& names, ModelConfig& config,
                    std::vector<WeightPlace>& places) {
  constexpr float kRounding = 2e-3f;  // of f16, and of angles in f32
  int64_t longest = 0;
  bool sinusoidal = true;
  for (const std::string& name : names) {
    const std::vector<int64_t>* shape = file.shape(name);
    if (shape == nullptr) continue;
    check(shape->size() == 2 && (*shape)[1] == config.embedding && (*shape)[0] > 0,
          "{}: {}: expected a table of positions with {} columns", file.path(), name, config.embedding);
    check(longest == 0 || longest == (*shape)[0], "{}: {}: expected {} positions as in the encoder, got {}",
          file.path(), name, longest, (*shape)[0]);
    longest = (*shape)[0];
    const std::vector<float> table = file.read(name), expected = their_sinusoids(longest, config.embedding);
    for (size_t i = 0; i < table.size(); ++i) sinusoidal = sinusoidal && std::abs(table[i] - expected[i]) < kRounding;
  }
  if (sinusoidal) return;
  config.positions = "learned";
  config.longest = longest;
  const char* ours[] = {"encoder.positions", "decoder.positions"};
  for (size_t i = 0; i < names.size(); ++i) {
    places.push_back({.ours = ours[i], .theirs = names[i], .columns = Axis::kFeatures});
  }
}

}  // namespace fovea
