// Small models of every architecture and sentences to decode with them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "decode/search.h"
#include "small_models.h"

namespace fovea {

std::vector<Setup> setups();
// Every score, scope and selection that go together, in every architecture that attends.
std::vector<Setup> mechanisms(const std::string& architecture);

// A random model that ends now and then: nothing in it is 0, and the end mark is made likelier by `end`.
struct SmallModel {
  SmallModel(const ModelConfig& config, int64_t words, uint64_t seed, float end = 0.5f, Device device = Device::cpu());
  int64_t vocabulary;  // words of either side
  Parameters parameters;
  std::unique_ptr<EncoderDecoder> model;
};

ParallelCorpus some_sources(int64_t words);  // of lengths 1 to 9, not in order
BatchOptions batches_of(int64_t sentences);

std::vector<std::vector<Hypothesis>> find_with(const SmallModel& model, const ParallelCorpus& sources,
                                               const SearchOptions& options, int64_t together = 32);
std::vector<Hypothesis> score_with(const SmallModel& model, const ParallelCorpus& pairs, bool capture_weights = false);

// log p of what may follow a prefix, one sentence alone, by running the model over all of it.
std::vector<double> next_log_probs(const SmallModel& model, const ParallelCorpus& sources, int64_t row,
                                   const std::vector<int32_t>& prefix);
// How well f32 can know log p of a word: the largest change, over the pairs' target words, when every weight is off by
// up to half a unit in the last place, in exact arithmetic (f64 on the reference). Feeding its output back, a recurrent
// model multiplies such a difference at each step.
double sensitivity(const ModelConfig& config, const SmallModel& model, const ParallelCorpus& pairs);

Hypothesis greedy_by_force(const SmallModel& model, const ParallelCorpus& sources, int64_t row, int64_t longest);

}  // namespace fovea
