// Self-critical training of captions (Rennie et al. 2017): the model samples a caption of each picture, and its
// log-probability rises by how much its CIDEr-D exceeds that of the caption that greedy search finds:
//   loss = -(CIDEr-D(sample) - CIDEr-D(greedy)) log p(sample)
// The end mark counts as a word, in captions and references, so that captions do not end in the middle of a sentence.
#pragma once

#include <vector>

#include "decode/search.h"
#include "evaluate/cider.h"
#include "tasks/caption_data.h"

namespace fovea {

class SelfCritical {
 public:
  // The references, and CIDEr-D's document frequencies, are those of the training captions. `search` has the settings
  // of greedy search and of the samples: lengths, temperature.
  SelfCritical(const CaptionData& data, const EncoderDecoder& model, const SearchOptions& search, int64_t seed,
               Device device);

  // Samples and scores captions of the pictures of the data's batch. `number` of the batch seeds the samples.
  void next(int64_t number);

  // As in CaptionData; the targets are the samples, whose weights are the differences of the scores.
  int64_t split(int64_t max_tokens) { return rows_.split(max_tokens); }
  int64_t part_tokens() const { return rows_.part_tokens(); }
  Batch part(int64_t index) const;

 private:
  std::vector<Hypothesis> captions_of(const std::vector<int32_t>& pictures, SearchOptions options) const;
  double score(int32_t picture, const Hypothesis& caption) const;

  const CaptionData& data_;
  const EncoderDecoder& model_;
  SearchOptions greedy_, sampling_;
  Device device_;
  BatchOptions options_;
  std::vector<size_t> images_;  // of each picture, its number in the scorer
  CiderScorer scorer_;
  Tensor logit_bias_;
  ParallelCorpus sampled_;
  std::vector<float> advantages_;  // of each sample
  std::vector<bool> finished_;     // its end mark was sampled
  BatchRows rows_;
  int64_t tokens_ = 0;
};

}  // namespace fovea
