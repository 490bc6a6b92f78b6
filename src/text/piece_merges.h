// Byte-pair encoding that goes on from given pieces.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace fovea {

// The pieces of a vocabulary, by id, and words of a text as sequences of them.
class PieceMerges {
 public:
  struct Merge {
    std::string text;
    int32_t left, right;
    int64_t count;  // of the pair when it was merged
  };

  explicit PieceMerges(std::vector<std::string> pieces);
  int32_t add(const std::string& piece);  // returns its id, also if it exists already
  const std::string& text(int32_t id) const { return texts_[static_cast<size_t>(id)]; }
  // Merges the most frequent pair of neighbours, `most` times or until none occurs twice. A merged piece has at most 16
  // characters, does not exist already, and consists of letters of spaced or of unspaced scripts, or of digits.
  // Returns the merges in their order; the ids of their pieces follow the existing ones.
  std::vector<Merge> merge(const std::map<std::vector<int32_t>, int64_t>& words, int64_t most);

 private:
  struct Word {
    std::vector<int32_t> pieces;
    int64_t count;
  };
  using Pair = std::pair<int32_t, int32_t>;

  bool may_merge(const Pair& pair) const;
  void count_pairs(size_t word, int64_t sign);

  std::vector<std::string> texts_;
  std::unordered_map<std::string, int32_t> ids_;
  std::vector<Word> words_;
  struct Occurrences {
    int64_t count = 0;
    std::vector<size_t> words;  // some may have lost the pair by another merge
  };
  std::map<Pair, Occurrences> pairs_;
};

}  // namespace fovea
