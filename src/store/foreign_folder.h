// Model folders of other programs: they load as a folder of ours does, for every command that runs models.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/foreign_weights.h"
#include "store/model_folder.h"

namespace fovea {

// What a folder of another program says, in our terms. The weights are in `tensors`, at `places`.
struct ForeignModel {
  FolderConfig config;
  std::shared_ptr<const Vocabulary> source, target;
  TokenOrder source_order, target_order;
  std::unique_ptr<ForeignTensors> tensors;
  std::vector<WeightPlace> places;
  std::vector<std::string> ignored;  // tensors that are not weights
};

struct ForeignFormat {
  std::string_view name, help;
  bool (*recognises)(const std::string& folder);
  // Error that names the file, and the setting that our Transformer does not have.
  ForeignModel (*read)(const std::string& folder);
};
std::span<const ForeignFormat> foreign_formats();

// The format of the folder; null for a folder of ours, and for what is no model folder.
const ForeignFormat* foreign_format(const std::string& folder);

LoadedModel load_foreign(const ForeignFormat& format, const std::string& folder, Device device);

// Hugging Face's MarianMTModel, as OPUS-MT publishes them.
bool is_marian(const std::string& folder);
ForeignModel read_marian(const std::string& folder);
struct MarianEmbeddings {
  bool shared = true;  // the source's are the target's
  bool tied = true;    // the output layer's weights are the target's
  bool scaled = true;  // by the square root of their size
};
std::vector<WeightPlace> marian_places(const ModelConfig& config, const MarianEmbeddings& embeddings);
// OpenNMT's CTranslate2.
bool is_ctranslate2(const std::string& folder);
ForeignModel read_ctranslate2(const std::string& folder);

// Whether the tables of positions in a file are the sinusoidal ones, up to the rounding to 16 bits. If not, they become
// learned positions: sets `config` and adds the places. `names` are those of encoder and decoder.
void read_positions(const ForeignTensors& file, const std::vector<std::string>& names, ModelConfig& config,
                    std::vector<WeightPlace>& places);

}  // namespace fovea
