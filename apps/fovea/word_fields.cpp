#include "fovea/word_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "view/align.h"

namespace fovea::app {

namespace {

int64_t count_words(const std::vector<int64_t>& numbers) {
  return numbers.empty() ? 0 : std::max<int64_t>(0, *std::max_element(numbers.begin(), numbers.end()) + 1);
}

}  // namespace

CandidateWords candidate_words(const Translator& translator, const TranslatedText& text, size_t rank,
                               const WordFlags& flags) {
  const AlignOptions options;
  CandidateWords words;
  int64_t first_source = 0, first_target = 0;  // the words of the parts before
  double end_marks = 0;
  bool ended = false;
  for (size_t i = 0; i < text.parts.size(); ++i) {
    const std::vector<Translation::Candidate>& candidates = text.translations[i].candidates;
    const Hypothesis& hypothesis = candidates[std::min(rank, candidates.size() - 1)].hypothesis;
    const SharedLine source = translator.tokenise_source(text.sources[i]->text, Offsets::kTokens);
    if (source->ids.empty()) continue;
    const AttentionRecord record = translator.record(*source, hypothesis);
    const std::vector<int64_t> targets = word_numbers(record.target, record.target_text, options.count);
    const int64_t target_words = count_words(targets);
    if (flags.alignment) {
      for (const Link& link : align(record, {.heads = "auto"}, options)) {
        words.alignment.push_back({first_source + link.source, first_target + link.target});
      }
    }
    words.scores.resize(static_cast<size_t>(first_target + target_words));
    for (size_t t = 0; t < record.steps.size(); ++t) {
      double& sum = targets[t] < 0 ? end_marks : words.scores[static_cast<size_t>(first_target + targets[t])];
      sum += record.steps[t].log_probability;
    }
    ended = ended || hypothesis.finished;
    first_source += count_words(word_numbers(record.source, record.source_text, options.count));
    first_target += target_words;
  }
  if (ended) words.scores.push_back(end_marks);
  return words;
}

std::string word_fields(const CandidateWords& words, const WordFlags& flags) {
  std::string fields;
  if (flags.alignment) fields += " ||| " + to_pharaoh(words.alignment, 0);
  if (flags.scores) fields += fmt::format(" ||| {:.4f}", fmt::join(words.scores, " "));
  return fields;
}

}  // namespace fovea::app
