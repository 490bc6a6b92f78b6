// A training step (forward, backward, Adam) of an encoder-decoder on random sentences.
#pragma once

#include "bench/seq2seq.h"
#include "train/optimiser.h"

namespace bench {

class Training {
 public:
  Training(const std::string& name, fovea::Precision precision, const Sizes& sizes,
           fovea::Device device = fovea::Device::cpu());
  double gradients();  // returns the loss
  void step();

  Seq2Seq seq2seq;

 private:
  fovea::Precision precision_;
  fovea::Source source_;
  fovea::Tensor before_, after_;
  fovea::Optimiser optimiser_;
  fovea::Tape tape_;
};

// PROGRAM --worker train MODEL PRECISION THREADS [BATCH LENGTH VOCABULARY WIDTH]: the training steps of
// start_contenders.
bool is_training_worker(int argc, char** argv);
int run_training_worker(int argc, char** argv);

}  // namespace bench
