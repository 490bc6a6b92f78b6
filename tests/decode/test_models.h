// Small models of every architecture and sentences to decode with them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "decode/search.h"
#include "small_models.h"

namespace fovea {

std::vector<Setup> setups();
// Every valid combination of score, scope and selection, in one architecture.
std::vector<Setup> mechanisms(const std::string& architecture);

// A random model whose hypotheses end sometimes: no weight is 0, and `end` is added to the logit of the end mark.
struct SmallModel {
  SmallModel(const ModelConfig& config, int64_t words, uint64_t seed, float end = 0.5f, Device device = Device::cpu());
  int64_t vocabulary;  // the size of either vocabulary
  Parameters parameters;
  std::unique_ptr<EncoderDecoder> model;
};

ParallelCorpus some_sources(int64_t words);  // of lengths 1 to 9, not in order
BatchOptions batches_of(int64_t sentences);

std::vector<std::vector<Hypothesis>> find_with(const SmallModel& model, const ParallelCorpus& sources,
                                               const SearchOptions& options, int64_t together = 32);
std::vector<Hypothesis> score_with(const SmallModel& model, const ParallelCorpus& pairs, bool capture_weights = false);

// log p of each token after a prefix, for one sentence alone, by teacher forcing of the whole prefix.
std::vector<double> next_log_probs(const SmallModel& model, const ParallelCorpus& sources, int64_t row,
                                   const std::vector<int32_t>& prefix);
// The precision of log p in f32: the largest change, over the tokens of the pairs' targets, when every weight is
// changed by up to half a unit in the last place, in nearly exact arithmetic (f64 on the reference). A recurrent model,
// which reads its own output, multiplies such a difference at each step.
double sensitivity(const ModelConfig& config, const SmallModel& model, const ParallelCorpus& pairs);

Hypothesis greedy_by_force(const SmallModel& model, const ParallelCorpus& sources, int64_t row, int64_t longest);

}  // namespace fovea
