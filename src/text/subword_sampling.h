// Subword sampling. SentencePiece implements it too, but with a random generator that is seeded once per thread, so
// that results cannot be reproduced; these functions use our generator.
#pragma once

#include <sentencepiece_processor.h>

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/random.h"

namespace fovea {

// A trie over the bytes of a model's ordinary pieces (neither special, nor single bytes, nor symbols of the user).
class PieceTree {
 public:
  PieceTree(const sentencepiece::SentencePieceProcessor& model, const std::vector<bool>& is_symbol);
  // The child of a node for a byte; -1 if there is none. The root is node 0.
  int32_t step(int32_t node, char byte) const {
    const auto found = steps_.find(key(node, byte));
    return found == steps_.end() ? -1 : found->second;
  }
  int32_t id(int32_t node) const { return ids_[static_cast<size_t>(node)]; }  // -1 if no piece ends at the node
  int32_t find(std::string_view piece) const;                                 // the id of a piece, or -1
  double score(int32_t id) const { return scores_[static_cast<size_t>(id)]; }
  bool ordinary(int32_t id) const { return ordinary_[static_cast<size_t>(id)]; }

 private:
  static uint64_t key(int32_t node, char byte) {
    return (static_cast<uint64_t>(node) << 8) | static_cast<unsigned char>(byte);
  }
  std::unordered_map<uint64_t, int32_t> steps_;
  std::vector<int32_t> ids_;
  std::vector<double> scores_;
  std::vector<bool> ordinary_;
};

// Kudo (2018), "Subword regularization": a segmentation x is drawn with probability ∝ p(x)^exponent, by
// forward filtering and backward sampling. The word must be a concatenation of ordinary pieces.
void sample_unigram(const PieceTree& pieces, std::string_view word, double exponent, Random& random,
                    std::vector<int32_t>& ids);

// Provilkov et al. (2020), "BPE-dropout": at every step each possible merge is dropped with probability `dropout`, and
// the best remaining merge is applied.
void sample_bpe(const PieceTree& pieces, std::string_view word, double dropout, Random& random,
                std::vector<int32_t>& ids);

}  // namespace fovea
