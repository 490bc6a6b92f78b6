#include "decode/batch_vocabulary.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "decode/shortlist.h"

namespace fovea {

namespace {

// f32 [B,L] over the tokens `all`, or over the whole vocabulary if there are none.
Tensor mask_of(const std::vector<std::vector<int32_t>>& lists, const std::vector<int32_t>& all, int64_t words,
               Device device) {
  std::vector<int32_t> column(static_cast<size_t>(words));  // of each token
  std::iota(column.begin(), column.end(), 0);
  for (size_t i = 0; i < all.size(); ++i) column[static_cast<size_t>(all[i])] = static_cast<int32_t>(i);
  const auto width = all.empty() ? column.size() : all.size();
  std::vector<float> mask(width * lists.size(), -std::numeric_limits<float>::infinity());
  for (size_t b = 0; b < lists.size(); ++b) {
    const std::span<float> row = std::span(mask).subspan(b * width, width);
    if (lists[b].empty()) std::fill(row.begin(), row.end(), 0.0f);  // the whole vocabulary
    for (const int32_t id : lists[b]) row[static_cast<size_t>(column[static_cast<size_t>(id)])] = 0.0f;
  }
  return from_host(mask, {std::ssize(lists), static_cast<int64_t>(width)}, device);
}

}  // namespace

BatchVocabulary batch_vocabulary(const SearchOptions& options, const CorpusView& sources, const Batch& batch) {
  if (options.shortlist == nullptr) return {};
  const int64_t words = options.shortlist->target_words();
  std::vector<std::vector<int32_t>> lists;
  std::vector<int32_t> wanted;
  TokenSet together(words);
  bool whole = false;
  for (const int64_t row : batch.rows) {
    wanted.clear();
    if (!options.prefixes.empty()) {
      for (const auto& ids : options.prefixes[static_cast<size_t>(row)]) {
        wanted.insert(wanted.end(), ids.begin(), ids.end());
      }
    }
    lists.push_back(options.shortlist->of(sources.source(row), wanted));
    whole = whole || lists.back().empty();
    together.add(lists.back());
  }
  BatchVocabulary vocabulary;
  if (!whole) vocabulary.ids = together.sorted();
  const auto has_all = [&](const std::vector<int32_t>& list) { return list.size() == vocabulary.ids.size(); };
  if (std::all_of(lists.begin(), lists.end(), has_all)) return vocabulary;
  vocabulary.mask = Var(mask_of(lists, vocabulary.ids, words, batch.source.device()));
  return vocabulary;
}

}  // namespace fovea
