#include "decode/ensemble.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "models/row_selection.h"

namespace fovea {

namespace {

// The log-sum-exp of each row, computed by the cross-entropy kernel of any target.
Tensor row_lse(const Tensor& logits) {
  const Device d = logits.device();
  const int64_t rows = logits.dim(0);
  const DType statistics = accumulator_of(logits.dtype());
  const Tensor none = empty({rows}, DType::kI32, d), loss = empty({rows}, statistics, d), lse = empty_like(loss);
  // Zeroed by a kernel rather than by a memset: a CUDA graph of kernels alone launches much faster.
  kernels(d).affine(stream(d), {.y = none, .beta = 0.0f});
  kernels(d).cross_entropy(stream(d), {.logits = logits, .targets = none, .loss = loss, .lse = lse, .ignore = 0});
  return lse;
}

}  // namespace

Scores average_probabilities(std::span<const Var> logits) {
  const int64_t vocabulary = logits[0].dim(-1), rows = logits[0].size() / vocabulary;
  if (logits.size() == 1) {
    const Tensor flat = logits[0].value().reshape({rows, vocabulary});
    return {flat, row_lse(flat)};
  }
  Var mean;
  for (const Var& l : logits) {
    check(l.dim(-1) == vocabulary, "ensemble: expected models with the same vocabulary, got {} and {} tokens",
          vocabulary, l.dim(-1));
    const Var p = softmax(l.reshape({rows, vocabulary}));
    mean = mean ? mean + p : p;
  }
  return {log(affine(mean, 1.0f / static_cast<float>(logits.size()))).value(), {}};
}

TopTokens top_tokens(const Scores& scores, int64_t count) {
  const auto f32 = [](const Tensor& x) { return cast(x, DType::kF32).value(); };
  TopTokens top{.count = std::min(count, scores.scores.dim(-1))};
  if (scores.lse) top.lse = f32(scores.lse);
  if (top.count == scores.scores.dim(-1)) {
    top.values = f32(scores.scores);
  } else {
    const TopK largest = fovea::top_k(scores.scores, top.count);
    top.values = f32(largest.values);
    top.index = largest.index;
  }
  return top;
}

HostTopTokens::HostTopTokens(const TopTokens& top, std::span<const int32_t> vocabulary)
    : count_(top.count), values_(to_host<float>(top.values)), vocabulary_(vocabulary) {
  if (top.lse) lse_ = to_host<float>(top.lse);
  if (top.index) index_ = to_host<int32_t>(top.index);
}

float HostTopTokens::log_prob_of(int64_t row, int32_t id) const {
  assert(index_.empty());
  if (vocabulary_.empty()) return log_prob(row, id);
  const auto at = std::lower_bound(vocabulary_.begin(), vocabulary_.end(), id);
  assert(at != vocabulary_.end() && *at == id);
  return log_prob(row, at - vocabulary_.begin());
}

std::vector<NextToken> HostTopTokens::likeliest(int64_t row, int64_t max_count) const {
  std::vector<NextToken> tokens;
  for (int64_t i = 0; i < count_; ++i) {
    if (std::isinf(log_prob(row, i))) continue;  // not in the sentence's shortlist
    if (id(row, i) != kPad && id(row, i) != kBegin) tokens.push_back({id(row, i), log_prob(row, i)});
  }
  const auto end = tokens.begin() + std::min<int64_t>(max_count, std::ssize(tokens));
  std::partial_sort(tokens.begin(), end, tokens.end(),
                    [](const NextToken& a, const NextToken& b) { return a.log_prob > b.log_prob; });
  tokens.erase(end, tokens.end());
  return tokens;
}

Ensemble::Ensemble(std::span<const EncoderDecoder* const> models, const Source& source, const DecodeOptions& options,
                   const Var& mask)
    : mask_(mask) {
  for (const EncoderDecoder* model : models) decoders_.push_back(model->decode(source, options));
}

Ensemble::Ensemble(const Ensemble& other) : logits_(other.logits_), mask_(other.mask_) {
  for (const auto& decoder : other.decoders_) decoders_.push_back(decoder->clone());
}

Scores Ensemble::step(const Tensor& ids) {
  logits_.clear();
  for (const auto& decoder : decoders_) {
    const Var logits = decoder->step(ids);
    logits_.push_back(mask_ ? logits + mask_ : logits);
  }
  Scores scores = average_probabilities(logits_);
  // The mean of probabilities that a softmax rounds up from 0 is not quite 0.
  if (mask_ && logits_.size() > 1) {
    const Var mean = Var(scores.scores).reshape(logits_[0].shape());
    scores.scores = (mean + mask_).value().reshape(scores.scores.shape());
  }
  return scores;
}

void Ensemble::reorder(const Tensor& rows) {
  for (const auto& decoder : decoders_) decoder->reorder(rows);
}

void Ensemble::select_sentences(const Tensor& sentences) {
  for (const auto& decoder : decoders_) decoder->select_sentences(sentences);
  if (mask_) mask_ = select_rows(mask_, sentences);
}

std::vector<HostWeights> Ensemble::weights() const {
  std::vector<HostWeights> all;
  for (size_t model = 0; model < decoders_.size(); ++model) {
    copy_to_host(decoders_[model]->attentions(), static_cast<int64_t>(model), all);
  }
  return all;
}

}  // namespace fovea
