// The three encoder-decoders that bench/train and bench/decode measure, with the sizes of peers/seq2seq.py:
// vocabularies of 10,000 tokens and sentences of 25.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/worker.h"
#include "models/model.h"
#include "nn/parameters.h"

namespace bench {

inline constexpr int64_t kVocabulary = 10'000, kLength = 25;
inline constexpr const char* kModels[] = {"bahdanau", "luong", "transformer"};

fovea::ModelConfig model_config(const std::string& name);

struct Seq2Seq {
  explicit Seq2Seq(const std::string& name, fovea::Device device = fovea::Device::cpu());
  fovea::Parameters parameters;
  std::unique_ptr<fovea::EncoderDecoder> model;
};

// Random token ids, [time,batch], without special tokens.
fovea::Tensor random_tokens(int64_t time, int64_t batch, uint64_t seed, fovea::Device device);
fovea::Source random_source(int64_t batch, fovea::Device device = fovea::Device::cpu());

// Starts Fovea in every precision (int8 for decoding only) and PyTorch in all of its modes, each in a process of its
// own. `purpose` is "train" or "decode".
std::vector<std::unique_ptr<Worker>> start_contenders(const Options& options, const std::string& model,
                                                      const std::string& purpose, int threads);

}  // namespace bench
