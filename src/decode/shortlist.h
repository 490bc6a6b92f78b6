// A shortlist restricts the output layer to the target tokens that may translate a sentence: the candidates of each of
// its source tokens, and the tokens that are frequent in any text (Jean et al. 2015, section 4.4; L'Hostis et al.
// 2016). Log-probabilities are then those of the softmax over the list.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "text/lexical_table.h"
#include "text/vocabulary.h"

namespace fovea {

struct ShortlistOptions {
  int64_t frequent = 100;
  int64_t candidates = 50;
  int64_t max_pairs = 1'000'000;

  void describe(Fields& fields);
};

// A set of token ids as bits: a union costs little more than reading its members.
class TokenSet {
 public:
  explicit TokenSet(int64_t words) : bits_(static_cast<size_t>((words + 63) / 64)) {}
  void add(std::span<const int32_t> ids);
  std::vector<int32_t> sorted() const;

 private:
  std::vector<uint64_t> bits_;
};

class Shortlist {
 public:
  // `common` are the tokens of every list, candidates[s] those of source token s; both in any order.
  Shortlist(std::vector<int32_t> common, const std::vector<std::vector<int32_t>>& candidates, int64_t target_words);

  // The sorted target tokens for a sentence, with `wanted` added to them. Empty stands for the whole vocabulary: where
  // the table knows nothing of a source token, and where the list is more than half of the vocabulary.
  std::vector<int32_t> of(std::span<const int32_t> source, std::span<const int32_t> wanted = {}) const;

  int64_t source_words() const { return std::ssize(begins_) - 2; }
  int64_t target_words() const { return target_words_; }
  // The number of tokens of every list, and of all candidates.
  int64_t common() const { return begins_[1]; }
  int64_t entries() const { return std::ssize(ids_) - common(); }

  // The file belongs to two vocabularies; load() throws an Error for any others.
  void save(const std::string& path, const Vocabulary& source, const Vocabulary& target) const;
  static std::shared_ptr<const Shortlist> load(const std::string& path, const Vocabulary& source,
                                               const Vocabulary& target);

 private:
  Shortlist(std::vector<int32_t> begins, std::vector<int32_t> ids, int64_t target_words);
  std::span<const int32_t> row(int64_t i) const;  // 0: the tokens of every list; 1 + s: the candidates of s

  std::vector<int32_t> begins_, ids_;
  int64_t target_words_;
};

// Estimates a shortlist from text that is translated line by line.
Shortlist estimate_shortlist(const ParallelCorpus& corpus, const Vocabulary& source, const Vocabulary& target,
                             const ShortlistOptions& options);

// The file of a model folder.
std::string shortlist_path(const std::string& folder);

}  // namespace fovea
