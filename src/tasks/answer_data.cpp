#include "tasks/answer_data.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/random.h"
#include "base/thousands.h"
#include "text/corpus.h"

namespace fovea {

namespace {

constexpr int64_t kMinCharacter = 2;  // occurrences of a character that is known

// The tokens that cover the bytes [begin, end); empty if there are none.
std::optional<std::pair<int32_t, int32_t>> covering_tokens(const TokenisedText& text, int64_t begin, int64_t end) {
  int32_t first = -1, last = -1;
  for (int32_t i = 0; i < text.size(); ++i) {
    const TextToken& token = text.tokens[static_cast<size_t>(i)];
    if (token.begin >= end || token.end <= begin || token.begin == token.end) continue;
    if (first < 0) first = i;
    last = i;
  }
  if (first < 0) return std::nullopt;
  return std::pair{first, last};
}

}  // namespace

AnswerData::AnswerData(const TaskSetup& setup)
    : config_(setup.recipe.answer), options_(setup.recipe.batch), seed_(static_cast<uint64_t>(setup.recipe.seed)) {
  const Recipe& recipe = setup.recipe;
  options_.seed = recipe.seed;
  options_.end_source = false;
  AnswerSet train;
  read(recipe, train);
  vocabulary_ = setup.known_vocabulary("source");
  if (config_.reads_characters()) characters_ = setup.known_vocabulary("characters");
  train_vocabularies(recipe, train);
  builder_.emplace(config_, characters_);
  train_ = tokenise(train, true);
  report("train", train, train_);
  check(!train_.examples.empty(), "data.train: expected questions with answers to train on, got none");
  valid_ = tokenise(valid_set_, false);
  report("valid", valid_set_, valid_);
  check(!valid_.examples.empty(), "data.valid: expected questions with answers, got none");
  start_batches();
}

void AnswerData::read(const Recipe& recipe, AnswerSet& train) {
  for (const std::string& file : recipe.data.train) {
    check(std::filesystem::exists(file), "data.train: {}: no such file; set your own with --set data.train=FILE", file);
  }
  train = read_answer_set(recipe.data.train);
  messages_ = train.messages;
  if (recipe.data.valid.empty()) {
    hold_out(train, recipe.data.held_out);
  } else {
    valid_set_ = read_answer_set(recipe.data.valid);
    messages_.insert(messages_.end(), valid_set_.messages.begin(), valid_set_.messages.end());
  }
}

// Holds out whole passages, spread over the set, so that no passage is in both parts.
void AnswerData::hold_out(AnswerSet& train, int64_t wanted) {
  std::vector<int64_t> rank(train.passages.size(), -1);  // of the passages that have questions
  int64_t passages = 0;
  for (const AnswerQuestion& question : train.questions) {
    int64_t& its = rank[static_cast<size_t>(question.passage)];
    if (its < 0) its = passages++;
  }
  const int64_t total = std::ssize(train.questions), questions = std::min(wanted, total / 10);
  const int64_t count = passages * questions / std::max<int64_t>(1, total);
  check(
      count > 0,
      "data: expected at least 10 passages with questions, so that some can be held out for validation, got {}; or set "
      "data.valid",
      passages);
  AnswerSet kept;
  kept.passages = valid_set_.passages = train.passages;
  for (AnswerQuestion& question : train.questions) {
    const int64_t passage = rank[static_cast<size_t>(question.passage)];
    const bool held = passage * count / passages != (passage + 1) * count / passages;
    (held ? valid_set_ : kept).questions.push_back(std::move(question));
  }
  train = std::move(kept);
  messages_.push_back(fmt::format("no data.valid: {} of data.train held out for validation",
                                  counted(std::ssize(valid_set_.questions), "question")));
}

void AnswerData::train_vocabularies(const Recipe& recipe, const AnswerSet& train) {
  if (vocabulary_ && (characters_ || !config_.reads_characters())) return;
  const VocabularyOptions& options = recipe.source_vocabulary;
  std::vector<std::string> lines, characters;
  std::vector<bool> used(train.passages.size(), false);
  const auto add = [&](const std::string& text) {
    std::string line = vocabulary_line(text, options, config_.lowercase);
    if (has_long_word(line, options.kind)) return;
    lines.push_back(std::move(line));
    if (config_.reads_characters()) characters.push_back(vocabulary_line(text, {.kind = "character"}, false));
  };
  for (const AnswerQuestion& question : train.questions) {
    const auto passage = static_cast<size_t>(question.passage);
    if (!used[passage]) add(train.passages[passage]);
    used[passage] = true;
    add(question.question);
  }
  if (!vocabulary_) {
    TrainedVocabulary trained = train_vocabulary(lines, options);
    if (!trained.warning.empty()) messages_.push_back("warning: source vocabulary: " + trained.warning);
    vocabulary_ = std::move(trained.vocabulary);
    messages_.push_back(
        fmt::format("source vocabulary: {} {} tokens", thousands(vocabulary_->size()), vocabulary_->kind()));
  }
  if (characters_ || !config_.reads_characters()) return;
  // Rare characters say little, and their embeddings are hardly trained.
  characters_ =
      train_vocabulary(characters, {.kind = "character", .size = 8000, .min_count = kMinCharacter}).vocabulary;
  messages_.push_back(fmt::format("characters: {}", thousands(characters_->size())));
}

AnswerData::Examples AnswerData::tokenise(const AnswerSet& set, bool with_negatives) {
  const AnswerTokeniser tokeniser(vocabulary_, config_.lowercase);
  Examples result;
  result.passages.resize(set.passages.size());
  for (const AnswerQuestion& question : set.questions) {
    TokenisedText& passage = result.passages[static_cast<size_t>(question.passage)];
    const std::string& text = set.passages[static_cast<size_t>(question.passage)];
    if (passage.text.empty()) passage = tokeniser(text, forms_);
    TokenisedText tokens = tokeniser(question.question, forms_);
    if (tokens.size() > config_.max_question) tokens.tokens.resize(static_cast<size_t>(config_.max_question));
    result.passage_of.push_back(static_cast<int32_t>(question.passage));
    result.questions.push_back(std::move(tokens));
    add_examples(result, question, static_cast<int32_t>(result.questions.size() - 1), with_negatives);
  }
  return result;
}

void AnswerData::add_examples(Examples& to, const AnswerQuestion& question, int32_t index, bool with_negatives) const {
  const TokenisedText& passage = to.passages[static_cast<size_t>(question.passage)];
  if (to.questions[static_cast<size_t>(index)].tokens.empty()) {
    ++to.skipped.no_token;
    return;
  }
  std::vector<Span> spans;
  for (const AnswerReference& reference : question.references) {
    const auto found =
        covering_tokens(passage, reference.begin_byte, reference.begin_byte + std::ssize(reference.text));
    if (found && found->second - found->first < config_.max_answer) spans.push_back({found->first, found->second});
  }
  if (spans.empty()) {
    ++to.skipped.too_long;
    return;
  }
  const std::vector<WindowRange> windows = windows_of(passage.size(), config_);
  // The window in which the first reference is furthest from either end. The ends of the passage are no ends.
  const auto context = [&](const WindowRange& window) {
    const int64_t before = window.begin == 0 ? config_.window : spans[0].first - window.begin;
    const int64_t after = window.end == passage.size() ? config_.window : window.end - 1 - spans[0].last;
    return std::min(before, after);
  };
  const auto best = std::max_element(windows.begin(), windows.end(),
                                     [&](const auto& a, const auto& b) { return context(a) < context(b); });
  if (context(*best) < 0) {  // an answer longer than the overlap of windows
    ++to.skipped.too_long;
    return;
  }
  const auto inside = [](const Span& span, const WindowRange& window) {
    return span.first >= window.begin && span.last < window.end;
  };
  const auto example_of = [&](const WindowRange& window) {
    Example example{index, static_cast<int32_t>(window.begin), static_cast<int32_t>(window.end), {}};
    std::copy_if(spans.begin(), spans.end(), std::back_inserter(example.answers),
                 [&](const Span& span) { return inside(span, window); });
    return example;
  };
  to.examples.push_back(example_of(*best));
  if (!with_negatives) return;
  std::vector<WindowRange> without;
  std::copy_if(windows.begin(), windows.end(), std::back_inserter(without), [&](const WindowRange& window) {
    return std::none_of(spans.begin(), spans.end(),
                        [&](const Span& s) { return s.first < window.end && s.last >= window.begin; });
  });
  if (without.empty()) return;
  Random random(seed_, static_cast<uint64_t>(index));
  to.examples.push_back(example_of(without[random.below(without.size())]));
}

void AnswerData::report(std::string_view name, const AnswerSet& set, const Examples& examples) {
  std::string text =
      fmt::format("{}: {} about {}, {}", name, counted(std::ssize(set.questions), "question"),
                  counted(std::ssize(set.passages), "passage"), counted(std::ssize(examples.examples), "window"));
  if (examples.skipped.no_token > 0) {
    text += fmt::format("; skipped {} without a token", counted(examples.skipped.no_token, "question"));
  }
  if (examples.skipped.too_long > 0) {
    text += fmt::format("; skipped {} with an answer longer than answer.max_answer or a window",
                        counted(examples.skipped.too_long, "question"));
  }
  messages_.push_back(std::move(text));
}

void AnswerData::start_batches() {
  const auto rows_of = [&](const Example& example) {
    const int64_t question = train_.questions[static_cast<size_t>(example.question)].size();
    return example.end - example.begin + (config_.joint() ? question + 1 : 0);
  };
  int64_t longest = config_.max_question;
  for (const Example& example : train_.examples) longest = std::max(longest, rows_of(example));
  zeros_.resize(static_cast<size_t>(longest));
  for (const Example& example : train_.examples) {
    const auto question = train_.questions[static_cast<size_t>(example.question)].tokens.size();
    // The batcher counts one more token on this side: the begin mark of a target.
    passage_lengths_.push_back(std::span<const int32_t>(zeros_).first(static_cast<size_t>(rows_of(example) - 1)));
    question_lengths_.push_back(std::span<const int32_t>(zeros_).first(question));
  }
  batcher_.emplace(CorpusView(question_lengths_, passage_lengths_), options_);
}

void AnswerData::next() {
  batch_ = {.epoch = batcher_->state().epoch, .rows = batcher_->next_rows()};
  batch_.padded_tokens = padded_tokens(CorpusView(question_lengths_, passage_lengths_), batch_.rows, options_);
}

AnswerBatch AnswerData::part(int64_t index, Device device) const {
  const int64_t count = std::ssize(batch_.rows);
  AnswerBatch batch = make(train_, batch_.part(index), batch_.epoch, device);
  batch.share = from_host(std::vector{1.0f / static_cast<float>(count)}, {1}, device);
  return batch;
}

AnswerBatch AnswerData::valid_batch(int64_t begin, int64_t end, Device device) const {
  std::vector<int64_t> rows;
  for (int64_t row = begin; row < end; ++row) rows.push_back(row);
  return make(valid_, rows, 0, device);
}

AnswerBatch AnswerData::make(const Examples& examples, std::span<const int64_t> rows, int64_t epoch,
                             Device device) const {
  std::vector<AnswerFeatures> features;
  features.reserve(rows.size());  // windows refer to them
  std::vector<AnswerWindow> windows;
  for (const int64_t row : rows) {
    const Example& example = examples.examples[static_cast<size_t>(row)];
    const auto question = static_cast<size_t>(example.question);
    const TokenisedText& passage = examples.passages[static_cast<size_t>(examples.passage_of[question])];
    features.push_back(
        answer_features(passage, examples.questions[question].tokens, vocabulary_->size(), config_.match_features));
    windows.push_back({&passage, examples.questions[question].tokens, &features.back(), example.begin, example.end});
  }
  AnswerBatch batch;
  batch.examples = std::ssize(rows);
  batch.input = (*builder_)(windows, forms_, options_.multiple, device);
  const auto none = static_cast<int32_t>(batch.input.passage.ids.dim(0));
  std::vector<int32_t> start, end;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Example& example = examples.examples[static_cast<size_t>(rows[i])];
    if (example.answers.empty()) {
      start.push_back(none);
      end.push_back(none);
      continue;
    }
    // Each epoch takes another of the references.
    Random random(seed_ + static_cast<uint64_t>(epoch) * 1'000'003, static_cast<uint64_t>(rows[i]));
    const Span& span = example.answers[random.below(example.answers.size())];
    const auto first = static_cast<int32_t>(builder_->first_row(windows[i])) - example.begin;
    start.push_back(first + span.first);
    end.push_back(first + span.last);
  }
  batch.start = from_host(start, {batch.examples}, device);
  batch.end = from_host(end, {batch.examples}, device);
  return batch;
}

}  // namespace fovea
