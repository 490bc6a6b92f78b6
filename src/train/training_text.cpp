#include "train/training_text.h"

#include <algorithm>
#include <filesystem>
#include <unordered_set>

#include "base/error.h"
#include "base/thousands.h"
#include "text/generators.h"
#include "text/words.h"

namespace fovea {

namespace {

ParallelLines read_pairs(const std::vector<std::string>& files) {
  return files.size() == 1 ? read_tsv(files[0]) : read_parallel(files[0], files[1]);
}

// Every n-th pair, so that a corpus that changes on its way is seen throughout.
ParallelLines hold_out(ParallelLines& lines, int64_t wanted) {
  const size_t total = lines.source.size();
  const size_t count = std::min(static_cast<size_t>(wanted), total / 10);
  check(count > 0,
        "data: expected at least 10 pairs, so that some can be held out for validation, got {}; or set data.valid",
        total);
  ParallelLines kept, held;
  for (size_t i = 0; i < total; ++i) {
    ParallelLines& to = i * count / total != (i + 1) * count / total ? held : kept;
    to.source.push_back(std::move(lines.source[i]));
    to.target.push_back(std::move(lines.target[i]));
  }
  lines = std::move(kept);
  return held;
}

template <class Unwanted> void remove_pairs(ParallelLines& lines, const Unwanted& unwanted) {
  size_t end = 0;
  for (size_t i = 0; i < lines.source.size(); ++i) {
    if (unwanted(i)) continue;
    std::swap(lines.source[end], lines.source[i]);
    std::swap(lines.target[end++], lines.target[i]);
  }
  lines.source.resize(end);
  lines.target.resize(end);
}

const std::string& target_kind(const Recipe& recipe) {
  return (recipe.data.shared_vocabulary ? recipe.source_vocabulary : recipe.target_vocabulary).kind;
}

}  // namespace

TrainingText::TrainingText(const Recipe& recipe, const std::string& known)
    : filter_(recipe.data.filter), options_(recipe.batch), seed_(static_cast<uint64_t>(recipe.seed)) {
  options_.seed = recipe.seed;
  read(recipe);
  if (known.empty()) {
    make_vocabularies(recipe);
  } else {
    source_ = load_vocabulary(known, "source");
    target_ = load_vocabulary(known, "target");
  }
  cut(0);
  CorpusOptions unfiltered;
  unfiltered.max_source = unfiltered.max_target = 0;
  BuiltCorpus built = build_corpus(valid_lines_, *source_, *target_, unfiltered);
  messages_.push_back("valid: " + built.report.text());
  valid_ = std::move(built.corpus);
  if (!recipe.data.alignment.empty()) {
    check(filter_.sampling == 0,
          "data.alignment: expected data.sampling = 0, because alignments need the same tokens in every epoch");
    check(!recipe.data.valid.empty(),
          "data.alignment: expected data.valid, because holding out training pairs would shift the lines");
    alignments_.emplace(recipe.data.alignment, lines_, *train_, *source_, *target_);
  }
  if (filter_.sampling == 0) lines_ = {};  // never cut again
}

void TrainingText::warn_of_long_words(const ParallelLines& lines, const std::vector<std::string>& files,
                                      const Recipe& recipe) {
  constexpr int64_t kNamed = 5;
  int64_t found = 0;
  const auto look = [&](const std::string& line, const std::string& kind, const std::string& file, size_t index) {
    if (!has_long_word(line, kind) || ++found > kNamed) return;
    messages_.push_back(fmt::format("warning: {}:{}: skipped: a word of {} characters; {} takes at most {}", file,
                                    index + 1, thousands(longest_word(line)), kind, thousands(kMaxWordCharacters)));
  };
  for (size_t i = 0; i < lines.source.size(); ++i) {
    look(lines.source[i], recipe.source_vocabulary.kind, files.front(), i);
    look(lines.target[i], target_kind(recipe), files.back(), i);
  }
  if (found > kNamed) {
    messages_.push_back(fmt::format("warning: {}: skipped {} for the same reason", files.front(),
                                    counted(found - kNamed, "more line")));
  }
}

void TrainingText::read(const Recipe& recipe) {
  const DataConfig& data = recipe.data;
  if (!data.generator.empty()) {
    // Other numbers than those learned from, and what is drawn twice by chance is left out.
    valid_lines_ = generate(data.generator, data.generated_valid, seed_ + 1'000'003);
    lines_ = generate(data.generator, data.generated, seed_);
    const std::unordered_set<std::string_view> held_out(valid_lines_.source.begin(), valid_lines_.source.end());
    remove_pairs(lines_, [&](size_t i) { return held_out.contains(lines_.source[i]); });
    return;
  }
  for (const std::string& file : data.train) {
    check(std::filesystem::exists(file),
          "data.train: {}: no such file; set your own with --set data.train=SOURCE,TARGET", file);
  }
  lines_ = read_pairs(data.train);
  warn_of_long_words(lines_, data.train, recipe);
  if (data.valid.empty()) {
    valid_lines_ = hold_out(lines_, data.held_out);
    messages_.push_back(fmt::format("no data.valid: {} of data.train held out for validation",
                                    counted(std::ssize(valid_lines_.source), "pair")));
  } else {
    valid_lines_ = read_pairs(data.valid);
    warn_of_long_words(valid_lines_, data.valid, recipe);
  }
  remove_pairs(valid_lines_, [&](size_t i) {
    return has_long_word(valid_lines_.source[i], recipe.source_vocabulary.kind) ||
           has_long_word(valid_lines_.target[i], target_kind(recipe));
  });
}

void TrainingText::make_vocabularies(const Recipe& recipe) {
  const auto train = [&](std::string_view side, const std::vector<std::string>& lines,
                         const VocabularyOptions& options) {
    TrainedVocabulary made = train_vocabulary(lines, options);
    if (!made.warning.empty()) messages_.push_back(fmt::format("warning: {}: {}", side, made.warning));
    messages_.push_back(
        fmt::format("{}: {} {} tokens", side, thousands(made.vocabulary->size()), made.vocabulary->kind()));
    return std::shared_ptr<const Vocabulary>(std::move(made.vocabulary));
  };
  if (recipe.data.shared_vocabulary) {
    std::vector<std::string> both = lines_.source;
    both.insert(both.end(), lines_.target.begin(), lines_.target.end());
    source_ = target_ = train("shared vocabulary", both, recipe.source_vocabulary);
  } else {
    source_ = train("source vocabulary", lines_.source, recipe.source_vocabulary);
    target_ = train("target vocabulary", lines_.target, recipe.target_vocabulary);
  }
}

BuiltCorpus TrainingText::cut_lines(int64_t epoch) const {
  return build_corpus(lines_, *source_, *target_, filter_, {seed_, static_cast<uint64_t>(epoch)});
}

void TrainingText::cut(int64_t epoch) {
  BuiltCorpus built = ahead_.epoch == epoch ? ahead_.corpus.get() : cut_lines(epoch);
  if (epoch == 0) messages_.push_back("train: " + built.report.text());
  train_ = std::make_shared<const ParallelCorpus>(std::move(built.corpus));
  batcher_.emplace(*train_, options_);
  batcher_->set_state({epoch, 0});
  if (filter_.sampling > 0) {
    ahead_ = {epoch + 1, std::async(std::launch::async, [this, next = epoch + 1] { return cut_lines(next); })};
  }
}

void TrainingText::next(int64_t most) {
  const int64_t epoch = batcher_->state().epoch;
  taken_ = {.corpus = train_, .rows = batcher_->next_rows()};
  for (const int64_t row : taken_.rows) taken_.tokens += train_->target.length(row) + 1;
  taken_.padded = padded_tokens(*train_, taken_.rows, options_);
  divide(most);
  if (filter_.sampling > 0 && batcher_->state().epoch != epoch) cut(epoch + 1);
}

void TrainingText::divide(int64_t most) {
  taken_.pieces = most > 0 ? std::clamp<int64_t>((taken_.padded + most - 1) / most, 1, pairs()) : 1;
}

Batch TrainingText::piece(int64_t index, Device device) const {
  const int64_t count = std::ssize(taken_.rows);
  const auto begin = static_cast<size_t>(index * count / taken_.pieces);
  const auto end = static_cast<size_t>((index + 1) * count / taken_.pieces);
  Batch batch = make_batch(*taken_.corpus, std::span(taken_.rows).subspan(begin, end - begin), options_, device);
  batch.token_share = from_host(std::vector{1.0f / static_cast<float>(taken_.tokens)}, {1}, device);
  return batch;
}

void TrainingText::set_state(Batcher::State state) {
  if (filter_.sampling > 0 && state.epoch != batcher_->state().epoch) cut(state.epoch);
  batcher_->set_state(state);
}

Tensor TrainingText::alignment(const Batch& piece, Device device) const {
  if (!alignments_) return {};
  return alignments_->of(piece.rows, piece.target_in.dim(0), piece.source.dim(0), options_.reverse_source,
                         *taken_.corpus, device);
}

}  // namespace fovea
