// A training run small enough for a test.
#pragma once

#include <string>

#include "train/trainer.h"

namespace fovea {

class Silent : public TrainingListener {
 public:
  void message(const std::string& text) override { messages += text + "\n"; }
  void stepped(const StepReport& report) override {
    last = report;
    if (report.step == stop_after) interrupt = true;
  }
  void validating(int64_t, int64_t) override {}
  void validated(const ValidationReport& report) override { validation = report; }
  std::string messages;
  int64_t stop_after = -1;
  std::atomic<bool> interrupt = false;
  StepReport last;
  ValidationReport validation;
};

inline Recipe small_recipe(const std::string& folder) {
  Recipe r;
  r.folder = folder;
  r.data.generator = "reverse";
  r.data.generated = 400;
  r.data.generated_valid = 20;
  r.source_vocabulary.kind = r.target_vocabulary.kind = "word";
  r.model.architecture = "luong";
  r.model.embedding = 16;
  r.model.hidden = 24;
  r.model.dropout = 0.2;
  r.model.attention.score = "general";
  r.batch.tokens = 256;
  r.training.steps = 12;
  r.training.label_smoothing = 0.1;
  r.validation.every = 5;
  r.validation.metric = "bleu";
  r.validation.sentences = 5;
  return r;
}

inline TrainingResult train(const Recipe& recipe, Start start, Silent* listener = nullptr) {
  Silent own;
  Silent& told = listener ? *listener : own;
  return Trainer(recipe, start, told).run(told.interrupt);
}

}  // namespace fovea
