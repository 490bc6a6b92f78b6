// A captioner as a folder: config.json, model.safetensors, the vocabulary of its captions (target.spm or target.vocab)
// and, if its convolutional network is frozen, vision.safetensors.
#pragma once

#include <memory>
#include <string>

#include "models/image_encoder.h"
#include "store/model_folder.h"

namespace fovea {

// A model in memory. Its LoadedModel has no source vocabulary.
struct LoadedCaptioner {
  LoadedModel loaded;
  const ImageEncoder* encoder = nullptr;              // of loaded.model
  std::shared_ptr<const FeatureExtractor> extractor;  // of a frozen network; otherwise null

  Shape map_shape() const { return encoder->map_shape(); }  // [rows,columns,C]
};

// The model of these settings, with its parameters declared in `parameters`.
LoadedCaptioner make_captioner(Parameters& parameters, const FolderConfig& config);

LoadedCaptioner load_captioner(const std::string& folder, Device device);
// Saves everything but the trained weights.
void save_captioner_description(const std::string& folder, const LoadedCaptioner& captioner, bool packed = false);
void save_packed(const std::string& folder, const LoadedCaptioner& captioner);

}  // namespace fovea
