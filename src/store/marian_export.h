// Writes a model as Hugging Face's transformers loads it: MarianMTModel and MarianTokenizer.
#pragma once

#include <string>

#include "store/model_folder.h"

namespace fovea {

// Creates the folder. Error that names the setting of a model which MarianMTModel does not have.
void export_marian(const LoadedModel& model, const std::string& folder);

}  // namespace fovea
