#include "text/lexical_table.h"

#include <algorithm>
#include <span>

#include "base/error.h"

namespace fovea {

namespace {

constexpr uint64_t key_of(int32_t source, int32_t target) {
  return static_cast<uint64_t>(static_cast<uint32_t>(source)) << 32 | static_cast<uint32_t>(target);
}

// Each token once, and the empty word with those of a source.
void set_tokens(std::span<const int32_t> ids, bool with_empty, std::vector<int32_t>& tokens) {
  tokens.assign(ids.begin(), ids.end());
  if (with_empty) tokens.push_back(kPad);
  std::sort(tokens.begin(), tokens.end());
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
}

// All pairs of tokens that occur in a pair of sentences, sorted by source token. Duplicates are removed whenever the
// list has doubled, so that it never takes much more memory than the result.
std::vector<uint64_t> cooccurrences(const CorpusView& pairs) {
  std::vector<uint64_t> keys;
  std::vector<int32_t> source, target;
  size_t limit = size_t{1} << 22;
  const auto compact = [&] {
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    limit = std::max(limit, 2 * keys.size());
  };
  for (int64_t i = 0; i < pairs.size(); ++i) {
    set_tokens(pairs.source(i), true, source);
    set_tokens(pairs.target(i), false, target);
    for (const int32_t s : source) {
      for (const int32_t t : target) keys.push_back(key_of(s, t));
    }
    if (keys.size() > limit) compact();
  }
  compact();
  return keys;
}

class Model1 {
 public:
  Model1(const CorpusView& pairs, int64_t source_words)
      : keys_(cooccurrences(pairs)), begins_(static_cast<size_t>(source_words) + 1), p_(keys_.size(), 1.0f) {
    for (const uint64_t key : keys_) {
      check(static_cast<int64_t>(key >> 32) < source_words, "lexical table: expected source tokens below {}, got {}",
            source_words, key >> 32);
      ++begins_[(key >> 32) + 1];
    }
    for (size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
  }

  void iterate(const CorpusView& pairs) {
    std::vector<float> counts(p_.size());
    std::vector<size_t> entries;
    for (int64_t i = 0; i < pairs.size(); ++i) {
      for (const int32_t t : pairs.target(i)) {
        entries.assign(1, find(kPad, t));
        for (const int32_t s : pairs.source(i)) entries.push_back(find(s, t));
        float sum = 0.0f;
        for (const size_t e : entries) sum += p_[e];
        for (const size_t e : entries) counts[e] += p_[e] / sum;
      }
    }
    for (size_t s = 0; s + 1 < begins_.size(); ++s) {
      double sum = 0;
      for (size_t e = begins_[s]; e < begins_[s + 1]; ++e) sum += static_cast<double>(counts[e]);
      for (size_t e = begins_[s]; e < begins_[s + 1]; ++e) p_[e] = static_cast<float>(counts[e] / sum);
    }
  }

  LexicalTable table(float least) const {
    LexicalTable table(begins_.size() - 1);
    for (size_t s = 0; s < table.size(); ++s) {
      for (size_t e = begins_[s]; e < begins_[s + 1]; ++e) {
        if (p_[e] >= least) table[s].push_back({static_cast<int32_t>(keys_[e] & 0xFFFFFFFFu), p_[e]});
      }
      std::stable_sort(table[s].begin(), table[s].end(),
                       [](const LexicalEntry& a, const LexicalEntry& b) { return a.probability > b.probability; });
    }
    return table;
  }

 private:
  size_t find(int32_t source, int32_t target) const {
    const auto begin = keys_.begin() + static_cast<std::ptrdiff_t>(begins_[static_cast<size_t>(source)]);
    const auto end = keys_.begin() + static_cast<std::ptrdiff_t>(begins_[static_cast<size_t>(source) + 1]);
    return static_cast<size_t>(std::lower_bound(begin, end, key_of(source, target)) - keys_.begin());
  }

  std::vector<uint64_t> keys_;  // (source, target), sorted
  std::vector<size_t> begins_;  // of each source token in keys_
  std::vector<float> p_;        // p(target | source)
};

}  // namespace

LexicalTable estimate_lexical_table(const CorpusView& pairs, int64_t source_words, int iterations, float least) {
  Model1 model(pairs, source_words);
  for (int i = 0; i < iterations; ++i) model.iterate(pairs);
  return model.table(least);
}

}  // namespace fovea
