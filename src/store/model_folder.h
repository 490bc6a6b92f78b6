// A model as a folder: config.json, model.safetensors, and a vocabulary each for source and target
// (source.spm or source.vocab, target.spm or target.vocab). It has everything that decoding needs and nothing else. A
// packed model whose two vocabularies are the same has only the source's.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "models/model.h"
#include "models/vision_config.h"
#include "text/batches.h"
#include "text/dialogue.h"
#include "text/vocabulary.h"

namespace fovea {

struct NamedTensor;
class SafetensorsFile;

// How the model decodes best, as measured on validation text; what a user chooses takes precedence.
struct DecodingDefaults {
  int64_t beam = 0;           // 0: not measured, the task's defaults apply
  double length_penalty = 0;  // with that beam
  int64_t split_above = -1;   // source tokens above which a line is split into sentences; -1: not measured
  bool shortlist = false;     // decodes with the folder's shortlist, on a CPU

  void describe(Fields& fields);
};

// The contents of config.json.
struct FolderConfig {
  int64_t format = 1;
  std::string task = "sequence";               // see src/tasks; folders of earlier versions do not name it
  int64_t source_words = 0, target_words = 0;  // the sizes of the vocabularies
  bool end_source = true, reverse_source = false;
  bool split_identifiers = false;  // of the source, see text/words.h
  int64_t max_source = 0;          // longer sources are truncated, as in training; 0 for no limit
  DialogueFormat dialogue;         // if that is the task
  VisionConfig vision;             // if the task is caption: the source is a picture
  // The heads of cross attention that align words best: "one" head, or the "mean", "max" or "rollout" of several.
  // best_layer and best_head count from 1, and 0 means all. A folder with best_head but without best_heads means "one".
  std::string best_heads;
  int64_t best_layer = 0, best_head = 0;
  std::string best_step;  // as in view/reduce.h; empty for output
  DecodingDefaults decoding;
  ModelConfig model;

  void describe(Fields& fields);
};

// A model in memory, read from a folder or still being trained. Copies share the weights.
struct LoadedModel {
  FolderConfig config;
  std::shared_ptr<const Vocabulary> source, target;
  std::shared_ptr<const Parameters> parameters;  // `model` refers to them
  std::shared_ptr<const EncoderDecoder> model;

  BatchOptions batches() const;  // the default batch sizes, and the conventions of its source
};

// The task that a model folder was trained for, from its config.json.
std::string task_of_model(const std::string& folder);
// Loads a folder of a task from text to text, of ours or of another program (store/foreign_folder.h). Error that names
// the file at fault.
LoadedModel load_model(const std::string& folder, Device device);

// The file with a model's weights, of any program.
std::string weights_file(const std::string& folder);

void save_config(const std::string& folder, const FolderConfig& config);
// Saves everything but the weights. Creates the folder if it does not exist.
void save_model_description(const std::string& folder, const FolderConfig& config, const Vocabulary& source,
                            const Vocabulary& target);
// Saves folder/model.safetensors. `values` has the layout of parameters.values(), or is an average with that layout.
void save_weights(const std::string& folder, const Parameters& parameters, const Tensor& values);
void load_weights(const std::string& folder, const Parameters& parameters);
// Saves a model with 8-bit matrices, in a quarter of its size, as models are shipped. A vocabulary that both sides
// share is written once.
void save_packed(const std::string& folder, const LoadedModel& model);

// The parts of a folder that models of every task have.
std::string weights_path(const std::string& folder);
void create_model_folder(const std::string& folder);
// Whether the folder has a vocabulary for a side; that of the source is also for the target where a model from text to
// text has no other.
bool has_side(const std::string& folder, const std::string& side);
std::shared_ptr<const Vocabulary> load_side(const std::string& folder, const std::string& side);
// The vocabulary of a side. Error unless it has as many tokens as config.json says.
std::shared_ptr<const Vocabulary> load_side(const std::string& folder, const std::string& side, int64_t words);
void save_packed_weights(const std::string& folder, const Parameters& parameters);

std::vector<NamedTensor> named_tensors(const Parameters& parameters, const Tensor& values,
                                       const std::string& prefix = {});
// Reads all parameters. Throws an Error if the file lacks one.
void read_tensors(const SafetensorsFile& file, const Parameters& parameters, const Tensor& values,
                  const std::string& prefix = {});

}  // namespace fovea
