#include "evaluate/edit.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "evaluate/ngrams.h"
#include "evaluate/unicode.h"

namespace fovea {
namespace {

// A segment as strings, with a letter for each thing that can be wrong.
struct Spelled {
  std::u32string hypothesis;
  std::vector<std::u32string> references;
};

template <class Spell> Spelled spell_each(const Segment& segment, Spell spell) {
  Spelled spelled{.hypothesis = spell(unicode::decode(segment.hypothesis))};
  for (const std::string& line : segment.references) spelled.references.push_back(spell(unicode::decode(line)));
  return spelled;
}

Spelled spell_words(const Segment& segment) {
  Alphabet<std::u32string> alphabet;
  return spell_each(segment, [&alphabet](const std::u32string& text) {
    const std::vector<std::u32string_view> words = unicode::split(text);
    return alphabet.spell(std::vector<std::u32string>(words.begin(), words.end()));
  });
}

Spelled spell_characters(const Segment& segment) {
  return spell_each(segment, [](const std::u32string& text) {
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

// A word too many beside a word missing is one substitution.
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

template <class Spell, class Distance>
ErrorRate sum_best(std::string_view metric, std::span<const Segment> segments, Spell spell, Distance distance) {
  check_segments(metric, segments);
  ErrorRate sum;
  for (const Segment& segment : segments) {
    const Spelled spelled = spell(segment);
    ErrorRate best;
    for (size_t i = 0; i < spelled.references.size(); ++i) {
      ErrorRate rate = distance(spelled.hypothesis, spelled.references[i]);
      rate.reference_length = static_cast<int64_t>(spelled.references[i].size());
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
  return sum_best("word error rate", segments, spell_words, edit_distance);
}

ErrorRate character_error_rate(std::span<const Segment> segments) {
  return sum_best("character error rate", segments, spell_characters, edit_distance);
}

ErrorRate position_independent_error_rate(std::span<const Segment> segments) {
  return sum_best("position-independent error rate", segments, spell_words, bag_distance);
}

double exact_match(std::span<const Segment> segments) {
  check_segments("exact match", segments);
  const auto exact = std::count_if(segments.begin(), segments.end(), [](const Segment& segment) {
    const Spelled spelled = spell_words(segment);
    return std::find(spelled.references.begin(), spelled.references.end(), spelled.hypothesis) !=
           spelled.references.end();
  });
  return 100 * static_cast<double>(exact) / static_cast<double>(segments.size());
}

}  // namespace fovea
