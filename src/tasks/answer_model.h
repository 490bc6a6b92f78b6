// A model of the task "answer" and its folder: config.json, model.safetensors, source.vocab or source.spm, and
// characters.vocab if it reads characters.
#pragma once

#include <memory>
#include <string>

#include "models/span_model.h"
#include "nn/parameters.h"
#include "text/vocabulary.h"

namespace fovea {

// The contents of config.json.
struct AnswerFolderConfig {
  int64_t format = 1;
  std::string task = "answer";
  int64_t source_words = 0, character_words = 0;  // the sizes of the vocabularies
  AnswerConfig answer;
  ModelConfig model;

  void describe(Fields& fields);
};

// In memory, read from a folder or still being trained. Copies share the weights.
struct LoadedReader {
  AnswerFolderConfig config;
  std::shared_ptr<const Vocabulary> vocabulary, characters;  // characters: absent if the model reads none
  std::shared_ptr<const Parameters> parameters;              // `model` refers to them
  std::shared_ptr<const SpanModel> model;
};

// Declares the parameters of a reader with these vocabularies.
LoadedReader make_reader(Parameters& parameters, const AnswerConfig& answer, const ModelConfig& model,
                         std::shared_ptr<const Vocabulary> vocabulary, std::shared_ptr<const Vocabulary> characters);
// Error that names the file at fault.
LoadedReader load_reader(const std::string& folder, Device device);
// Saves everything but the weights. Creates the folder if it does not exist.
void save_reader_description(const std::string& folder, const LoadedReader& reader);
// Saves the model with 8-bit matrices.
void save_packed_reader(const std::string& folder, const LoadedReader& reader);

}  // namespace fovea
