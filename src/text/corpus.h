// Sentences as ids, ready for batching, and the report of what was left out and why.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "text/lines.h"
#include "text/vocabulary.h"

namespace fovea {

// Many sentences in one piece of memory.
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
  Sentences source, target;    // target is empty when there is none
  std::vector<int64_t> lines;  // of the text, from 0, that pair i came from

  int64_t size() const { return source.size(); }
  bool has_target() const { return target.size() > 0; }
};

struct CorpusOptions {
  int64_t max_source = 250, max_target = 250;
  double max_ratio = 0;
  bool drop_duplicates = false;
  double sampling = 0;

  void describe(Fields& fields);
};

// Each pair that was left out counts once, for the first of these reasons that holds.
struct FilterReport {
  int64_t total = 0, kept = 0;
  int64_t empty_source = 0, empty_target = 0, long_word = 0, long_source = 0, long_target = 0, ratio = 0, duplicate = 0;

  std::string text() const;  // "kept 28,990 of 29,000 pairs; skipped: 3 with an empty source, ..."
};

// Whether the line has a word too long for this kind of vocabulary: a list takes any word, subwords do not.
bool has_long_word(std::string_view line, std::string_view vocabulary_kind);

struct BuiltCorpus {
  ParallelCorpus corpus;
  FilterReport report;
};

// What a pair's random cuts depend on, beside its line.
struct SamplingSeed {
  uint64_t seed = 1, epoch = 0;
};

// Error when nothing is left.
BuiltCorpus build_corpus(const ParallelLines& lines, const Vocabulary& source, const Vocabulary& target,
                         const CorpusOptions& options, SamplingSeed seed = {});

// For decoding: the source alone, every line of it.
ParallelCorpus encode_source(std::span<const std::string> lines, const Vocabulary& vocabulary);

}  // namespace fovea
