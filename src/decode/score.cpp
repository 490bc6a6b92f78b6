// Teacher forcing: the log-probabilities of given targets, all tokens of a target at once, and attention weights.
#include <mutex>
#include <optional>

#include "decode/batch_threads.h"
#include "decode/ensemble.h"
#include "decode/search.h"

namespace fovea {

namespace {

// log p of the targets, [T,B].
std::vector<float> target_log_probs(const Scores& scores, const Tensor& targets) {
  const Tensor loss = cross_entropy(scores.scores, targets.reshape({targets.size()})).value();
  std::vector<float> log_probs = to_host<float>(cast(loss, DType::kF32).value());
  for (float& x : log_probs) x = -x;
  return log_probs;
}

void score_batch(std::span<const EncoderDecoder* const> models, const Batch& batch, const ScoreOptions& options,
                 std::vector<Hypothesis>& scored) {
  std::vector<Var> logits;
  std::vector<HostWeights> weights;
  for (size_t m = 0; m < models.size(); ++m) {
    const TeacherForced forced = models[m]->teacher_force(
        source_of(batch), batch.target_in, {options.capture_weights, options.capture_scores}, options.edits);
    logits.push_back(forced.logits);
    copy_to_host(forced.attentions, static_cast<int64_t>(m), weights);
  }
  const Scores scores = average_probabilities(logits);
  const std::vector<float> log_probs = target_log_probs(scores, batch.target_out);
  std::optional<HostTopTokens> top;
  if (options.alternatives > 0) top.emplace(top_tokens(scores, options.alternatives + HostTopTokens::kNeverGenerated));
  const std::vector<int32_t> sources = to_host<int32_t>(batch.source_lengths),
                             targets = to_host<int32_t>(batch.target_lengths);
  for (size_t b = 0; b < batch.rows.size(); ++b) {
    Hypothesis& one = scored[static_cast<size_t>(batch.rows[b])];
    for (int32_t t = 0; t < targets[b]; ++t) {
      const size_t row = static_cast<size_t>(t) * batch.rows.size() + b;
      one.log_probs.push_back(log_probs[row]);
      one.log_probability += static_cast<double>(one.log_probs.back());
      if (top) one.alternatives.push_back(top->likeliest(static_cast<int64_t>(row), options.alternatives));
    }
    one.score = one.log_probability;
    one.finished = true;
    for (const HostWeights& w : weights) {
      const int64_t source = sources[b], target = targets[b];
      const bool encoder = w.kind == AttentionKind::kEncoderSelf;
      const bool cross = w.kind == AttentionKind::kCross || w.kind == AttentionKind::kCopy;
      one.weights.push_back(
          slice_sentence(w, static_cast<int64_t>(b), encoder ? source : target, encoder || cross ? source : target));
    }
  }
}

}  // namespace

std::vector<Hypothesis> score(std::span<const EncoderDecoder* const> models, const CorpusView& pairs,
                              const BatchOptions& batches, const ScoreOptions& options, Device device,
                              const std::function<void(int64_t)>& done, int64_t copies) {
  check(!models.empty(), "score: expected a model, got none");
  std::vector<Hypothesis> scored(static_cast<size_t>(pairs.size()));
  if (scored.empty()) return scored;
  check(pairs.has_target(), "score: expected targets, got sources only");
  std::mutex mutex;  // for `finished` and `done`
  int64_t finished = 0;
  for_each_batch(pairs, batches, device, {.vocabulary = copies}, [&](const NextBatch& next) {
    Arena arena(device);
    const ArenaScope scope(&arena);
    for (Batch batch; next(batch); arena.rewind()) {
      if (options.images != nullptr) add_images(batch, *options.images);
      score_batch(models, batch, options, scored);
      const std::lock_guard lock(mutex);
      finished += std::ssize(batch.rows);
      if (done) done(finished);
    }
  });
  for (size_t i = 0; i < scored.size(); ++i) {
    const auto target = pairs.target(static_cast<int64_t>(i));
    scored[i].ids.assign(target.begin(), target.end());
  }
  return scored;
}

}  // namespace fovea
