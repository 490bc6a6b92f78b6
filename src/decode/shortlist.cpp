#include "decode/shortlist.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/error.h"
#include "base/fields.h"
#include "store/safetensors.h"

namespace fovea {

namespace {

// Products in 8 bits need as many columns; with fewer, a sentence would be computed in another precision.
constexpr int64_t kFewestCommon = 16;

constexpr std::string_view kFingerprint = "vocabularies", kBegins = "begins", kIds = "ids";

void sort_unique(std::vector<int32_t>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

// Tells vocabularies apart (FNV-1a).
std::string fingerprint(const Vocabulary& source, const Vocabulary& target) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const Vocabulary* vocabulary : {&source, &target}) {
    for (const char c : vocabulary->bytes()) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001B3u;
  }
  return fmt::format("{:016x}", hash);
}

// Every k-th pair, so that at most max_pairs are left.
struct Sample {
  std::vector<std::span<const int32_t>> sources, targets;
  Sample(const ParallelCorpus& corpus, int64_t max_pairs) {
    const int64_t step = (corpus.size() + max_pairs - 1) / max_pairs;
    for (int64_t i = 0; i < corpus.size(); i += std::max<int64_t>(1, step)) {
      sources.push_back(corpus.source[i]);
      targets.push_back(corpus.target[i]);
    }
  }
};

// The tokens that occur most often, and the two that a search may need anywhere.
std::vector<int32_t> most_frequent(std::span<const std::span<const int32_t>> targets, int64_t words, int64_t count) {
  std::vector<int64_t> seen(static_cast<size_t>(words));
  for (const std::span<const int32_t> target : targets) {
    for (const int32_t id : target) ++seen[static_cast<size_t>(id)];
  }
  std::vector<int32_t> ids(seen.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(),
                   [&](int32_t a, int32_t b) { return seen[static_cast<size_t>(a)] > seen[static_cast<size_t>(b)]; });
  ids.resize(static_cast<size_t>(std::min(count, words)));
  ids.insert(ids.end(), {kUnknown, kEnd});
  return ids;
}

}  // namespace

void ShortlistOptions::describe(Fields& f) {
  f.add("frequent", frequent, "Target tokens that every list has: the most frequent ones.")
      .at_least(static_cast<double>(kFewestCommon));
  f.add("candidates", candidates, "Target tokens for each source token: its most likely translations.").at_least(1);
  f.add("max_pairs", max_pairs, "Pairs to estimate from; of a larger corpus, this many are taken at equal distances.")
      .at_least(1);
}

void TokenSet::add(std::span<const int32_t> ids) {
  for (const int32_t id : ids) bits_[static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64);
}

std::vector<int32_t> TokenSet::sorted() const {
  std::vector<int32_t> ids;
  for (size_t word = 0; word < bits_.size(); ++word) {
    for (uint64_t left = bits_[word]; left != 0; left &= left - 1) {
      ids.push_back(static_cast<int32_t>(64 * word) + std::countr_zero(left));
    }
  }
  return ids;
}

Shortlist::Shortlist(std::vector<int32_t> common, const std::vector<std::vector<int32_t>>& candidates,
                     int64_t target_words)
    : target_words_(target_words) {
  sort_unique(common);
  begins_.push_back(0);
  ids_ = std::move(common);
  begins_.push_back(static_cast<int32_t>(ids_.size()));
  for (std::vector<int32_t> row : candidates) {
    sort_unique(row);
    ids_.insert(ids_.end(), row.begin(), row.end());
    begins_.push_back(static_cast<int32_t>(ids_.size()));
  }
}

Shortlist::Shortlist(std::vector<int32_t> begins, std::vector<int32_t> ids, int64_t target_words)
    : begins_(std::move(begins)), ids_(std::move(ids)), target_words_(target_words) {}

std::span<const int32_t> Shortlist::row(int64_t i) const {
  const auto at = static_cast<size_t>(i);
  return {ids_.data() + begins_[at], ids_.data() + begins_[at + 1]};
}

std::vector<int32_t> Shortlist::of(std::span<const int32_t> source, std::span<const int32_t> wanted) const {
  TokenSet list(target_words_);
  list.add(row(0));
  for (const int32_t token : source) {
    if (token == kEnd || token == kPad) continue;
    const std::span<const int32_t> found = row(token + 1);
    if (found.empty()) return {};
    list.add(found);
  }
  list.add(wanted);
  std::vector<int32_t> ids = list.sorted();
  if (2 * std::ssize(ids) > target_words_) ids.clear();
  return ids;
}

void Shortlist::save(const std::string& path, const Vocabulary& source, const Vocabulary& target) const {
  const auto tensor = [](const std::vector<int32_t>& x) { return from_host(x, {std::ssize(x)}, Device::cpu()); };
  write_safetensors(path, {{std::string(kBegins), tensor(begins_)}, {std::string(kIds), tensor(ids_)}},
                    {{std::string(kFingerprint), fingerprint(source, target)}});
}

std::shared_ptr<const Shortlist> Shortlist::load(const std::string& path, const Vocabulary& source,
                                                 const Vocabulary& target) {
  const SafetensorsFile file(path);
  const auto belongs = file.metadata().find(std::string(kFingerprint));
  check(belongs != file.metadata().end(), "{}: expected a shortlist, as `fovea shortlist` writes it", path);
  const int64_t rows = source.size() + 1;
  check(belongs->second == fingerprint(source, target) && file.has(kBegins, {rows + 1}),
        "{}: expected a shortlist for the vocabularies of this model, got one for others", path);
  const auto read = [&](std::string_view name, int64_t size) {
    const Tensor x = empty({size}, DType::kI32, Device::cpu());
    file.read(name, x);
    return to_host<int32_t>(x);
  };
  std::vector<int32_t> begins = read(kBegins, rows + 1);
  const bool ascends = begins.front() == 0 && std::is_sorted(begins.begin(), begins.end());
  check(ascends && file.has(kIds, {begins.back()}),
        "{}: expected begins that ascend from 0 to the number of ids, got others", path);
  std::vector<int32_t> ids = read(kIds, begins.back());
  for (const int32_t id : ids) {
    check(id >= 0 && id < target.size(), "{}: expected target tokens from 0 to {}, got {}", path, target.size() - 1,
          id);
  }
  const auto common = std::span(ids).first(static_cast<size_t>(begins[1]));
  check(std::ssize(common) >= std::min(kFewestCommon, target.size()) &&
            std::find(common.begin(), common.end(), kEnd) != common.end(),
        "{}: expected at least {} tokens for every sentence, the end mark among them, got {}", path,
        std::min(kFewestCommon, target.size()), common.size());
  return std::shared_ptr<const Shortlist>(new Shortlist(std::move(begins), std::move(ids), target.size()));
}

Shortlist estimate_shortlist(const ParallelCorpus& corpus, const Vocabulary& source, const Vocabulary& target,
                             const ShortlistOptions& options) {
  const Sample sample(corpus, options.max_pairs);
  const LexicalTable table = estimate_lexical_table(CorpusView(sample.sources, sample.targets), source.size());
  std::vector<std::vector<int32_t>> candidates(table.size());
  for (size_t s = 0; s < table.size(); ++s) {
    const auto id = static_cast<int32_t>(s);
    if (table[s].empty() || id == kPad) continue;
    const auto count = std::min(table[s].size(), static_cast<size_t>(options.candidates));
    for (size_t i = 0; i < count; ++i) candidates[s].push_back(table[s][i].target);
    // Names and numbers are copied: the token's own text, as the target vocabulary writes it.
    if (is_control_token(id) || id == kUnknown) continue;
    for (const int32_t own : target.encode(source.decode({&id, 1}))) candidates[s].push_back(own);
  }
  return {most_frequent(sample.targets, target.size(), options.frequent), candidates, target.size()};
}

std::string shortlist_path(const std::string& folder) { return folder + "/shortlist.safetensors"; }

}  // namespace fovea
