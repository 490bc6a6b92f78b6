#include "tasks/classifier.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>

#include "base/threads.h"
#include "decode/batch_threads.h"
#include "decode/translator.h"
#include "ops/ops.h"
#include "store/classifier_folder.h"
#include "tasks/classify_record.h"

namespace fovea {

namespace {

// Products of this many rows use a core well; larger batches would have more padding.
constexpr int64_t kMaxBatch = 64, kMinBatch = 8, kMaxBatchTokens = 8192;

// Batches for all threads, sorted by length.
BatchOptions batch_options(int64_t texts, Device device) {
  BatchOptions options;
  options.tokens = kMaxBatchTokens;
  options.sentences =
      device.on_host() ? std::clamp(texts / std::max<int64_t>(1, thread_count()), kMinBatch, kMaxBatch) : 8 * kMaxBatch;
  options.shuffle = false;
  return options;
}

}  // namespace

struct Classifier::State {
  using Rows = std::span<const std::span<const int32_t>>;
  using TakeBatch = std::function<void(const Batch& batch, const Classified& classified)>;

  State(LoadedClassifier loaded, Device on, Precision with) : model(std::move(loaded)), device(on), precision(with) {}

  // Calls `take` for each batch of rows, on several threads at a time.
  void run(Rows rows, Capture capture, const TakeBatch& take, const std::function<void(int64_t)>& done) const;
  std::vector<float> log_probabilities(Rows rows, Capture capture, const TakeBatch& take,
                                       const std::function<void(int64_t)>& done) const;

  LoadedClassifier model;
  Device device;
  Precision precision;
};

void add_classes(std::span<const float> log_probs, std::span<const std::string> labels,
                 std::span<Classification> results) {
  const size_t classes = labels.size();
  std::vector<size_t> order(classes);
  for (size_t i = 0; i < results.size(); ++i) {
    const auto own = log_probs.subspan(i * classes, classes);
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return own[a] > own[b]; });
    for (const size_t c : order) results[i].classes.push_back({labels[c], std::exp(static_cast<double>(own[c]))});
    if (!results[i].record) continue;
    results[i].record->classes = results[i].classes;
    results[i].record->log_probability = static_cast<double>(own[order.front()]);
  }
}

Classifier::Classifier(const std::string& folder, const PredictorOptions& options)
    : Classifier(load_classifier(folder, device_named(options.device), "classify"), device_named(options.device),
                 precision_named(options.precision, device_named(options.device))) {}

Classifier::Classifier(LoadedClassifier model, Device device, Precision precision)
    : state_(std::make_shared<const State>(std::move(model), device, precision)) {}

const std::vector<std::string>& Classifier::labels() const { return state_->model.config.labels; }
const LoadedClassifier& Classifier::model() const { return state_->model; }
int64_t Classifier::max_source() const { return state_->model.config.max_source; }

void Classifier::State::run(Rows rows, Capture capture, const TakeBatch& take,
                            const std::function<void(int64_t)>& done) const {
  if (rows.empty()) return;
  const CorpusView corpus(rows);
  const BatchOptions options = batch_options(std::ssize(rows), device);
  std::mutex mutex;  // for `finished` and `done`
  int64_t finished = 0;
  const PrecisionScope scope(precision);
  for_each_batch(corpus, options, device, {}, [&](const NextBatch& next) {
    Arena arena(device);
    const ArenaScope workspace(&arena);
    for (Batch batch; next(batch); arena.rewind()) {
      take(batch, (*model.model)({.ids = batch.source, .lengths = batch.source_lengths}, capture));
      const std::lock_guard lock(mutex);
      finished += std::ssize(batch.rows);
      if (done) done(finished);
    }
  });
}

std::vector<float> Classifier::State::log_probabilities(Rows rows, Capture capture, const TakeBatch& take,
                                                        const std::function<void(int64_t)>& done) const {
  const size_t classes = model.config.labels.size();
  std::vector<float> result(rows.size() * classes);
  run(
      rows, capture,
      [&](const Batch& batch, const Classified& classified) {
        const Var logits = cast(classified.logits, DType::kF32);
        const std::vector<float> values = to_host<float>(log_softmax(logits).value());
        for (size_t b = 0; b < batch.rows.size(); ++b) {
          std::copy_n(values.begin() + static_cast<int64_t>(b * classes), classes,
                      result.begin() + batch.rows[b] * static_cast<int64_t>(classes));
        }
        if (take) take(batch, classified);
      },
      done);
  return result;
}

std::vector<float> Classifier::log_probabilities(std::span<const std::string> texts,
                                                 const std::function<void(int64_t)>& done) const {
  const std::vector<std::vector<int32_t>> ids = encode_lines(texts, *state_->model.source);
  std::vector<std::span<const int32_t>> rows;
  for (const auto& line : ids)
    rows.push_back(std::span(line).first(std::min(line.size(), static_cast<size_t>(max_source()))));
  return state_->log_probabilities(rows, {}, {}, done);
}

std::vector<Classification> Classifier::classify(std::span<const std::string> texts, const ClassifyOptions& options,
                                                 const std::function<void(int64_t)>& done) const {
  const bool captures = options.capture_weights;
  const std::vector<SharedLine> lines =
      tokenise(texts, *state_->model.source, captures ? Offsets::kTokens : Offsets::kNone);
  std::vector<Classification> results(texts.size());
  std::vector<std::span<const int32_t>> rows;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::vector<int32_t>& ids = lines[i]->ids;
    results[i].tokens = std::ssize(ids);
    results[i].truncated = results[i].tokens > max_source();
    rows.push_back(std::span(ids).first(std::min(ids.size(), static_cast<size_t>(max_source()))));
  }
  State::TakeBatch record;
  if (captures) {
    record = [&](const Batch& batch, const Classified& classified) {
      const ClassifierWeights weights(state_->model, classified);
      for (size_t b = 0; b < batch.rows.size(); ++b) {
        const auto row = static_cast<size_t>(batch.rows[b]);
        results[row].record = weights.record(*lines[row], static_cast<int64_t>(b));
      }
    };
  }
  const std::vector<float> log_probs = state_->log_probabilities(rows, captures, record, done);
  add_classes(log_probs, labels(), results);
  return results;
}

std::vector<std::string> Classifier::predict(std::span<const std::string> inputs) const {
  std::vector<std::string> found;
  for (const Classification& result : classify(inputs)) found.push_back(result.classes.front().label);
  return found;
}

std::unique_ptr<Predictor> load_classify_predictor(const std::string& folder, const PredictorOptions& options) {
  return std::make_unique<Classifier>(folder, options);
}

}  // namespace fovea
