// Sentences as token ids, ready for batching, and a report of the pairs that were filtered out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "text/copying.h"
#include "text/lines.h"
#include "text/vocabulary.h"

namespace fovea {

// The token ids of many sentences in one contiguous vector.
class Sentences {
 public:
  void append(std::span<const int32_t> ids);
  int64_t size() const { return static_cast<int64_t>(ends_.size()) - 1; }
  int64_t length(int64_t i) const { return static_cast<int64_t>((*this)[i].size()); }
  std::span<const int32_t> operator[](int64_t i) const {
    const auto at = static_cast<size_t>(i);
    return {ids_.data() + ends_[at], ids_.data() + ends_[at + 1]};
  }

 private:
  std::vector<int32_t> ids_;
  std::vector<size_t> ends_ = {0};
};

struct ParallelCorpus {
  Sentences source, target;    // the target is empty for text to be translated
  Sentences copied;            // for a model that copies: the source tokens as target ids, see text/copying.h
  std::vector<int64_t> lines;  // lines[i] is the line of the text, from 0, that pair i was read from

  int64_t size() const { return source.size(); }
  bool has_target() const { return target.size() > 0; }
};

// The token ids of sentences, or of sentence pairs, that are stored elsewhere: in a corpus, or one by one. With copied
// ids, targets may have extended ids.
class CorpusView {
 public:
  using Rows = std::span<const std::span<const int32_t>>;
  CorpusView(const ParallelCorpus& corpus) : corpus_(&corpus) {}  // NOLINT(google-explicit-constructor)
  explicit CorpusView(Rows sources, Rows targets = {}, Rows copied = {})
      : sources_(sources), targets_(targets), copied_(copied) {}

  int64_t size() const { return corpus_ != nullptr ? corpus_->size() : std::ssize(sources_); }
  bool has_target() const { return !source_only_ && (corpus_ != nullptr ? corpus_->has_target() : !targets_.empty()); }
  std::span<const int32_t> source(int64_t i) const {
    return corpus_ != nullptr ? corpus_->source[i] : sources_[static_cast<size_t>(i)];
  }
  std::span<const int32_t> target(int64_t i) const {
    return corpus_ != nullptr ? corpus_->target[i] : targets_[static_cast<size_t>(i)];
  }
  bool has_copied() const { return corpus_ != nullptr ? corpus_->copied.size() > 0 : !copied_.empty(); }
  std::span<const int32_t> copied(int64_t i) const {
    return corpus_ != nullptr ? corpus_->copied[i] : copied_[static_cast<size_t>(i)];
  }
  CorpusView source_only() const {
    CorpusView view = *this;
    view.source_only_ = true;
    return view;
  }

 private:
  const ParallelCorpus* corpus_ = nullptr;
  Rows sources_, targets_, copied_;
  bool source_only_ = false;
};

struct CorpusOptions {
  int64_t max_source = 250, max_target = 250;
  bool truncate = false;
  double max_ratio = 0;
  bool drop_duplicates = false;
  double sampling = 0;

  void describe(Fields& fields);
};

// A pair that was filtered out is counted once, under the first reason that applies.
struct FilterReport {
  int64_t total = 0, kept = 0;
  int64_t empty_source = 0, empty_target = 0, long_word = 0, long_source = 0, long_target = 0, ratio = 0, duplicate = 0;
  int64_t truncated = 0;  // of all pairs, also of those that were filtered out

  std::string text() const;  // "kept 28,990 of 29,000 pairs; skipped: 3 with an empty source, ..."
};

// Whether the line has a word that is too long for SentencePiece. Vocabularies that are lists accept any word.
bool has_long_word(std::string_view line, std::string_view vocabulary_kind);

struct BuiltCorpus {
  ParallelCorpus corpus;
  FilterReport report;
};

// With the line number, the seed of a pair's subword sampling.
struct SamplingSeed {
  uint64_t seed = 1, epoch = 0;
};

// Throws an Error if all pairs were filtered out. With a copy table, the corpus has copied and extended ids.
BuiltCorpus build_corpus(const ParallelLines& lines, const Vocabulary& source, const Vocabulary& target,
                         const CorpusOptions& options, SamplingSeed seed = {}, const CopyTable* copies = nullptr);

// The token ids of each line, computed on all threads.
std::vector<std::vector<int32_t>> encode_lines(std::span<const std::string> lines, const Vocabulary& vocabulary);

}  // namespace fovea
