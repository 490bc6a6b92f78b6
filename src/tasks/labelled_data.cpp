#include "tasks/labelled_data.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <unordered_set>

#include "base/error.h"
#include "base/thousands.h"
#include "evaluate/classification.h"
#include "recipe/recipe.h"
#include "store/classifier_folder.h"

namespace fovea {

namespace {

void append(LabelledText& to, LabelledText&& from) {
  const auto move = [](auto& a, auto& b) {
    a.insert(a.end(), std::move_iterator(b.begin()), std::move_iterator(b.end()));
  };
  move(to.labels, from.labels);
  move(to.texts, from.texts);
  move(to.lines, from.lines);
}

LabelledText read_files(const std::vector<std::string>& paths, std::string_view key, const LabelledData::Read& read) {
  LabelledText all;
  for (const std::string& path : paths) {
    check(std::filesystem::exists(path), "data.{}: {}: no such file; set your own with --set data.{}=FILE", key, path,
          key);
    append(all, read(path));
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

LabelledData::LabelledData(const TaskSetup& setup, std::string_view what, const Read& read) : what_(what) {
  const Recipe& recipe = setup.recipe;
  read_all(setup, read);
  if (!setup.resume_folder.empty()) {
    const std::vector<std::string> known = load_classifier_config(setup.resume_folder).labels;
    check(labels_ == known, "{}: expected training data with the classes {}, got {}", setup.resume_folder,
          fmt::join(known, ", "), fmt::join(labels_, ", "));
  }
  skip_unwanted(recipe.data.filter.drop_duplicates);
  classes_ = classes_of(train_);
  valid_classes_ = classes_of(valid_);
  warn_of_unseen(recipe.data.valid);
  weigh_classes(recipe.classify.class_weights == "balanced");
}

void LabelledData::read_all(const TaskSetup& setup, const Read& read) {
  const DataConfig& data = setup.recipe.data;
  train_ = read_files(data.train, "train", read);
  learn_labels();
  if (!data.valid.empty()) {
    valid_ = read_files(data.valid, "valid", read);
    return;
  }
  const size_t total = train_.texts.size(), count = std::min(static_cast<size_t>(data.held_out), total / 10);
  check(count > 0,
        "data: expected at least 10 {}s, so that some can be held out for validation, got {}; or set data.valid", what_,
        total);
  // The examples that are held out are spread over the whole file.
  valid_ = take_rows(train_, [&](size_t i) { return i * count / total != (i + 1) * count / total; });
  messages_.push_back(
      fmt::format("no data.valid: {} of data.train held out for validation", counted(valid_.size(), what_)));
}

void LabelledData::learn_labels() {
  labels_ = train_.labels;
  std::sort(labels_.begin(), labels_.end());
  labels_.erase(std::unique(labels_.begin(), labels_.end()), labels_.end());
  check(labels_.size() >= 2, "data.train: expected at least two classes, got only {}", labels_.front());
}

void LabelledData::skip_unwanted(bool drop_duplicates) {
  const int64_t total = train_.size();
  const LabelledText empty = take_rows(train_, [&](size_t i) { return train_.texts[i].empty(); });
  LabelledText repeated;
  if (drop_duplicates) {
    std::unordered_set<std::string> seen;
    repeated =
        take_rows(train_, [&](size_t i) { return !seen.insert(train_.labels[i] + "\t" + train_.texts[i]).second; });
  }
  check(train_.size() > 0, "data.train: expected {}s, got only empty ones", what_);
  std::string message =
      fmt::format("train: {} of {} in {} classes", thousands(train_.size()), counted(total, what_), labels_.size());
  if (empty.size() > 0) message += fmt::format("; skipped: {} empty", thousands(empty.size()));
  if (repeated.size() > 0) message += fmt::format("; skipped: {} repeated", thousands(repeated.size()));
  messages_.push_back(message);
}

std::vector<int32_t> LabelledData::classes_of(const LabelledText& text) const {
  std::vector<int32_t> classes;
  for (const std::string& label : text.labels) {
    const auto found = std::lower_bound(labels_.begin(), labels_.end(), label);
    const bool known = found != labels_.end() && *found == label;
    classes.push_back(known ? static_cast<int32_t>(found - labels_.begin()) : kUnseenClass);
  }
  return classes;
}

void LabelledData::warn_of_unseen(const std::vector<std::string>& files) {
  const auto first = std::find(valid_classes_.begin(), valid_classes_.end(), kUnseenClass);
  if (first == valid_classes_.end()) return;
  const auto i = static_cast<size_t>(first - valid_classes_.begin());
  const auto unseen = std::count(valid_classes_.begin(), valid_classes_.end(), kUnseenClass);
  const std::string file = files.empty() ? "data.valid" : files.front();
  messages_.push_back(
      fmt::format("warning: {}: the label {} is not in the training data; {} with such labels count as wrong",
                  valid_.lines[i] > 0 ? fmt::format("{}:{}", file, valid_.lines[i]) : file, valid_.labels[i],
                  counted(unseen, what_)));
}

// Balanced: the classes have equal shares in the loss, and the mean weight of an example is 1.
void LabelledData::weigh_classes(bool balanced) {
  std::vector<double> counts(labels_.size(), 0.0);
  for (const int32_t c : classes_) counts[static_cast<size_t>(c)] += 1;
  for (const double count : counts) {
    const double weight = static_cast<double>(classes_.size()) / static_cast<double>(labels_.size()) / count;
    class_weights_.push_back(balanced && count > 0 ? static_cast<float>(weight) : 1.0f);
  }
}

LabelledBatch LabelledData::targets(std::span<const int64_t> part, std::span<const int64_t> batch,
                                    Device device) const {
  const auto class_of = [&](int64_t row) { return classes_[static_cast<size_t>(row)]; };
  const auto weight_of = [&](int64_t row) { return class_weights_[static_cast<size_t>(class_of(row))]; };
  float total = 0;
  for (const int64_t row : batch) total += weight_of(row);
  std::vector<int32_t> labels;
  std::vector<float> weights;
  for (const int64_t row : part) {
    labels.push_back(class_of(row));
    weights.push_back(weight_of(row) / total);
  }
  LabelledBatch made;
  made.labels = from_host(labels, {std::ssize(part)}, device);
  made.weights = from_host(weights, {std::ssize(part)}, device);
  return made;
}

}  // namespace fovea
