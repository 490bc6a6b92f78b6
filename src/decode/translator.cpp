#include "decode/translator.h"

#include <algorithm>

#include "base/error.h"
#include "decode/record.h"
#include "ops/ops.h"

namespace fovea {

void TranslatorOptions::describe(Fields& f) {
  f.add(
       "precision", precision,
       "What factors of products are rounded to, where the CPU has instructions for it: bf16, or weights and what they "
       "are multiplied by to int8, the fastest.")
      .choices({"f32", "bf16", "int8"});
  f.add("batch_tokens", batch_tokens, "Source tokens decoded together.").at_least(1);
  f.add("max_source", max_source, "Tokens of a line that are read; the rest is cut off, with a warning.").at_least(1);
}

namespace {

Precision precision_named(const std::string& name) {
  return name == "int8" ? Precision::kInt8 : name == "bf16" ? Precision::kBF16 : Precision::kF32;
}

}  // namespace

Translator::Translator(const std::vector<std::string>& folders, const TranslatorOptions& options, Device device)
    : options_(options), device_(device), precision_(precision_named(options.precision)) {
  check(!folders.empty(), "translate: expected at least one model folder");
  for (const std::string& folder : folders) {
    const LoadedModel& loaded = models_.emplace_back(load_model(folder, device));
    const LoadedModel& first = models_.front();
    check(loaded.source->bytes() == first.source->bytes() && loaded.target->bytes() == first.target->bytes(),
          "{}: expected the vocabularies of {}, for models that vote must read and write the same words", folder,
          folders.front());
    check(loaded.config.reverse_source == first.config.reverse_source &&
              loaded.config.end_source == first.config.end_source,
          "{}: expected a model that reads its source as {} does", folder, folders.front());
    parts_.push_back(loaded.model.get());
  }
  batches_ = models_.front().batches();
  batches_.tokens = options.batch_tokens;
}

int64_t Translator::most_source() const {
  int64_t most = options_.max_source;
  for (const LoadedModel& loaded : models_) {
    const int64_t limit = loaded.config.model.most_source() - (loaded.config.end_source ? 1 : 0);
    if (loaded.config.model.most_source() > 0) most = std::min(most, limit);
  }
  return most;
}

ParallelCorpus Translator::encode(std::span<const std::string> lines, std::vector<Translation>& about) const {
  const ParallelCorpus whole = encode_source(lines, *model().source);
  const auto most = static_cast<size_t>(most_source());
  ParallelCorpus corpus;
  about.resize(lines.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::span<const int32_t> ids = whole.source[static_cast<int64_t>(i)];
    about[i].source_tokens = static_cast<int64_t>(ids.size());
    about[i].cut = ids.size() > most;
    if (ids.empty()) continue;
    corpus.source.append(ids.first(std::min(ids.size(), most)));
    corpus.lines.push_back(static_cast<int64_t>(i));
  }
  return corpus;
}

std::vector<Translation> Translator::translate(std::span<const std::string> lines, const SearchOptions& search_options,
                                               const std::function<void(int64_t)>& done) const {
  const PrecisionScope precision(precision_);
  std::vector<Translation> translations;
  const ParallelCorpus corpus = encode(lines, translations);
  SearchOptions limited = search_options;
  for (const LoadedModel& loaded : models_) {
    const int64_t most = loaded.config.model.most_target();
    if (most > 0) limited.max_length = std::min(limited.max_length, most);
  }
  const int64_t empty = static_cast<int64_t>(lines.size()) - corpus.size();
  std::vector<std::vector<Hypothesis>> found;
  if (corpus.size() > 0) {
    found = search(parts_, corpus, batches_, limited, device_, [&](int64_t count) {
      if (done) done(count + empty);
    });
  }
  for (size_t i = 0; i < found.size(); ++i) {
    Translation& translation = translations[static_cast<size_t>(corpus.lines[i])];
    for (Hypothesis& hypothesis : found[i]) {
      std::string text = model().target->decode(hypothesis.words);
      translation.candidates.push_back({std::move(text), std::move(hypothesis)});
    }
  }
  // An empty line is its own translation.
  for (Translation& translation : translations) {
    if (translation.candidates.empty()) translation.candidates.push_back({"", {.ended = true}});
  }
  return translations;
}

std::vector<Hypothesis> Translator::score(std::span<const std::string> sources, std::span<const std::string> targets,
                                          const ScoreOptions& options, const std::function<void(int64_t)>& done) const {
  check(sources.size() == targets.size(), "score: expected as many targets as sources ({}), got {}", sources.size(),
        targets.size());
  const PrecisionScope precision(precision_);
  ParallelCorpus corpus;
  for (size_t i = 0; i < sources.size(); ++i) {
    corpus.source.append(model().source->encode(sources[i]));
    corpus.target.append(model().target->encode(targets[i]));
    corpus.lines.push_back(static_cast<int64_t>(i));
  }
  return fovea::score(parts_, corpus, batches_, options, device_, done);
}

AttentionRecord Translator::record(const std::string& line, const Hypothesis& hypothesis) const {
  return make_record(model(), line, hypothesis, most_source());
}

}  // namespace fovea
