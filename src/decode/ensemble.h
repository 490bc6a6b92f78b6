// An ensemble: several models with one vocabulary that decode together with the mean of their probabilities. The most
// likely tokens of each row are copied to the host, and the whole vocabulary only where it is sampled from.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "decode/attention_history.h"
#include "models/model.h"
#include "text/batches.h"

namespace fovea {

// The source of a batch, as models take it.
inline Source source_of(const Batch& batch) {
  if (batch.images) return {.images = batch.images};
  return {.ids = batch.source,
          .lengths = batch.source_lengths,
          .images = {},
          .copied = batch.copied,
          .extended = batch.extended};
}

// log p = scores - lse, row by row; without lse, the scores are log p.
struct Scores {
  Tensor scores;  // [rows,V]
  Tensor lse;     // [rows]
};
// The logits of one model, or the log of the mean of several models' probabilities. All have the shape [...,V].
Scores average_probabilities(std::span<const Var> logits);

// The `count` most likely tokens of each row, most likely first, or all tokens in the order of their ids. On the
// device.
struct TopTokens {
  int64_t count = 0;
  Tensor values, index, lse;  // f32 and i32 [rows,count], f32 [rows]; no index: all tokens; no lse: values are log p
};
TopTokens top_tokens(const Scores& scores, int64_t count);

// The same on the host.
class HostTopTokens {
 public:
  // `vocabulary`: the tokens that the scores are of, in ascending order; empty: all.
  explicit HostTopTokens(const TopTokens& top, std::span<const int32_t> vocabulary = {});
  int64_t count() const { return count_; }
  int32_t id(int64_t row, int64_t i) const {
    const auto at = index_.empty() ? static_cast<int32_t>(i) : index_[static_cast<size_t>(row * count_ + i)];
    return vocabulary_.empty() ? at : vocabulary_[static_cast<size_t>(at)];
  }
  float log_prob(int64_t row, int64_t i) const {
    const float score = values_[static_cast<size_t>(row * count_ + i)];
    return lse_.empty() ? score : score - lse_[static_cast<size_t>(row)];
  }
  // log p of a token, where all tokens were asked for.
  float log_prob_of(int64_t row, int32_t id) const;
  // At most `max_count` tokens, most likely first, without kPad and kBegin, which no text contains: to be sure of
  // `max_count` of them, count() must be larger by kNeverGenerated.
  std::vector<NextToken> likeliest(int64_t row, int64_t max_count) const;
  static constexpr int64_t kNeverGenerated = 2;  // kPad, kBegin

 private:
  int64_t count_;
  std::vector<float> values_, lse_;
  std::vector<int32_t> index_;
  std::span<const int32_t> vocabulary_;
};

class Ensemble {
 public:
  // `mask` [B,L], if given, is added to the log-probabilities [K,B,L] of every model.
  Ensemble(std::span<const EncoderDecoder* const> models, const Source& source, const DecodeOptions& options,
           const Var& mask = {});
  ~Ensemble() = default;
  Ensemble(const Ensemble& other);
  Ensemble& operator=(const Ensemble&) = delete;
  Scores step(const Tensor& ids);
  void reorder(const Tensor& rows);
  void select_sentences(const Tensor& sentences);
  std::vector<HostWeights> weights() const;  // of the last step

 private:
  std::vector<std::unique_ptr<DecoderState>> decoders_;
  std::vector<Var> logits_;
  Var mask_;
};

}  // namespace fovea
