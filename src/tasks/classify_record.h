// The attention records of classified texts and pictures: which tokens or cells the pooling read.
#pragma once

#include <vector>

#include "attention/record.h"
#include "decode/tokenised_line.h"
#include "store/classifier_folder.h"

namespace fovea {

// The attentions of a batch, copied to the host.
class ClassifierWeights {
 public:
  ClassifierWeights(const LoadedClassifier& model, const Classified& classified);
  // The record of text b of the batch, without its classes. The line must be tokenised with offsets.
  AttentionRecord record(const TokenisedLine& line, int64_t b) const;
  // The record of picture b of the batch, without its classes and without the picture.
  AttentionRecord picture_record(int64_t b) const;

 private:
  struct Layer {
    AttentionKind kind;
    int64_t heads, rows, columns;
    std::vector<float> weights;  // [B,H,T,S]
  };
  RecordedAttention pooling(int64_t b, int64_t tokens) const;
  // The attention of a non-local block, between the cells of the feature map that is pooled.
  RecordedAttention nonlocal(int64_t b, int64_t side) const;
  // For each token the share of the features whose maximum it has.
  void append_shares(int64_t b, int64_t tokens, std::vector<float>& to) const;

  const LoadedClassifier& model_;
  std::vector<Layer> layers_;  // of the encoder
  Layer pooled_{};             // of the pooling, if it has attention weights
  int64_t batch_ = 0, depth_ = 0;
  std::vector<float> states_;  // [S,B,D], with max pooling
};

}  // namespace fovea
