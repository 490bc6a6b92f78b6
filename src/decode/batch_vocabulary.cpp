#include "decode/batch_vocabulary.h"

#include <algorithm>
#include <limits>

#include "decode/shortlist.h"

namespace fovea {

namespace {

// Writes the row of a sentence's list in the mask over `all` tokens, of which there are so many if all are computed.
void mask_others(const std::vector<int32_t>& list, const std::vector<int32_t>& all, std::span<float> row) {
  if (list.empty()) return;  // the whole vocabulary
  std::fill(row.begin(), row.end(), -std::numeric_limits<float>::infinity());
  auto at = all.begin();
  for (const int32_t id : list) {
    if (!all.empty()) at = std::lower_bound(at, all.end(), id);
    row[static_cast<size_t>(all.empty() ? id : at - all.begin())] = 0.0f;
  }
}

}  // namespace

BatchVocabulary batch_vocabulary(const SearchOptions& options, const CorpusView& sources, const Batch& batch) {
  if (options.shortlist == nullptr) return {};
  std::vector<std::vector<int32_t>> lists;
  std::vector<int32_t> all, wanted;
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
    all.insert(all.end(), lists.back().begin(), lists.back().end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (whole) all.clear();
  BatchVocabulary vocabulary{.ids = all, .mask = {}};
  if (std::all_of(lists.begin(), lists.end(), [&](const auto& list) { return list == all; })) return vocabulary;
  const auto width = whole ? static_cast<size_t>(options.shortlist->target_words()) : all.size();
  std::vector<float> mask(width * lists.size());
  for (size_t b = 0; b < lists.size(); ++b) mask_others(lists[b], all, std::span(mask).subspan(b * width, width));
  vocabulary.mask = Var(from_host(mask, {std::ssize(lists), static_cast<int64_t>(width)}, batch.source.device()));
  return vocabulary;
}

}  // namespace fovea
