// A recipe: all settings of a training run, in one TOML file. Each section declares its own keys (see base/fields.h);
// reading, checking, help and printing use these declarations.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decode/search.h"
#include "models/answer_config.h"
#include "models/classifier_config.h"
#include "models/config.h"
#include "models/vision_config.h"
#include "store/task_names.h"
#include "text/batches.h"
#include "text/corpus.h"
#include "text/dialogue.h"
#include "text/labelled_text.h"
#include "text/vocabulary.h"
#include "vision/augment.h"

namespace fovea {

std::vector<std::string> schedule_names();  // of the learning rate

// The files of corpora of pairs: one that has both sides, or one for each side. A file by itself has both sides, and so
// have those whose names end in .tsv or .jsonl, plain or .gz; two other files are one corpus. Throws an Error that
// starts with `key` for a file without its other side.
std::vector<std::vector<std::string>> corpora_of(const std::vector<std::string>& files, std::string_view key);

struct DataConfig {
  std::vector<std::string> train, valid;
  std::vector<std::string> weights;  // numbers, one for each corpus of train
  double temperature = 1;
  std::string images, features;  // the folder of pictures; the cache of their features
  std::string generator;
  int64_t generated = 100'000, generated_valid = 1'000;
  int64_t held_out = 1'000;
  bool shared_vocabulary = false;
  bool split_identifiers = false;
  double hide_copied = 0;
  std::string alignment;
  std::string embeddings;
  CorpusOptions filter;

  std::vector<double> corpus_weights() const;  // Error for a weight that is no number above 0
  bool mixes_corpora() const { return !weights.empty() || temperature != 1; }
  void describe(Fields& fields);
};

// A vocabulary that is trained, or a SentencePiece model that exists.
struct VocabularyConfig : VocabularyOptions {
  std::string model;

  VocabularyConfig() = default;
  using VocabularyOptions::operator=;
  void describe(Fields& fields);
};

// The settings of the task "dialogue".
struct DialogueConfig {
  DialogueFormat format;
  std::string replies_of;

  void describe(Fields& fields);
};

struct TrainingConfig {
  std::string optimiser = "adam";
  double learning_rate = 1e-3;
  std::string schedule = "constant";
  int64_t warmup = 0;
  double final_rate = 0.01;
  double plateau_factor = 0.5;
  int64_t plateau_patience = 2;
  double clip_norm = 1.0, weight_decay = 0, momentum = 0;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double label_smoothing = 0;
  int64_t accumulation = 1;
  double memory = 0;
  double ema = 0;
  std::string precision = "auto";
  int64_t epochs = 0, steps = 0;
  double minutes = 0;
  double checkpoint_minutes = 10;
  bool freeze_embeddings = false;
  double guided_alignment = 0;
  std::string guided_step = "output";
  int64_t guided_layer = 0, guided_head = 0;
  double coverage_loss = 0, doubly_stochastic = 0;
  double baseline_decay = 0.99;
  bool self_critical = false;
  std::string pretrained;
  bool shortlist = false;
  int64_t extend_vocabulary = 0;
  bool tensorboard = false;

  void describe(Fields& fields);
};

struct ValidationConfig {
  int64_t every = 0;
  std::string metric = "loss";
  int64_t sentences = 0;
  std::string tokenizer = "13a";
  int64_t patience = 0;
  double goal = 0;
  SearchOptions search;

  void describe(Fields& fields);
};

// What a recipe says of pictures besides the settings of the network: how training changes them.
struct TrainedVisionConfig : VisionConfig {
  AugmentConfig augment;

  void describe(Fields& fields);
};

// What the tasks "classify" and "classify-images" need besides an encoder.
struct ClassifyConfig : ClassifierConfig {
  double penalty = 1.0;
  std::string class_weights = "none";
  double word_dropout = 0;
  LabelledTextOptions text;

  void describe(Fields& fields);
};

struct Recipe {
  std::string folder;
  std::string task{kTaskNames.front().name};
  int64_t seed = 1;
  std::string device = "auto";
  int64_t threads = 0;
  int64_t report_every = 0;
  DataConfig data;
  VocabularyConfig source_vocabulary, target_vocabulary;
  DialogueConfig dialogue;
  ModelConfig model;
  TrainedVisionConfig vision;
  AnswerConfig answer;
  BatchOptions batch;
  TrainingConfig training;
  ValidationConfig validation;
  ClassifyConfig classify;

  void describe(Fields& fields);
};

// Changes are "key=value". Error that names file, line and key if the recipe is not valid. `warnings` receives a
// sentence for each setting that was chosen and has no effect. In a file that sets every key, as a run's recipe.toml
// does, the chosen settings are those that differ from their defaults.
Recipe read_recipe(const std::string& path, std::span<const std::string> changes = {},
                   std::vector<std::string>* warnings = nullptr);
// The recipe as TOML, with the help and the type of each key above it if `with_help`.
std::string recipe_text(const Recipe& recipe, bool with_help);

}  // namespace fovea
