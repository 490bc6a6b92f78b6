#include "tasks/sequence_data.h"

#include <algorithm>
#include <filesystem>
#include <unordered_set>

#include "base/error.h"
#include "base/thousands.h"
#include "models/decoder.h"
#include "text/extend_vocabulary.h"
#include "text/generators.h"
#include "text/words.h"

namespace fovea {

namespace {

// Pairs of a corpus, with the dialogue that each is from if the file has dialogues.
DialoguePairs read_pairs(const std::vector<std::string>& files, const Recipe& recipe) {
  const bool dialogues = recipe.task == "dialogue" && files.size() == 1 && is_json_lines(files[0]);
  if (dialogues) return read_dialogues(files[0], recipe.dialogue.format, recipe.dialogue.replies_of);
  return {files.size() == 1 ? read_tsv(files[0]) : read_parallel(files[0], files[1]), {}};
}

// Holds out every n-th pair, so that the held-out pairs are spread over the whole corpus; or every n-th dialogue with
// all of its pairs, because they share turns.
ParallelLines hold_out(ParallelLines& lines, std::vector<int32_t>& corpora, const std::vector<int64_t>& dialogues,
                       int64_t wanted) {
  const size_t pairs = lines.source.size();
  const size_t total = dialogues.empty() ? pairs : static_cast<size_t>(dialogues.back()) + 1;
  const size_t share = std::max<size_t>(1, static_cast<size_t>(wanted) * total / std::max<size_t>(pairs, 1));
  const size_t count = std::min(share, total / 10);
  check(count > 0,
        "data: expected at least 10 {}, so that some can be held out for validation, got {}; or set data.valid",
        dialogues.empty() ? "pairs" : "dialogues", total);
  ParallelLines train, held_out;
  size_t end = 0;
  for (size_t i = 0; i < pairs; ++i) {
    const size_t unit = dialogues.empty() ? i : static_cast<size_t>(dialogues[i]);
    const bool held = unit * count / total != (unit + 1) * count / total;
    ParallelLines& to = held ? held_out : train;
    if (!held) corpora[end++] = corpora[i];
    to.source.push_back(std::move(lines.source[i]));
    to.target.push_back(std::move(lines.target[i]));
  }
  lines = std::move(train);
  corpora.resize(end);
  return held_out;
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

void add_symbols(const std::vector<std::string>& more, std::vector<std::string>& symbols) {
  for (const std::string& symbol : more) {
    if (std::find(symbols.begin(), symbols.end(), symbol) == symbols.end()) symbols.push_back(symbol);
  }
}

const std::string& target_kind(const Recipe& recipe) {
  return (recipe.data.shared_vocabulary ? recipe.source_vocabulary : recipe.target_vocabulary).kind;
}

}  // namespace

SequenceData::SequenceData(const TaskSetup& setup)
    : filter_(setup.recipe.data.filter),
      options_(setup.recipe.batch),
      seed_(static_cast<uint64_t>(setup.recipe.seed)),
      source_(setup.known_vocabulary("source")),
      target_(setup.known_vocabulary("target")),
      hide_copied_(setup.recipe.data.hide_copied),
      guided_delay_(setup.recipe.training.guided_step == "input" ? 1 : 0) {
  const Recipe& recipe = setup.recipe;
  options_.seed = recipe.seed;
  read(recipe);
  train_vocabularies(recipe);
  const bool starts = setup.resume_folder.empty() && !recipe.training.pretrained.empty();
  if (starts && recipe.training.extend_vocabulary > 0) extend_vocabularies(recipe.training.extend_vocabulary);
  if (recipe.model.has_cross_attention() && recipe.model.copies()) copies_.emplace(*source_, *target_);
  if (recipe.data.mixes_corpora() && !corpus_of_line_.empty() && corpus_of_line_.back() > 0) {
    weights_ = recipe.data.corpus_weights();
    if (weights_.empty()) {
      std::vector<int64_t> sizes(static_cast<size_t>(corpus_of_line_.back()) + 1);
      for (const int32_t corpus : corpus_of_line_) ++sizes[static_cast<size_t>(corpus)];
      weights_ = weights_by_size(sizes, recipe.data.temperature);
    }
  }
  messages_.push_back("train: " + start_epoch(0).text());
  if (!weights_.empty()) messages_.push_back(mixture_text(recipe.data.train));
  if (!recipe.data.alignment.empty()) {
    check(filter_.sampling == 0,
          "data.alignment: expected data.sampling = 0, because alignments need the same tokens in every epoch");
    check(!recipe.data.valid.empty(),
          "data.alignment: expected data.valid, because holding out training pairs would shift the lines");
    alignments_.emplace(recipe.data.alignment, lines_, *train_, *source_, *target_);
  }
  if (filter_.sampling == 0) lines_ = {};  // all epochs have the same tokens
}

void SequenceData::warn_of_long_words(const ParallelLines& lines, const std::vector<std::string>& files,
                                      const Recipe& recipe) {
  constexpr int64_t kMaxNamed = 5;
  int64_t found = 0;
  const auto examine = [&](const std::string& line, const std::string& kind, const std::string& file, size_t index) {
    if (!has_long_word(line, kind) || ++found > kMaxNamed) return;
    messages_.push_back(fmt::format("warning: {}:{}: skipped: a word of {} characters; {} takes at most {}", file,
                                    index + 1, thousands(longest_word(line)), kind, thousands(kMaxWordCharacters)));
  };
  for (size_t i = 0; i < lines.source.size(); ++i) {
    examine(lines.source[i], recipe.source_vocabulary.kind, files.front(), i);
    examine(lines.target[i], target_kind(recipe), files.back(), i);
  }
  if (found > kMaxNamed) {
    messages_.push_back(fmt::format("warning: {}: skipped {} for the same reason", files.front(),
                                    counted(found - kMaxNamed, "more line")));
  }
}

// All corpora one after another. If one of them has dialogues, each pair of the others is a dialogue by itself.
DialoguePairs SequenceData::read_corpora(const std::vector<std::string>& files, std::string_view key,
                                         const Recipe& recipe, std::vector<int32_t>& corpora) {
  DialoguePairs all;
  bool dialogues = false;
  int64_t first_dialogue = 0;
  for (const std::vector<std::string>& corpus : corpora_of(files, key)) {
    DialoguePairs pairs = read_pairs(corpus, recipe);
    if (recipe.data.split_identifiers) {
      for (std::string& line : pairs.lines.source) line = split_identifiers(line);
    }
    if (pairs.dialogues.empty()) warn_of_long_words(pairs.lines, corpus, recipe);
    const size_t count = pairs.lines.source.size();
    dialogues = dialogues || !pairs.dialogues.empty();
    for (size_t i = 0; i < count; ++i) {
      all.dialogues.push_back(first_dialogue +
                              (pairs.dialogues.empty() ? static_cast<int64_t>(i) : pairs.dialogues[i]));
    }
    if (!all.dialogues.empty()) first_dialogue = all.dialogues.back() + 1;
    corpora.insert(corpora.end(), count, corpora.empty() ? 0 : corpora.back() + 1);
    std::move(pairs.lines.source.begin(), pairs.lines.source.end(), std::back_inserter(all.lines.source));
    std::move(pairs.lines.target.begin(), pairs.lines.target.end(), std::back_inserter(all.lines.target));
  }
  if (!dialogues) all.dialogues.clear();
  return all;
}

void SequenceData::read(const Recipe& recipe) {
  const DataConfig& data = recipe.data;
  if (!data.generator.empty()) {
    // Validation pairs have a seed of their own; training pairs that equal one of them are removed.
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
  DialoguePairs train = read_corpora(data.train, "data.train", recipe, corpus_of_line_);
  lines_ = std::move(train.lines);
  if (data.valid.empty()) {
    valid_lines_ = hold_out(lines_, corpus_of_line_, train.dialogues, data.held_out);
    messages_.push_back(fmt::format("no data.valid: {} of data.train held out for validation",
                                    counted(std::ssize(valid_lines_.source), "pair")));
  } else {
    std::vector<int32_t> corpora;
    valid_lines_ = read_corpora(data.valid, "data.valid", recipe, corpora).lines;
  }
  remove_pairs(valid_lines_, [&](size_t i) {
    return has_long_word(valid_lines_.source[i], recipe.source_vocabulary.kind) ||
           has_long_word(valid_lines_.target[i], target_kind(recipe));
  });
}

void SequenceData::train_vocabularies(const Recipe& recipe) {
  const auto train = [&](std::string_view side, const std::vector<std::string>& lines,
                         const VocabularyOptions& options) {
    TrainedVocabulary trained = train_vocabulary(lines, options);
    if (!trained.warning.empty()) messages_.push_back(fmt::format("warning: {}: {}", side, trained.warning));
    messages_.push_back(
        fmt::format("{}: {} {} tokens", side, thousands(trained.vocabulary->size()), trained.vocabulary->kind()));
    return std::shared_ptr<const Vocabulary>(std::move(trained.vocabulary));
  };
  if (source_ && target_) return;
  VocabularyOptions source_options = recipe.source_vocabulary;
  if (recipe.task == "dialogue") add_symbols(recipe.dialogue.format.symbols(), source_options.symbols);
  if (recipe.data.shared_vocabulary) {
    std::vector<std::string> both = lines_.source;
    both.insert(both.end(), lines_.target.begin(), lines_.target.end());
    source_ = target_ = train("shared vocabulary", both, source_options);
  } else {
    if (!source_) source_ = train("source vocabulary", lines_.source, source_options);
    if (!target_) target_ = train("target vocabulary", lines_.target, recipe.target_vocabulary);
  }
}

void SequenceData::extend_vocabularies(int64_t most) {
  const auto extend = [&](std::string_view side, std::shared_ptr<const Vocabulary>& vocabulary,
                          const std::vector<std::string>& lines) {
    const int64_t before = vocabulary->size();
    VocabularyExtension extension = extend_vocabulary(*vocabulary, lines, most);
    vocabulary = std::move(extension.vocabulary);
    messages_.push_back(fmt::format("{} vocabulary: {} of the pretrained model and {} new ones", side,
                                    counted(before, "token"), thousands(std::ssize(extension.parts))));
    return ExtendedRows{side == "target" ? "decoder." : "encoder.", before, std::move(extension.parts)};
  };
  const bool shared = source_->extension() == target_->extension() && source_->bytes() == target_->bytes();
  if (shared) {
    std::vector<std::string> both = lines_.source;
    both.insert(both.end(), lines_.target.begin(), lines_.target.end());
    extended_rows_.push_back(extend("shared", source_, both));
    target_ = source_;
    extended_rows_.push_back(extended_rows_.front());
    extended_rows_.back().prefix = "decoder.";
  } else {
    extended_rows_.push_back(extend("source", source_, lines_.source));
    extended_rows_.push_back(extend("target", target_, lines_.target));
  }
}

void SequenceData::tokenise_valid(int64_t max_source, int64_t max_target) {
  CorpusOptions limits{.max_source = max_source, .max_target = max_target};
  if (filter_.truncate) {
    limits.max_source = smaller_limit(max_source, filter_.max_source);
    limits.truncate = true;
  }
  BuiltCorpus built = build_corpus(valid_lines_, *source_, *target_, limits, {}, copies_ ? &*copies_ : nullptr);
  messages_.push_back("valid: " + built.report.text());
  valid_ = std::move(built.corpus);
}

BuiltCorpus SequenceData::tokenise(int64_t epoch) const {
  return build_corpus(lines_, *source_, *target_, filter_, {seed_, static_cast<uint64_t>(epoch)},
                      copies_ ? &*copies_ : nullptr);
}

ParallelCorpus SequenceData::train() const {
  if (filter_.sampling == 0) return *train_;  // the lines are no longer in memory
  CorpusOptions filter = filter_;
  filter.sampling = 0;
  return build_corpus(lines_, *source_, *target_, filter).corpus;
}

FilterReport SequenceData::start_epoch(int64_t epoch) {
  BuiltCorpus built;
  if (filter_.sampling > 0 || !train_) {
    built = next_epoch_.epoch == epoch ? next_epoch_.corpus.get() : tokenise(epoch);
    train_ = std::make_shared<const ParallelCorpus>(std::move(built.corpus));
  }
  if (weights_.empty()) {
    batcher_.emplace(*train_, options_);
  } else {
    mix_epoch(epoch);
  }
  batcher_->set_state({epoch, 0});
  if (filter_.sampling > 0) {
    next_epoch_ = {epoch + 1, std::async(std::launch::async, [this, next = epoch + 1] { return tokenise(next); })};
  }
  return built.report;
}

CorpusMixture SequenceData::mixture() const {
  std::vector<int32_t> corpora;
  for (const int64_t line : train_->lines) corpora.push_back(corpus_of_line_[static_cast<size_t>(line)]);
  return {corpora, weights_, seed_};
}

std::string SequenceData::mixture_text(const std::vector<std::string>& files) const {
  const std::vector<std::vector<std::string>> corpora = corpora_of(files, "data.train");
  const std::vector<int64_t> pairs = mixture().pairs();
  std::string text = "an epoch has ";
  for (size_t i = 0; i < pairs.size(); ++i) {
    text += fmt::format("{}{} of {}", i == 0 ? "" : ", ", counted(pairs[i], "pair"), corpora[i].front());
  }
  return text;
}

void SequenceData::mix_epoch(int64_t epoch) {
  epoch_rows_ = {.rows = mixture().rows(epoch)};
  const bool copied = train_->copied.size() > 0;
  for (const int64_t row : epoch_rows_.rows) {
    epoch_rows_.source.push_back(train_->source[row]);
    epoch_rows_.target.push_back(train_->target[row]);
    if (copied) epoch_rows_.copied.push_back(train_->copied[row]);
  }
  batcher_.emplace(CorpusView(epoch_rows_.source, epoch_rows_.target, epoch_rows_.copied), options_);
}

void SequenceData::next() {
  const int64_t epoch = batcher_->state().epoch;
  batch_ = {.epoch = epoch, .rows = batcher_->next_rows()};
  if (!weights_.empty()) {
    for (int64_t& row : batch_.rows) row = epoch_rows_.rows[static_cast<size_t>(row)];
  }
  batch_corpus_ = train_;
  batch_target_tokens_ = 0;
  for (const int64_t row : batch_.rows) batch_target_tokens_ += train_->target.length(row) + 1;
  batch_.padded_tokens = padded_tokens(*train_, batch_.rows, options_);
  if (epochs_differ() && batcher_->state().epoch != epoch) start_epoch(epoch + 1);
}

Batch SequenceData::part(int64_t index, Device device) const {
  CopyOptions options = copies();
  options.hidden = hide_copied_;
  options.seed = seed_;
  options.epoch = static_cast<uint64_t>(batch_.epoch);
  Batch batch = make_batch(*batch_corpus_, batch_.part(index), options_, device, options);
  batch.token_share = from_host(std::vector{1.0f / static_cast<float>(batch_target_tokens_)}, {1}, device);
  return batch;
}

void SequenceData::set_state(Batcher::State state) {
  if (epochs_differ() && state.epoch != batcher_->state().epoch) start_epoch(state.epoch);
  batcher_->set_state(state);
}

Tensor SequenceData::alignment(const Batch& part, Device device) const {
  if (!alignments_) return {};
  return alignments_->weights(part.rows, part.target_in.dim(0), part.source.dim(0), options_.reverse_source,
                              guided_delay_, *batch_corpus_, device);
}

}  // namespace fovea
