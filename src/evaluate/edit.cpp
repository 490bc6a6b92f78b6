#include "evaluate/edit.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/ngrams.h"
#include "text/unicode.h"

namespace fovea {
namespace {

// A segment with one symbol for each unit (word or character) that edits are counted in.
struct EncodedSegment {
  std::u32string hypothesis;
  std::vector<std::u32string> references;
};

template <class Encode> EncodedSegment encode_each(const Segment& segment, Encode encode) {
  EncodedSegment encoded{.hypothesis = encode(unicode::decode(segment.hypothesis))};
  for (const std::string& line : segment.references) encoded.references.push_back(encode(unicode::decode(line)));
  return encoded;
}

EncodedSegment encode_words(const Segment& segment) {
  SymbolTable<std::u32string> symbols;
  return encode_each(segment, [&symbols](const std::u32string& text) {
    const std::vector<std::u32string_view> words = unicode::split(text);
    return symbols.encode(std::vector<std::u32string>(words.begin(), words.end()));
  });
}

EncodedSegment encode_characters(const Segment& segment) {
  return encode_each(segment, [](const std::u32string& text) {
    std::u32string spaced;
    for (const std::u32string_view word : unicode::split(text)) {
      if (!spaced.empty()) spaced += U' ';
      spaced += word;
    }
    return spaced;
  });
}

// The fewest edits that make the reference into the hypothesis (Levenshtein 1966), a row of the table at
// a time. Of equally short ways, the one that substitutes most.
ErrorRate edit_distance(std::u32string_view hypothesis, std::u32string_view reference) {
  std::vector<ErrorRate> row(hypothesis.size() + 1);
  for (size_t i = 1; i < row.size(); ++i) row[i].insertions = static_cast<int64_t>(i);
  for (const char32_t expected : reference) {
    ErrorRate diagonal = row[0];
    ++row[0].deletions;
    for (size_t i = 1; i < row.size(); ++i) {
      ErrorRate best = diagonal, deleted = row[i], inserted = row[i - 1];
      diagonal = row[i];
      if (hypothesis[i - 1] != expected) ++best.substitutions;
      ++deleted.deletions;
      ++inserted.insertions;
      if (deleted.errors() < best.errors()) best = deleted;
      if (inserted.errors() < best.errors()) best = inserted;
      row[i] = best;
    }
  }
  return row.back();
}

// A missing word and an extra word make one substitution.
ErrorRate bag_distance(std::u32string_view hypothesis, std::u32string_view reference) {
  int64_t extra = 0, missing = static_cast<int64_t>(reference.size());
  const NgramCounts expected = count_ngrams(reference, 1);
  for (const auto& [word, count] : count_ngrams(hypothesis, 1)) {
    const auto found = expected.find(word);
    const int64_t matches = found == expected.end() ? 0 : std::min(count, found->second);
    extra += count - matches;
    missing -= matches;
  }
  const int64_t both = std::min(extra, missing);
  return {.substitutions = both, .insertions = extra - both, .deletions = missing - both};
}

template <class Encode, class Distance>
ErrorRate sum_best(std::string_view metric, std::span<const Segment> segments, Encode encode, Distance distance) {
  check_segments(metric, segments);
  ErrorRate sum;
  for (const Segment& segment : segments) {
    const EncodedSegment encoded = encode(segment);
    ErrorRate best;
    for (size_t i = 0; i < encoded.references.size(); ++i) {
      ErrorRate rate = distance(encoded.hypothesis, encoded.references[i]);
      rate.reference_length = static_cast<int64_t>(encoded.references[i].size());
      if (i == 0 || rate.errors() < best.errors()) best = rate;
    }
    sum.substitutions += best.substitutions;
    sum.insertions += best.insertions;
    sum.deletions += best.deletions;
    sum.reference_length += best.reference_length;
  }
  return sum;
}

}  // namespace

double ErrorRate::percent() const {
  return 100 * static_cast<double>(errors()) / static_cast<double>(std::max<int64_t>(1, reference_length));
}

ErrorRate word_error_rate(std::span<const Segment> segments) {
  return sum_best("word error rate", segments, encode_words, edit_distance);
}

ErrorRate character_error_rate(std::span<const Segment> segments) {
  return sum_best("character error rate", segments, encode_characters, edit_distance);
}

ErrorRate position_independent_error_rate(std::span<const Segment> segments) {
  return sum_best("position-independent error rate", segments, encode_words, bag_distance);
}

double exact_match(std::span<const Segment> segments) {
  check_segments("exact match", segments);
  const auto exact = std::count_if(segments.begin(), segments.end(), [](const Segment& segment) {
    const EncodedSegment encoded = encode_words(segment);
    return std::find(encoded.references.begin(), encoded.references.end(), encoded.hypothesis) !=
           encoded.references.end();
  });
  return 100 * static_cast<double>(exact) / static_cast<double>(segments.size());
}

}  // namespace fovea
