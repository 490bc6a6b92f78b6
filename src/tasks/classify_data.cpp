#include "tasks/classify_data.h"

#include "base/thousands.h"

namespace fovea {

namespace {

constexpr uint64_t kNoiseSeed = 7'000'003;  // is added to the run's seed

}  // namespace

ClassifyData::ClassifyData(const TaskSetup& setup)
    : options_(setup.recipe.batch),
      seed_(static_cast<uint64_t>(setup.recipe.seed)),
      sampling_(setup.recipe.data.filter.sampling),
      word_dropout_(setup.recipe.classify.word_dropout),
      labelled_(setup, "text",
                [&](const std::string& path) { return read_labelled(path, setup.recipe.classify.text); }),
      source_(setup.known_vocabulary("source")),
      messages_(labelled_.messages()) {
  const Recipe& recipe = setup.recipe;
  options_.seed = recipe.seed;
  options_.end_source = true;  // so that an empty text has a state, too
  options_.reverse_source = false;
  if (!source_) {
    TrainedVocabulary trained = train_vocabulary(labelled_.train().texts, recipe.source_vocabulary);
    if (!trained.warning.empty()) messages_.push_back("source vocabulary: " + trained.warning);
    source_ = std::move(trained.vocabulary);
  }
}

void ClassifyData::tokenise(int64_t max_tokens) {
  max_tokens_ = max_tokens;
  int64_t truncated = 0;
  for (const std::vector<int32_t>& ids : encode_lines(labelled_.train().texts, *source_)) {
    truncated += std::ssize(ids) > max_tokens ? 1 : 0;
    corpus_.source.append(std::span(ids).first(std::min(ids.size(), static_cast<size_t>(max_tokens))));
  }
  if (truncated > 0) {
    messages_.push_back(fmt::format("train: {} truncated to {} tokens (data.max_source)", counted(truncated, "text"),
                                    thousands(max_tokens)));
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
    ids = source_->sample(labelled_.train().texts[static_cast<size_t>(row)], sampling_, random);
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
  LabelledBatch made = labelled_.targets(rows, batch_.rows, device);
  made.source.ids = batch.source;
  made.source.lengths = batch.source_lengths;
  return made;
}

}  // namespace fovea
