// The attention records of fovea view: from a model that translates or is teacher-forced, or from files.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/thousands.h"
#include "fovea/console.h"
#include "fovea/view_answers.h"
#include "fovea/view_captions.h"
#include "fovea/view_records.h"
#include "store/shipped.h"
#include "tasks/classifier.h"
#include "text/lines.h"
#include "view/record_file.h"
#include "view/terminal_text.h"

namespace fovea::app {

namespace {

constexpr size_t kLinesAtOnce = 256;  // lines whose weights are in memory

using Take = std::function<void(AttentionRecord&)>;

class ModelRecords {
 public:
  explicit ModelRecords(const ViewFlags& flags) : flags_(flags), translator_(flags.load()) {}

  void each(const Take& take) const {
    const std::vector<std::string> sources = flags_.input.empty() ? flags_.what : read_lines(flags_.input);
    check(!sources.empty(), "view: expected a sentence, or --input with sentences");
    std::vector<std::string> targets;
    if (!flags_.target.empty()) {
      targets = flags_.input.empty() ? std::vector{flags_.target} : read_lines(flags_.target);
      check(targets.size() == sources.size(), "--target: expected a target for each of {} sources, got {}",
            sources.size(), targets.size());
    }
    Console console(stderr);
    if (flags_.input.empty()) warn_of_unknown(console);
    for (size_t at = 0; at < sources.size(); at += kLinesAtOnce) {
      const size_t count = std::min(kLinesAtOnce, sources.size() - at);
      const auto part = std::span(sources).subspan(at, count);
      if (targets.empty()) {
        decoded(part, at, take);
      } else {
        forced(part, std::span(targets).subspan(at, count), at, take);
      }
      if (sources.size() > kLinesAtOnce) {
        console.live(
            fmt::format("{} of {} lines", thousands(static_cast<int64_t>(at + count)), thousands(std::ssize(sources))));
      }
    }
  }

 private:
  void warn_of_unknown(Console& console) const {
    for (const std::string& text : flags_.what) {
      // A model that copies can copy words that it does not know.
      for (const std::string& word : translator_.copies() ? std::vector<std::string>() : translator_.unknown(text)) {
        console.line(fmt::format("warning: the model does not know \"{}\"", harmless(word, false)));
      }
      if (const std::string spaced = translator_.spaced(text); !spaced.empty()) {
        console.line(fmt::format("hint: the model reads single characters, separated by spaces: \"{}\"",
                                 harmless(spaced, false)));
      }
    }
  }
  void decoded(std::span<const std::string> sources, size_t before, const Take& take) const {
    SearchOptions search = flags_.search;
    search.capture_weights = true;
    search.capture_scores = flags_.scores;
    search.alternatives = flags_.alternatives;
    const std::vector<SharedLine> lines = translator_.tokenise_source(sources, Offsets::kTokens);
    const std::vector<Translation> translations = translator_.translate(lines, search);
    for (size_t i = 0; i < sources.size(); ++i) {
      for (size_t n = 0; n < translations[i].candidates.size(); ++n) {
        AttentionRecord record = translator_.record(*lines[i], translations[i].candidates[n].hypothesis);
        record.line = static_cast<int64_t>(before + i) + 1;
        record.rank = static_cast<int64_t>(n) + 1;
        record.search = search_name(flags_.search);
        take(record);
      }
    }
  }
  void forced(std::span<const std::string> sources, std::span<const std::string> targets, size_t before,
              const Take& take) const {
    const ScoreOptions options{
        .capture_weights = true, .capture_scores = flags_.scores, .alternatives = flags_.alternatives};
    const std::vector<SharedLine> lines = translator_.tokenise_source(sources, Offsets::kTokens);
    const std::vector<Hypothesis> hypotheses = translator_.score(lines, translator_.tokenise_target(targets), options);
    for (size_t i = 0; i < sources.size(); ++i) {
      AttentionRecord record = translator_.record(*lines[i], hypotheses[i]);
      record.line = static_cast<int64_t>(before + i) + 1;
      record.search = "forced";
      take(record);
    }
  }

  const ViewFlags& flags_;
  Translator translator_;
};

// The records of texts that a classifier reads.
void each_classified(const ViewFlags& flags, const Take& take) {
  const PredictorFlags predictor = flags.for_predictor();
  const Classifier classifier(predictor.prepare("classify"), predictor.options);
  check(flags.target.empty(), "view: --target: expected none, because a classifier writes no text");
  check(!flags.scores, "--scores: expected a model from text to text; a classifier's record has weights only");
  const std::vector<std::string> texts = flags.input.empty() ? flags.what : read_lines(flags.input);
  check(!texts.empty(), "view: expected a text, or --input with texts");
  for (size_t at = 0; at < texts.size(); at += kLinesAtOnce) {
    const auto part = std::span(texts).subspan(at, std::min(kLinesAtOnce, texts.size() - at));
    std::vector<Classification> results = classifier.classify(part, {.capture_weights = true});
    for (size_t i = 0; i < results.size(); ++i) {
      AttentionRecord& record = *results[i].record;
      record.line = static_cast<int64_t>(at + i) + 1;
      take(record);
    }
  }
}

}  // namespace

void each_record(const ViewFlags& flags, const std::function<void(AttentionRecord&)>& take) {
  const auto chosen = [&](AttentionRecord& record) {
    if (flags.line == 0 || record.line == flags.line) take(record);
  };
  if (!flags.models.empty()) {
    const std::string task = task_of_model(find_model(flags.models.front()));
    if (task == "classify") return each_classified(flags, chosen);
    if (task == "classify-images") return each_classified_picture(flags, chosen);
    if (task == "answer") return each_answered(flags, chosen);
    if (task == "caption") return each_captioned(flags, chosen);
    check(flags.passage.empty(), "--passage: expected a model of the task answer, got one of the task {}", task);
    return ModelRecords(flags).each(chosen);
  }
  for (const std::string& path : flags.what) {
    for (AttentionRecord& record : read_records(path)) chosen(record);
  }
}

}  // namespace fovea::app
