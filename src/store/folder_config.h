// The config.json of a model folder, without its weights.
#pragma once

#include <string>

#include "store/model_folder.h"

namespace fovea {

// Of a model that decodes: from text to text, or of the task caption.
FolderConfig read_folder_config(const std::string& folder);

// Stores how the model decodes best; everything else stays as it is.
void store_decoding_defaults(const std::string& folder, const DecodingDefaults& defaults);

}  // namespace fovea
