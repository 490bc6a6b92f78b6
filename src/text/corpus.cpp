#include "text/corpus.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <mutex>
#include <unordered_set>

#include "base/error.h"
#include "base/random.h"
#include "base/thousands.h"
#include "base/threads.h"
#include "text/words.h"

namespace fovea {

namespace {

constexpr size_t kChunk = size_t{1} << 16;  // lines encoded before they are filtered

using Encoded = std::vector<std::vector<int32_t>>;
using Encode = std::function<std::vector<int32_t>(size_t line)>;

// Encodes the lines [begin, end) on all threads.
Encoded encode_lines(size_t begin, size_t end, const Encode& encode) {
  Encoded encoded(end - begin);
  std::exception_ptr failure;
  std::mutex mutex;
  parallel_for(static_cast<int64_t>(end - begin), 64, [&](int64_t from, int64_t to) {
    try {
      for (auto i = static_cast<size_t>(from); i < static_cast<size_t>(to); ++i) encoded[i] = encode(begin + i);
    } catch (...) {
      const std::scoped_lock lock(mutex);
      failure = std::current_exception();
    }
  });
  if (failure) std::rethrow_exception(failure);
  return encoded;
}

Encode encoder(std::span<const std::string> lines, const Vocabulary& vocabulary, double rate, SamplingSeed seed) {
  if (rate == 0) return [=, &vocabulary](size_t i) { return vocabulary.encode(lines[i]); };
  const RandomBits key = philox(seed.seed, seed.epoch, 0);
  const uint64_t mixed = (uint64_t{key.word[0]} << 32) | key.word[1];
  return [=, &vocabulary](size_t i) {
    Random random(mixed, i);
    return vocabulary.sample(lines[i], rate, random);
  };
}

// Finds pairs with the same text as an earlier pair.
class Duplicates {
 public:
  explicit Duplicates(const ParallelLines& lines) : seen_(0, Hash{lines}, Equal{lines}) {}
  bool seen_before(size_t line) { return !seen_.insert(line).second; }

 private:
  struct Hash {
    const ParallelLines& lines;
    size_t operator()(size_t i) const {
      const std::hash<std::string> hash;
      return hash(lines.source[i]) * 31 + hash(lines.target[i]);
    }
  };
  struct Equal {
    const ParallelLines& lines;
    bool operator()(size_t i, size_t j) const {
      return lines.source[i] == lines.source[j] && lines.target[i] == lines.target[j];
    }
  };
  std::unordered_set<size_t, Hash, Equal> seen_;
};

bool exceeds(size_t length, int64_t limit) { return limit > 0 && length > static_cast<size_t>(limit); }

// The counter for the reason to filter a pair out; null to retain it.
int64_t* reason_by_length(size_t source, size_t target, const CorpusOptions& options, FilterReport& report) {
  if (source == 0) return &report.empty_source;
  if (target == 0) return &report.empty_target;
  if (exceeds(source, options.max_source)) return &report.long_source;
  if (exceeds(target, options.max_target)) return &report.long_target;
  const auto [shorter, longer] = std::minmax(source, target);
  const bool uneven =
      options.max_ratio > 0 && static_cast<double>(longer) > options.max_ratio * static_cast<double>(shorter);
  return uneven ? &report.ratio : nullptr;
}

// Appends a pair with the ids of words that are copied.
void append_copying(const CopyTable& copies, const std::vector<int32_t>& source, const std::vector<int32_t>& target,
                    const std::vector<std::string>& unknown_source, const std::vector<std::string>& unknown_target,
                    ParallelCorpus& corpus) {
  const CopiedSource copied = copies.source(source, unknown_source);
  corpus.source.append(source);
  corpus.copied.append(copied.ids);
  corpus.target.append(copies.target(target, unknown_target, copied.words));
}

std::vector<std::string> unknown_in(const std::vector<int32_t>& ids, const Vocabulary& vocabulary,
                                    const std::string& text) {
  const bool some = std::find(ids.begin(), ids.end(), kUnknown) != ids.end();
  return some ? unknown_entries(vocabulary, text) : std::vector<std::string>();
}

}  // namespace

void Sentences::append(std::span<const int32_t> ids) {
  ids_.insert(ids_.end(), ids.begin(), ids.end());
  ends_.push_back(ids_.size());
}

std::string FilterReport::text() const {
  std::string text = fmt::format("kept {} of {}", thousands(kept), counted(total, "pair"));
  std::string_view separator = "; skipped: ";
  const auto add = [&](int64_t count, std::string_view reason) {
    if (count == 0) return;
    text += fmt::format("{}{} {}", separator, thousands(count), reason);
    separator = ", ";
  };
  add(empty_source, "with an empty source");
  add(empty_target, "with an empty target");
  add(long_word, fmt::format("with a word of more than {} characters", thousands(kMaxWordCharacters)));
  add(long_source, "with a source that is too long");
  add(long_target, "with a target that is too long");
  add(ratio, "over the length ratio");
  add(duplicate, "duplicate");
  if (truncated > 0) text += fmt::format("; truncated {}", counted(truncated, "source"));
  return text;
}

bool has_long_word(std::string_view line, std::string_view vocabulary_kind) {
  const bool subwords = vocabulary_kind == "unigram" || vocabulary_kind == "bpe";
  return subwords && line.size() > kMaxWordCharacters && longest_word(line) > kMaxWordCharacters;
}

BuiltCorpus build_corpus(const ParallelLines& lines, const Vocabulary& source, const Vocabulary& target,
                         const CorpusOptions& options, SamplingSeed seed, const CopyTable* copies) {
  const size_t total = lines.source.size();
  check(lines.target.size() == total, "corpus: expected as many target lines as source lines, got {} and {}",
        lines.target.size(), total);
  const Encode encode_source_line = encoder(lines.source, source, options.sampling, {seed.seed, 2 * seed.epoch});
  const Encode encode_target_line = encoder(lines.target, target, options.sampling, {seed.seed, 2 * seed.epoch + 1});
  BuiltCorpus built;
  FilterReport& report = built.report;
  Duplicates duplicates(lines);
  report.total = static_cast<int64_t>(total);
  for (size_t begin = 0; begin < total; begin += kChunk) {
    const size_t end = std::min(total, begin + kChunk);
    Encoded sources = encode_lines(begin, end, encode_source_line);
    const Encoded targets = encode_lines(begin, end, encode_target_line);
    for (size_t i = begin; i < end; ++i) {
      auto& x = sources[i - begin];
      const auto& y = targets[i - begin];
      if (options.truncate && exceeds(x.size(), options.max_source)) {
        x.resize(static_cast<size_t>(options.max_source));
        ++report.truncated;
      }
      const bool long_word =
          has_long_word(lines.source[i], source.kind()) || has_long_word(lines.target[i], target.kind());
      int64_t* reason = long_word ? &report.long_word : reason_by_length(x.size(), y.size(), options, report);
      if (!reason && options.drop_duplicates && duplicates.seen_before(i)) reason = &report.duplicate;
      if (reason) {
        ++*reason;
        continue;
      }
      if (copies != nullptr) {
        append_copying(*copies, x, y, unknown_in(x, source, lines.source[i]), unknown_in(y, target, lines.target[i]),
                       built.corpus);
      } else {
        built.corpus.source.append(x);
        built.corpus.target.append(y);
      }
      built.corpus.lines.push_back(static_cast<int64_t>(i));
    }
  }
  report.kept = built.corpus.size();
  check(report.kept > 0, "corpus: no pairs left: {}", report.text());
  return built;
}

std::vector<std::vector<int32_t>> encode_lines(std::span<const std::string> lines, const Vocabulary& vocabulary) {
  return encode_lines(0, lines.size(), encoder(lines, vocabulary, 0, {}));
}

}  // namespace fovea
