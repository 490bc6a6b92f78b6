#include "decode/ensemble.h"

#include <algorithm>

#include "base/signals.h"

namespace fovea {

namespace {

// The log-sum-exp of each row, which the loss of any target computes on its way.
Tensor row_lse(const Tensor& logits) {
  const Device d = logits.device();
  const int64_t rows = logits.dim(0);
  const DType statistics = accumulator_of(logits.dtype());
  const Tensor none = empty({rows}, DType::kI32, d), loss = empty({rows}, statistics, d), lse = empty_like(loss);
  // By a kernel, like all the rest of a step: a graph of nothing else is queued much faster.
  kernels(d).affine(stream(d), {.y = none, .beta = 0.0f});
  kernels(d).cross_entropy(stream(d), {.logits = logits, .targets = none, .loss = loss, .lse = lse, .ignore = 0});
  return lse;
}

}  // namespace

Scores vote(std::span<const Var> logits) {
  const int64_t words = logits[0].dim(-1), rows = logits[0].size() / words;
  if (logits.size() == 1) {
    const Tensor flat = logits[0].value().reshape({rows, words});
    return {flat, row_lse(flat)};
  }
  Var mean;
  for (const Var& l : logits) {
    check(l.dim(-1) == words, "ensemble: expected models with the same vocabulary, got {} and {} tokens", words,
          l.dim(-1));
    const Var p = softmax(l.reshape({rows, words}));
    mean = mean ? mean + p : p;
  }
  return {log(affine(mean, 1.0f / static_cast<float>(logits.size()))).value(), {}};
}

LikeliestWords likeliest_of(const Scores& scores, int64_t count) {
  const auto f32 = [](const Tensor& x) { return cast(x, DType::kF32).value(); };
  LikeliestWords words{.count = std::min(count, scores.scores.dim(-1))};
  if (scores.lse) words.lse = f32(scores.lse);
  if (words.count == scores.scores.dim(-1)) {
    words.values = f32(scores.scores);
  } else {
    const TopK largest = fovea::top_k(scores.scores, words.count);
    words.values = f32(largest.values);
    words.index = largest.index;
  }
  return words;
}

Choices::Choices(const LikeliestWords& words) : count_(words.count), values_(to_host<float>(words.values)) {
  if (words.lse) lse_ = to_host<float>(words.lse);
  if (words.index) index_ = to_host<int32_t>(words.index);
}

std::vector<NextWord> Choices::likeliest(int64_t row, int64_t count) const {
  std::vector<NextWord> words;
  for (int64_t i = 0; i < count_; ++i) {
    if (word(row, i) != kPad && word(row, i) != kBegin) words.push_back({word(row, i), log_prob(row, i)});
  }
  const auto kept = words.begin() + std::min(count, std::ssize(words));
  std::partial_sort(words.begin(), kept, words.end(),
                    [](const NextWord& a, const NextWord& b) { return a.log_prob > b.log_prob; });
  words.erase(kept, words.end());
  return words;
}

Ensemble::Ensemble(std::span<const EncoderDecoder* const> models, const Source& source, const DecodeOptions& options) {
  for (const EncoderDecoder* model : models) decoders_.push_back(model->decode(source, options));
}

Ensemble::Ensemble(const Ensemble& other) : logits_(other.logits_) {
  for (const auto& decoder : other.decoders_) decoders_.push_back(decoder->clone());
}

Scores Ensemble::step(const Tensor& words) {
  const SignalsBlocked quiet;  // once for a step, not for each of its products
  logits_.clear();
  for (const auto& decoder : decoders_) logits_.push_back(decoder->step(words));
  return vote(logits_);
}

void Ensemble::reorder(const Tensor& rows) {
  for (const auto& decoder : decoders_) decoder->reorder(rows);
}

void Ensemble::select_sentences(const Tensor& sentences) {
  for (const auto& decoder : decoders_) decoder->select_sentences(sentences);
}

std::vector<HostWeights> Ensemble::weights() const {
  std::vector<HostWeights> all;
  for (size_t model = 0; model < decoders_.size(); ++model) {
    bring_to_host(decoders_[model]->attentions(), static_cast<int64_t>(model), all);
  }
  return all;
}

}  // namespace fovea
