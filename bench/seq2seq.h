// The three encoder-decoders that bench/train and bench/decode measure, at the sizes PyTorch's side
// (peers/seq2seq.py) has: 10,000 words a side, 25 words a sentence.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/worker.h"
#include "models/model.h"
#include "nn/parameters.h"

namespace bench {

inline constexpr int64_t kWords = 10'000, kLength = 25;
inline constexpr const char* kModels[] = {"bahdanau", "luong", "transformer"};

fovea::ModelConfig model_config(const std::string& name);

struct Seq2Seq {
  explicit Seq2Seq(const std::string& name, fovea::Device device = fovea::Device::cpu());
  fovea::Parameters parameters;
  std::unique_ptr<fovea::EncoderDecoder> model;
};

// Words by lot, [time,batch]; none of the special ones.
fovea::Tensor random_words(int64_t time, int64_t batch, uint64_t seed, fovea::Device device);
fovea::Source random_source(int64_t batch, fovea::Device device = fovea::Device::cpu());

// Ours in every precision (int8 for decoding only) and PyTorch's in every way it has, each in a process of its
// own. `purpose` is what the processes are told to do: train or decode.
std::vector<std::unique_ptr<Worker>> start_contenders(const Options& options, const std::string& model,
                                                      const std::string& purpose, int threads);

}  // namespace bench
