// Several models with one vocabulary that decode together: the mean of their probabilities. And what of it
// comes to the host: the likeliest words of each row, never the whole vocabulary unless it is drawn from.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "decode/looks.h"
#include "models/model.h"

namespace fovea {

// Scores that lie above log p by `lse`, one for each row, or are log p where there is none.
struct Scores {
  Tensor scores;  // [rows,V]
  Tensor lse;     // [rows]
};
// What models make of the next words together, from the logits of each, [...,V].
Scores vote(std::span<const Var> logits);

// For each row the first `count` words, likeliest first, or all of them as they lie; still where they were computed.
struct LikeliestWords {
  int64_t count = 0;
  Tensor values, index, lse;  // f32 and i32 [rows,count], f32 [rows]; no index: all words; no lse: values are log p
};
LikeliestWords likeliest_of(const Scores& scores, int64_t count);

// The same on the host.
class Choices {
 public:
  explicit Choices(const LikeliestWords& words);
  int64_t count() const { return count_; }
  int32_t word(int64_t row, int64_t i) const {
    return index_.empty() ? static_cast<int32_t>(i) : index_[static_cast<size_t>(row * count_ + i)];
  }
  float log_prob(int64_t row, int64_t i) const {
    const float score = values_[static_cast<size_t>(row * count_ + i)];
    return lse_.empty() ? score : score - lse_[static_cast<size_t>(row)];
  }
  // So many at most, likeliest first, without what no text has: of `count` + kNever choices, `count` are left.
  std::vector<NextWord> likeliest(int64_t row, int64_t count) const;
  static constexpr int64_t kNever = 2;  // kPad, kBegin

 private:
  int64_t count_;
  std::vector<float> values_, lse_;
  std::vector<int32_t> index_;
};

class Ensemble {
 public:
  Ensemble(std::span<const EncoderDecoder* const> models, const Source& source, const DecodeOptions& options);
  ~Ensemble() = default;
  Ensemble(const Ensemble& other);
  Ensemble& operator=(const Ensemble&) = delete;
  Scores step(const Tensor& words);
  void reorder(const Tensor& rows);
  void select_sentences(const Tensor& sentences);
  std::vector<HostWeights> weights() const;  // of the last step

 private:
  std::vector<std::unique_ptr<DecoderState>> decoders_;
  std::vector<Var> logits_;
};

}  // namespace fovea
