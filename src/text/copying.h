// Words that a target copies from its source. A source token that the target vocabulary of V tokens has is copied as
// that token. Every other one has an extended id of its own sentence: V, V+1 ... in the order of the words, where equal
// words have equal ids.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "text/vocabulary.h"

namespace fovea {

// The source tokens of one sentence, as its target may copy them.
struct CopiedSource {
  std::vector<int32_t> ids;        // for each source token a target id or an extended id
  std::vector<std::string> words;  // of the extended ids, as the vocabulary writes its entries
};

// How the unknown tokens of a text would be written as entries of the vocabulary, in order.
std::vector<std::string> unknown_entries(const Vocabulary& vocabulary, std::string_view text);

class CopyTable {
 public:
  // The two vocabularies must have units of the same kind: words, characters or subwords.
  CopyTable(const Vocabulary& source, const Vocabulary& target);
  int64_t target_size() const { return target_size_; }  // V

  // `unknown` has an entry for each unknown token among the ids.
  CopiedSource source(std::span<const int32_t> ids, std::span<const std::string> unknown) const;
  // The ids of a target, with the extended ids of the words that its source has.
  std::vector<int32_t> target(std::span<const int32_t> ids, std::span<const std::string> unknown,
                              std::span<const std::string> words) const;

 private:
  int64_t target_size_;
  std::vector<int32_t> target_ids_;       // for each source id; kUnknown: the target vocabulary does not have it
  std::vector<std::string> source_only_;  // the entries of these source ids; else empty
  std::unordered_map<std::string, int32_t> by_entry_;  // the ids of the target vocabulary
};

// The target vocabulary of one sentence: it also decodes extended ids.
class ExtendedVocabulary final : public Vocabulary {
 public:
  ExtendedVocabulary(std::shared_ptr<const Vocabulary> vocabulary, std::vector<std::string> words)
      : vocabulary_(std::move(vocabulary)), words_(std::move(words)) {}
  std::string_view kind() const override { return vocabulary_->kind(); }
  int64_t size() const override { return vocabulary_->size() + std::ssize(words_); }
  std::string piece(int32_t id) const override;
  std::vector<Token> tokenise(std::string_view text) const override { return vocabulary_->tokenise(text); }
  std::vector<int32_t> encode(std::string_view text) const override { return vocabulary_->encode(text); }
  std::string_view extension() const override { return vocabulary_->extension(); }
  std::string bytes() const override { return vocabulary_->bytes(); }

 protected:
  std::string decode_valid(std::span<const int32_t> ids, std::vector<Token>& tokens) const override;

 private:
  std::shared_ptr<const Vocabulary> vocabulary_;
  std::vector<std::string> words_;
};

}  // namespace fovea
