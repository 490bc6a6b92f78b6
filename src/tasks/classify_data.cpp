#include "tasks/classify_data.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <unordered_set>

#include "base/error.h"
#include "base/thousands.h"
#include "evaluate/classification.h"
#include "store/classifier_folder.h"

namespace fovea {

namespace {

constexpr uint64_t kNoiseSeed = 7'000'003;  // is added to the run's seed

void append(LabelledText& to, LabelledText&& from) {
  const auto move = [](auto& a, auto& b) {
    a.insert(a.end(), std::move_iterator(b.begin()), std::move_iterator(b.end()));
  };
  move(to.labels, from.labels);
  move(to.texts, from.texts);
  move(to.lines, from.lines);
}

LabelledText read_files(const std::vector<std::string>& paths, std::string_view key,
                        const LabelledTextOptions& options) {
  LabelledText all;
  for (const std::string& path : paths) {
    check(std::filesystem::exists(path), "data.{}: {}: no such file; set your own with --set data.{}=FILE", key, path,
          key);
    append(all, read_labelled(path, options));
  }
  return all;
}

// Moves the rows that `wanted` selects to the result.
template <class Wanted> LabelledText take_rows(LabelledText& from, const Wanted& wanted) {
  LabelledText taken, left;
  for (size_t i = 0; i < from.texts.size(); ++i) {
    LabelledText& to = wanted(i) ? taken : left;
    to.labels.push_back(std::move(from.labels[i]));
    to.texts.push_back(std::move(from.texts[i]));
    to.lines.push_back(from.lines[i]);
  }
  from = std::move(left);
  return taken;
}

}  // namespace

ClassifyData::ClassifyData(const TaskSetup& setup)
    : options_(setup.recipe.batch),
      seed_(static_cast<uint64_t>(setup.recipe.seed)),
      sampling_(setup.recipe.data.filter.sampling),
      word_dropout_(setup.recipe.classify.word_dropout),
      balanced_(setup.recipe.classify.class_weights == "balanced"),
      source_(setup.known_vocabulary("source")) {
  const Recipe& recipe = setup.recipe;
  const std::string& run_folder = setup.resume_folder;
  options_.seed = recipe.seed;
  options_.end_source = true;  // so that an empty text has a state, too
  options_.reverse_source = false;
  read(recipe);
  if (!run_folder.empty()) {
    const std::vector<std::string> known = load_classifier_config(run_folder).labels;
    check(labels_ == known, "{}: expected training data with the classes {}, got {}", run_folder,
          fmt::join(known, ", "), fmt::join(labels_, ", "));
  }
  skip_unwanted(recipe);
  classes_ = classes_of(train_);
  valid_classes_ = classes_of(valid_);
  for (size_t i = 0; i < valid_classes_.size(); ++i) {
    if (valid_classes_[i] != kUnseenClass) continue;
    const auto unseen = std::count(valid_classes_.begin(), valid_classes_.end(), kUnseenClass);
    messages_.push_back(
        fmt::format("warning: {}:{}: the label {} is not in the training data; {} with such labels "
                    "count as wrong",
                    recipe.data.valid.empty() ? "data.valid" : recipe.data.valid.front(), valid_.lines[i],
                    valid_.labels[i], counted(unseen, "text")));
    break;
  }
  if (!source_) {
    TrainedVocabulary trained = train_vocabulary(train_.texts, recipe.source_vocabulary);
    if (!trained.warning.empty()) messages_.push_back("source vocabulary: " + trained.warning);
    source_ = std::move(trained.vocabulary);
  }
}

void ClassifyData::read(const Recipe& recipe) {
  const DataConfig& data = recipe.data;
  train_ = read_files(data.train, "train", recipe.classify.text);
  learn_labels();
  if (!data.valid.empty()) {
    valid_ = read_files(data.valid, "valid", recipe.classify.text);
    return;
  }
  const size_t total = train_.texts.size(), count = std::min(static_cast<size_t>(data.held_out), total / 10);
  check(count > 0,
        "data: expected at least 10 texts, so that some can be held out for validation, got {}; or set data.valid",
        total);
  // The texts that are held out are spread over the whole file.
  valid_ = take_rows(train_, [&](size_t i) { return i * count / total != (i + 1) * count / total; });
  messages_.push_back(
      fmt::format("no data.valid: {} of data.train held out for validation", counted(valid_.size(), "text")));
}

void ClassifyData::learn_labels() {
  labels_ = train_.labels;
  std::sort(labels_.begin(), labels_.end());
  labels_.erase(std::unique(labels_.begin(), labels_.end()), labels_.end());
  check(labels_.size() >= 2, "data.train: expected at least two classes, got only {}", labels_.front());
}

void ClassifyData::skip_unwanted(const Recipe& recipe) {
  const int64_t total = train_.size();
  const LabelledText empty = take_rows(train_, [&](size_t i) { return train_.texts[i].empty(); });
  LabelledText repeated;
  if (recipe.data.filter.drop_duplicates) {
    std::unordered_set<std::string> seen;
    repeated =
        take_rows(train_, [&](size_t i) { return !seen.insert(train_.labels[i] + "\t" + train_.texts[i]).second; });
  }
  check(train_.size() > 0, "data.train: expected texts, got only empty ones");
  std::string message =
      fmt::format("train: {} of {} in {} classes", thousands(train_.size()), counted(total, "text"), labels_.size());
  if (empty.size() > 0) message += fmt::format("; skipped: {} empty", thousands(empty.size()));
  if (repeated.size() > 0) message += fmt::format("; skipped: {} repeated", thousands(repeated.size()));
  messages_.push_back(message);
}

std::vector<int32_t> ClassifyData::classes_of(const LabelledText& text) const {
  std::vector<int32_t> classes;
  for (const std::string& label : text.labels) {
    const auto found = std::lower_bound(labels_.begin(), labels_.end(), label);
    const bool known = found != labels_.end() && *found == label;
    classes.push_back(known ? static_cast<int32_t>(found - labels_.begin()) : kUnseenClass);
  }
  return classes;
}

void ClassifyData::tokenise(int64_t max_tokens) {
  max_tokens_ = max_tokens;
  int64_t truncated = 0;
  for (const std::vector<int32_t>& ids : encode_lines(train_.texts, *source_)) {
    truncated += std::ssize(ids) > max_tokens ? 1 : 0;
    corpus_.source.append(std::span(ids).first(std::min(ids.size(), static_cast<size_t>(max_tokens))));
  }
  if (truncated > 0) {
    messages_.push_back(fmt::format("train: {} truncated to {} tokens (data.max_source)", counted(truncated, "text"),
                                    thousands(max_tokens)));
  }
  // Balanced: the classes have equal shares in the loss, and the mean weight of a text is 1.
  std::vector<double> counts(labels_.size(), 0.0);
  for (const int32_t c : classes_) counts[static_cast<size_t>(c)] += 1;
  for (const double count : counts) {
    const double balanced = static_cast<double>(classes_.size()) / static_cast<double>(labels_.size()) / count;
    class_weights_.push_back(balanced_ && count > 0 ? static_cast<float>(balanced) : 1.0f);
  }
  batcher_.emplace(corpus_, options_);
}

void ClassifyData::next() {
  batch_ = {.epoch = batcher_->state().epoch, .rows = batcher_->next_rows()};
  batch_.padded_tokens = padded_tokens(corpus_, batch_.rows, options_);
}

std::vector<int32_t> ClassifyData::noisy_ids(int64_t row, int64_t epoch) const {
  Random random(seed_ + kNoiseSeed, static_cast<uint64_t>(epoch * corpus_.size() + row));
  std::vector<int32_t> ids(corpus_.source[row].begin(), corpus_.source[row].end());
  if (sampling_ > 0) {
    ids = source_->sample(train_.texts[static_cast<size_t>(row)], sampling_, random);
    ids.resize(std::min(ids.size(), static_cast<size_t>(max_tokens_)));
  }
  for (int32_t& id : ids) {
    if (word_dropout_ > 0 && random.uniform(0.0, 1.0) < word_dropout_) id = kUnknown;
  }
  return ids;
}

LabelledBatch ClassifyData::part(int64_t index, Device device) const {
  const auto rows = batch_.part(index);
  std::vector<std::vector<int32_t>> noisy;
  std::vector<std::span<const int32_t>> ids;
  std::vector<int64_t> order;
  for (const int64_t row : rows) {
    order.push_back(std::ssize(order));
    noisy.push_back(noisy_ids(row, batch_.epoch));
  }
  ids.assign(noisy.begin(), noisy.end());
  const Batch batch = make_batch(CorpusView(ids), order, options_, device);
  const auto weight_of = [&](int64_t row) {
    return class_weights_[static_cast<size_t>(classes_[static_cast<size_t>(row)])];
  };
  float total = 0;
  for (const int64_t row : batch_.rows) total += weight_of(row);
  std::vector<int32_t> labels;
  std::vector<float> weights;
  for (const int64_t row : rows) {
    labels.push_back(classes_[static_cast<size_t>(row)]);
    weights.push_back(weight_of(row) / total);
  }
  const auto size = std::ssize(rows);
  return {.source = {.ids = batch.source, .lengths = batch.source_lengths},
          .labels = from_host(labels, {size}, device),
          .weights = from_host(weights, {size}, device)};
}

}  // namespace fovea
