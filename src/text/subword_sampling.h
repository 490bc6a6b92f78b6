// Cutting a word at random. SentencePiece can do this too, but from a generator that it seeds once per
// thread, so that its draws cannot be repeated; these come from ours.
#pragma once

#include <sentencepiece_processor.h>

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/random.h"

namespace fovea {

// The ordinary pieces of a model (not special, not a byte) as a tree of their bytes.
class PieceTree {
 public:
  explicit PieceTree(const sentencepiece::SentencePieceProcessor& model);
  // The node one byte further; -1 when no piece goes on like that. The root is 0.
  int32_t step(int32_t node, char byte) const {
    const auto found = steps_.find(key(node, byte));
    return found == steps_.end() ? -1 : found->second;
  }
  int32_t id(int32_t node) const { return ids_[static_cast<size_t>(node)]; }  // -1 when no piece ends there
  int32_t find(std::string_view piece) const;                                 // its id, or -1
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
// filtering forward and sampling backward. The word must be a row of ordinary pieces.
void sample_unigram(const PieceTree& pieces, std::string_view word, double exponent, Random& random,
                    std::vector<int32_t>& ids);

// Provilkov et al. (2020), "BPE-dropout": at every step each possible merge is left out with
// probability `dropout`, and the best of the others is done.
void sample_bpe(const PieceTree& pieces, std::string_view word, double dropout, Random& random,
                std::vector<int32_t>& ids);

}  // namespace fovea
