#include "text/batches.h"

#include <algorithm>
#include <cmath>
#include <compare>
#include <numeric>

#include "base/error.h"
#include "base/random.h"

namespace fovea {

namespace {

constexpr int64_t kBucket = 4;

int64_t rounded_up(int64_t length, int64_t multiple) { return (length + multiple - 1) / multiple * multiple; }

// The padded lengths of a pair, or the largest ones of a batch.
struct Lengths {
  int64_t target = 0, source = 0;
  friend auto operator<=>(const Lengths&, const Lengths&) = default;  // NOLINT(modernize-use-nullptr): misread
};

Lengths lengths_of(const CorpusView& corpus, int64_t row, const BatchOptions& options, int64_t multiple) {
  Lengths lengths;
  lengths.source = rounded_up(std::ssize(corpus.source(row)) + (options.end_source ? 1 : 0), multiple);
  if (corpus.has_target()) lengths.target = rounded_up(std::ssize(corpus.target(row)) + 1, multiple);
  return lengths;
}

// For sorting and for the token limit, lengths are rounded up to multiples of this width. Shuffling needs wide buckets:
// with exact lengths, half of the pairs that share a batch of a 29,000-line corpus would share one again in the next
// epoch; with a width of 4 it is a ninth, at the price of 4% more batches.
int64_t bucket_width(const BatchOptions& options) {
  return options.shuffle ? rounded_up(kBucket, options.multiple) : options.multiple;
}

Lengths maximum(const Lengths& a, const Lengths& b) {
  return {.target = std::max(a.target, b.target), .source = std::max(a.source, b.source)};
}

template <class T> void shuffle(std::span<T> items, Random& random) {
  for (size_t left = items.size(); left > 1; --left) std::swap(items[left - 1], items[random.below(left)]);
}

// Token ids [time, B], filled column by column.
class Columns {
 public:
  Columns(int64_t time, int64_t columns) : shape_{time, columns}, ids_(static_cast<size_t>(time * columns), kPad) {}
  template <class Ids> void fill(int64_t column, int64_t begin, const Ids& ids) {
    for (const int32_t id : ids) put(begin++, column, id);
  }
  void put(int64_t time, int64_t column, int32_t id) { ids_[static_cast<size_t>(time * shape_[1] + column)] = id; }
  Tensor on(Device device) const { return from_host(ids_, shape_, device); }

 private:
  Shape shape_;
  std::vector<int32_t> ids_;
};

// The token ids of a pair as they enter a batch.
struct Pair {
  std::vector<int32_t> source, copied, target;
};

// Gives words that the pair has on both sides extended ids. Each pair has a rate of its own, u^((1-p)/p) with u
// uniform, whose mean is p: some pairs show almost all of their words and others almost none, as texts of another kind
// do.
void hide_words(Pair& pair, int64_t row, const CopyOptions& copies) {
  const RandomBits key = philox(copies.seed, copies.epoch, static_cast<uint64_t>(row));
  Random random(uint64_t{key.word[0]} << 32 | key.word[1], 0);
  const double rate = std::pow(random.uniform(), (1 - copies.hidden) / copies.hidden);
  int32_t next = static_cast<int32_t>(copies.vocabulary);
  for (const int32_t id : pair.copied) next = std::max(next, id + 1);
  for (size_t s = 0; s < pair.copied.size(); ++s) {
    const int32_t id = pair.copied[s];
    const bool first = std::find(pair.copied.begin(), pair.copied.begin() + static_cast<int64_t>(s), id) ==
                       pair.copied.begin() + static_cast<int64_t>(s);
    if (id <= kEnd || id >= copies.vocabulary || !first) continue;
    if (std::find(pair.target.begin(), pair.target.end(), id) == pair.target.end()) continue;
    if (random.uniform() >= rate) continue;
    for (size_t i = s; i < pair.copied.size(); ++i) {
      if (pair.copied[i] != id) continue;
      pair.copied[i] = next;
      pair.source[i] = kUnknown;
    }
    std::replace(pair.target.begin(), pair.target.end(), id, next++);
  }
}

Pair pair_at(const CorpusView& corpus, int64_t row, const CopyOptions& copies) {
  const auto list = [](std::span<const int32_t> ids) { return std::vector<int32_t>(ids.begin(), ids.end()); };
  Pair pair;
  pair.source = list(corpus.source(row));
  if (corpus.has_target()) pair.target = list(corpus.target(row));
  if (copies.vocabulary == 0) return pair;
  pair.copied = list(corpus.copied(row));
  if (copies.hidden > 0) hide_words(pair, row, copies);
  return pair;
}

// Adds the copied ids [B,S] and the number of extended ids.
void add_copied(Batch& batch, std::span<const Pair> pairs, int64_t time, const BatchOptions& options,
                const CopyOptions& copies, Device device) {
  batch.vocabulary = copies.vocabulary;
  int64_t most = 0;
  std::vector<int32_t> ids(pairs.size() * static_cast<size_t>(time), kPad);
  for (size_t b = 0; b < pairs.size(); ++b) {
    const auto row = ids.begin() + static_cast<int64_t>(b) * time;
    const std::vector<int32_t>& from = pairs[b].copied;
    if (options.reverse_source) {
      std::copy(from.rbegin(), from.rend(), row);
    } else {
      std::copy(from.begin(), from.end(), row);
    }
    if (options.end_source) row[std::ssize(from)] = kEnd;
    for (const int32_t id : from) most = std::max(most, id + 1 - copies.vocabulary);
  }
  batch.extended = rounded_up(most, kExtendedMultiple);
  batch.copied = from_host(ids, {std::ssize(pairs), time}, device);
}

void add_source(Batch& batch, std::span<const Pair> pairs, int64_t time, const BatchOptions& options, Device device) {
  const auto count = static_cast<int64_t>(batch.rows.size());
  Columns ids(time, count), lengths(1, count);
  for (int64_t column = 0; column < count; ++column) {
    const std::vector<int32_t>& sentence = pairs[static_cast<size_t>(column)].source;
    auto length = static_cast<int64_t>(sentence.size());
    if (options.reverse_source) {
      ids.fill(column, 0, std::vector<int32_t>(sentence.rbegin(), sentence.rend()));
    } else {
      ids.fill(column, 0, sentence);
    }
    if (options.end_source) ids.put(length++, column, kEnd);
    lengths.put(0, column, static_cast<int32_t>(length));
  }
  batch.source = ids.on(device);
  batch.source_lengths = lengths.on(device)[0];
}

void add_target(Batch& batch, std::span<const Pair> pairs, int64_t time, Device device) {
  const auto count = static_cast<int64_t>(batch.rows.size());
  Columns in(time, count), out(time, count), generated(time, count), lengths(1, count);
  std::vector<float> mask(static_cast<size_t>(time * count));
  const auto replaced = [&](std::vector<int32_t> ids, int32_t extended) {
    for (int32_t& id : ids) id = batch.vocabulary > 0 && id >= batch.vocabulary ? extended : id;
    return ids;
  };
  for (int64_t column = 0; column < count; ++column) {
    const std::vector<int32_t>& sentence = pairs[static_cast<size_t>(column)].target;
    const auto length = static_cast<int64_t>(sentence.size());
    in.put(0, column, kBegin);
    in.fill(column, 1, replaced(sentence, kUnknown));
    out.fill(column, 0, sentence);
    out.put(length, column, kEnd);
    generated.fill(column, 0, replaced(sentence, kPad));
    generated.put(length, column, kEnd);
    lengths.put(0, column, static_cast<int32_t>(length + 1));
    for (int64_t t = 0; t <= length; ++t) mask[static_cast<size_t>(t * count + column)] = 1.0f;
    batch.target_tokens += length + 1;
  }
  batch.target_in = in.on(device);
  batch.target_out = out.on(device);
  if (batch.vocabulary > 0) batch.generated = generated.on(device);
  batch.target_lengths = lengths.on(device)[0];
  batch.target_mask = from_host(mask, {time, count}, device);
  batch.token_share = from_host(std::vector{1.0f / static_cast<float>(batch.target_tokens)}, {1}, device);
}

Lengths max_lengths(const CorpusView& corpus, std::span<const int64_t> rows, const BatchOptions& options) {
  Lengths most;
  for (const int64_t row : rows) {
    check(row >= 0 && row < corpus.size(), "batches: expected rows below {}, got {}", corpus.size(), row);
    most = maximum(most, lengths_of(corpus, row, options, options.multiple));
  }
  return most;
}

}  // namespace

Batch make_batch(const CorpusView& corpus, std::span<const int64_t> rows, const BatchOptions& options, Device device,
                 const CopyOptions& copies) {
  check(copies.vocabulary == 0 || corpus.has_copied(), "batches: expected a corpus with copied ids, got one without");
  Batch batch;
  batch.rows.assign(rows.begin(), rows.end());
  const Lengths most = max_lengths(corpus, rows, options);
  std::vector<Pair> pairs;
  for (const int64_t row : rows) pairs.push_back(pair_at(corpus, row, copies));
  add_source(batch, pairs, most.source, options, device);
  if (copies.vocabulary > 0) add_copied(batch, pairs, most.source, options, copies, device);
  if (corpus.has_target()) add_target(batch, pairs, most.target, device);
  return batch;
}

int64_t padded_tokens(const CorpusView& corpus, std::span<const int64_t> rows, const BatchOptions& options) {
  const Lengths most = max_lengths(corpus, rows, options);
  return std::ssize(rows) * (most.source + most.target);
}

Batcher::Batcher(const CorpusView& corpus, const BatchOptions& options)
    : corpus_(corpus), options_(options), sorted_(static_cast<size_t>(corpus.size())), begins_{0} {
  check(corpus.size() > 0, "batches: expected sentences, got none");
  check(options.tokens > 0 || options.sentences > 0, "batches: expected a limit on tokens or sentences, got none");
  check(options.multiple > 0, "batches: expected a multiple of at least 1, got {}", options.multiple);
  std::vector<Lengths> lengths;
  for (int64_t row = 0; row < corpus.size(); ++row)
    lengths.push_back(lengths_of(corpus, row, options, bucket_width(options)));
  const auto length = [&](int64_t row) { return lengths[static_cast<size_t>(row)]; };
  std::iota(sorted_.begin(), sorted_.end(), 0);
  std::stable_sort(sorted_.begin(), sorted_.end(), [&](int64_t a, int64_t b) { return length(a) < length(b); });
  Lengths most;
  for (size_t i = 0; i < sorted_.size(); ++i) {
    most = maximum(most, length(sorted_[i]));
    const auto count = static_cast<int64_t>(i + 1 - begins_.back());
    const bool too_many_tokens = options.tokens > 0 && count * std::max(most.source, most.target) > options.tokens;
    const bool too_many = options.sentences > 0 && count > options.sentences;
    if (count > 1 && (too_many_tokens || too_many)) {
      begins_.push_back(i);
      most = length(sorted_[i]);
    }
  }
  begins_.push_back(sorted_.size());
  order_.resize(static_cast<size_t>(batches()));
  arrange();
}

// Shuffles for the current epoch. Pairs are shuffled only within their bucket, so that all epochs have the same number
// of batches and, if lengths are padded to the bucket width, the same shapes.
void Batcher::arrange() {
  rows_ = sorted_;
  std::iota(order_.begin(), order_.end(), size_t{0});
  if (!options_.shuffle) return;
  Random random(static_cast<uint64_t>(options_.seed), static_cast<uint64_t>(state_.epoch));
  for (size_t begin = 0; begin < rows_.size();) {
    const auto length = [&](size_t i) { return lengths_of(corpus_, rows_[i], options_, bucket_width(options_)); };
    size_t end = begin + 1;
    while (end < rows_.size() && length(end) == length(begin)) ++end;
    shuffle(std::span(rows_).subspan(begin, end - begin), random);
    begin = end;
  }
  shuffle(std::span(order_), random);
}

Batch Batcher::next(Device device, const CopyOptions& copies) {
  return make_batch(corpus_, next_rows(), options_, device, copies);
}

std::vector<int64_t> Batcher::next_rows() {
  const size_t index = order_[static_cast<size_t>(state_.next)];
  const auto found = std::span(rows_).subspan(begins_[index], begins_[index + 1] - begins_[index]);
  std::vector<int64_t> rows(found.begin(), found.end());
  if (++state_.next == batches()) {
    state_ = {.epoch = state_.epoch + 1, .next = 0};
    arrange();
  }
  return rows;
}

void Batcher::set_state(State state) {
  check(state.epoch >= 0 && state.next >= 0 && state.next < batches(),
        "batches: expected a position within the {} batches of an epoch, got batch {} of epoch {}", batches(),
        state.next, state.epoch);
  state_ = state;
  arrange();
}

}  // namespace fovea
