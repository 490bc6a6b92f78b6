// The loop over decoding steps: the models compute candidates for the next tokens on the device, the beams of all
// sentences advance on the host, and sentences that are done leave the batch.
#include "decode/search.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>

#include "decode/batch_threads.h"
#include "decode/batch_vocabulary.h"
#include "decode/beam.h"
#include "decode/ensemble.h"
#include "decode/options.h"
#include "decode/sampling.h"
#include "tensor/step_graphs.h"

namespace fovea {

namespace {

// Sentences that are done leave a batch when they are this share of it: copying the decoders' states of the other
// sentences costs about as much as one step.
constexpr double kDoneShare = 0.25;
// For captured steps, the maximum length of the targets is rounded up to a multiple of this.
constexpr int64_t kMaxLengthMultiple = 32;
// A model that copies gives a token that it can neither generate nor copy this log-probability or less.
constexpr float kImpossible = -45.0f;

// The memory of a search, used for one batch after the other: one arena for the batch and its encoding, and two that
// the steps use in turn, because each step reads the results of the one before.
struct SearchWorkspace {
  // The results of a step.
  struct Step {
    std::shared_ptr<Ensemble> models;
    TopTokens top;
  };
  Arena source, steps[2];
  HistoryIds histories;
  StepGraphs<uint64_t, Step> graphs;  // by the history of the batch, from its encoding to this step
  size_t max_retained;                // bytes; a larger workspace is freed after the search

  explicit SearchWorkspace(Device device)
      : source(device),
        steps{Arena(device), Arena(device)},
        graphs(device),
        max_retained(device.on_host() ? size_t{256} << 20 : cuda::memory_size(device) / 16) {}
  size_t peak() const { return source.peak() + steps[0].peak() + steps[1].peak(); }
  uint64_t generation() const { return source.generation() + steps[0].generation() + steps[1].generation(); }
};

// The workspace of the calling thread, which is retained for its next search unless it is unusually large: otherwise a
// server would have the same pages cleared again for every request, and its heap would be fragmented.
class ThreadWorkspace {
 public:
  explicit ThreadWorkspace(Device device) {
    if (!retained() || retained()->source.device() != device) retained() = std::make_unique<SearchWorkspace>(device);
  }
  ~ThreadWorkspace() {
    if (retained()->peak() > retained()->max_retained) retained().reset();
  }
  ThreadWorkspace(const ThreadWorkspace&) = delete;
  ThreadWorkspace& operator=(const ThreadWorkspace&) = delete;
  SearchWorkspace& operator*() const { return *retained(); }

 private:
  static std::unique_ptr<SearchWorkspace>& retained() {
    static thread_local std::unique_ptr<SearchWorkspace> workspace;
    return workspace;
  }
};

// Lets one thread at a time call a watcher.
class LockedWatcher : public SearchWatcher {
 public:
  explicit LockedWatcher(SearchWatcher& watcher) : watcher_(watcher) {}
  bool should_continue(int64_t sentence) override {
    const std::lock_guard lock(mutex_);
    return watcher_.should_continue(sentence);
  }
  bool wants_steps(int64_t sentence) override {
    const std::lock_guard lock(mutex_);
    return watcher_.wants_steps(sentence);
  }
  void step(int64_t sentence, const SearchStep& step) override {
    const std::lock_guard lock(mutex_);
    watcher_.step(sentence, step);
  }
  bool wants_tree(int64_t sentence) override {
    const std::lock_guard lock(mutex_);
    return watcher_.wants_tree(sentence);
  }
  void tree(int64_t sentence, const SearchTree& tree) override {
    const std::lock_guard lock(mutex_);
    watcher_.tree(sentence, tree);
  }

 private:
  SearchWatcher& watcher_;
  std::mutex mutex_;
};

class BatchSearch {
 public:
  BatchSearch(std::span<const EncoderDecoder* const> models, const CorpusView& sources, const Batch& batch,
              const SearchOptions& options, SearchWorkspace& workspace)
      : options_(options),
        device_(batch.source.device()),
        workspace_(workspace),
        beams_(beams_of(options)),
        first_extended_(batch.vocabulary) {
    const std::vector<int32_t> lengths = to_host<int32_t>(batch.source_lengths);
    int64_t max_length = 1;
    for (size_t b = 0; b < batch.rows.size(); ++b) {
      sentences_.emplace_back(options, batch.rows[b], lengths[b]);
      active_.push_back(b);
      max_length = std::max(max_length, max_target_length(options, lengths[b], batch.rows[b]));
    }
    const ArenaScope scope(&workspace.source);
    captures_graphs_ = options.constant_weights && options.edits.empty() && workspace.graphs.captures();
    // Graphs are captured for each maximum length, so there should be few of them.
    if (captures_graphs_) max_length = (max_length + kMaxLengthMultiple - 1) / kMaxLengthMultiple * kMaxLengthMultiple;
    BatchVocabulary vocabulary = batch_vocabulary(options, sources, batch);
    vocabulary_ = std::move(vocabulary.ids);
    const DecodeOptions decode{
        beams_, max_length, {captures_weights(), options.capture_scores}, options.edits, vocabulary_};
    models_ = std::make_shared<Ensemble>(models, source_of(batch), decode, vocabulary.mask);
    for (const EncoderDecoder* model : models) add_event(model->serial());
    for (const int64_t size : {batch.source.dim(0), batch.source.dim(1), beams_, max_length, batch.extended}) {
      add_event(static_cast<uint64_t>(size));
    }
    for (int64_t axis = 0; batch.images && axis < batch.images.rank(); ++axis) {
      add_event(static_cast<uint64_t>(batch.images.dim(axis)));
    }
    add_event(static_cast<uint64_t>(product_precision()));
    add_event((captures_weights() ? 1 : 0) + (options.capture_scores ? 2 : 0));
  }

  // Returns the hypotheses of each sentence of the batch.
  std::vector<std::vector<Hypothesis>> run() {
    for (int64_t step = 0; !active_.empty(); ++step) {
      Arena& arena = workspace_.steps[step % 2];
      arena.rewind();
      {
        const ArenaScope scope(&arena);
        take_step(step);
      }
      remove_done();
    }
    std::vector<std::vector<Hypothesis>> found;
    for (const Beam& sentence : sentences_) {
      found.push_back(sentence.hypotheses());
      SearchWatcher* watcher = options_.watcher;
      if (watcher != nullptr && watcher->wants_tree(sentence.row())) watcher->tree(sentence.row(), sentence.tree());
    }
    return found;
  }

 private:
  int64_t batch() const { return std::ssize(active_); }
  Beam& at(int64_t b) { return sentences_[active_[static_cast<size_t>(b)]]; }

  // An i32 [K,B] tensor of number(k, b) for each beam and sentence.
  template <class Number> Tensor beam_table(Number&& number) {
    numbers_.clear();
    for (int64_t k = 0; k < beams_; ++k) {
      for (int64_t b = 0; b < batch(); ++b) numbers_.push_back(static_cast<int32_t>(number(k, b)));
    }
    return from_host(numbers_, {beams_, batch()}, device_);
  }

  void take_step(int64_t step) {
    const Tensor ids = beam_table([&](int64_t k, int64_t b) {
      const int32_t id = at(b).last_id(k);
      return first_extended_ > 0 && id >= first_extended_ ? kUnknown : id;
    });
    const Tensor rows = step > 0 ? parent_rows() : Tensor();
    const int64_t count = candidates_needed();
    add_event(static_cast<uint64_t>(rows ? -count : count));
    const auto work = [&] {
      // Other histories may continue from this state, so a shared one is copied before it changes.
      if (models_.use_count() > 1) models_ = std::make_shared<Ensemble>(*models_);
      if (rows) models_->reorder(rows);
      const Scores scores = models_->step(ids);
      return SearchWorkspace::Step{models_, top_tokens(scores, count)};
    };
    if (!captures_graphs_) return advance_beams(work().top);
    const SearchWorkspace::Step made = workspace_.graphs.run(history_, workspace_.generation(), work);
    models_ = made.models;
    advance_beams(made.top);
  }

  // The row from which each beam continues; empty if all continue from their own, unless steps are captured: whether a
  // captured step reorders must not depend on the data.
  Tensor parent_rows() {
    if (beams_ == 1) return {};
    bool moved = captures_graphs_ && beams_ > 1;
    const Tensor rows = beam_table([&](int64_t k, int64_t b) {
      const int64_t parent = at(b).parent_beam(k);
      moved = moved || parent != k;
      return parent * batch() + b;
    });
    return moved ? rows : Tensor();
  }

  void advance_beams(const TopTokens& on_device) {
    const std::vector<HostWeights> weights = captures_weights() ? models_->weights() : std::vector<HostWeights>();
    const HostTopTokens top(on_device, vocabulary_);
    for (int64_t b = 0; b < batch(); ++b) {
      Beam& sentence = at(b);
      if (sentence.done()) continue;
      if (AttentionHistory* history = sentence.attention_history()) history->append_step(weights, b, batch());
      for (int64_t k = 0; k < beams_; ++k) {
        if (!sentence.live(k)) continue;
        const int64_t row = k * batch() + b;
        if (options_.alternatives > 0) sentence.set_alternatives(k, top.likeliest(row, options_.alternatives));
        add_candidates(sentence, k, top, row);
      }
      sentence.advance();
      if (options_.watcher != nullptr) report(sentence, *options_.watcher);
    }
  }

  static void report(Beam& sentence, SearchWatcher& watcher) {
    if (watcher.wants_steps(sentence.row())) {
      for (const SearchStep& step : sentence.new_steps()) watcher.step(sentence.row(), step);
    }
    if (!watcher.should_continue(sentence.row())) sentence.stop();
  }

  // Adds an event that, together with all earlier ones, decides which kernels the next step runs and at which
  // addresses.
  void add_event(uint64_t event) {
    if (captures_graphs_) history_ = workspace_.histories.extend(history_, event);
  }

  bool captures_weights() const { return options_.capture_weights || options_.coverage_penalty > 0; }

  // The number of top tokens that each beam needs: enough to continue and to finish after the banned ones are removed.
  int64_t candidates_needed() {
    constexpr int64_t kAll = std::numeric_limits<int32_t>::max();
    if (options_.sample && options_.top_k == 0) return kAll;
    size_t banned = 0;
    for (int64_t b = 0; b < batch(); ++b) {
      if (!at(b).done() && at(b).forced_ids() != nullptr) return kAll;
      for (int64_t k = 0; k < beams_; ++k) {
        if (!at(b).done() && at(b).live(k)) banned = std::max(banned, at(b).banned(k).size());
      }
    }
    const int64_t needed = (options_.sample ? options_.top_k : beams_ + 1) + static_cast<int64_t>(banned);
    return std::max(needed, options_.alternatives + HostTopTokens::kNeverGenerated);
  }

  void add_candidates(Beam& sentence, int64_t k, const HostTopTokens& top, int64_t row) {
    if (const std::vector<int32_t>* forced = sentence.forced_ids()) return add_forced(sentence, k, *forced, top, row);
    const std::vector<int32_t>& banned = sentence.banned(k);
    sampled_from_.clear();
    for (int64_t i = 0; i < top.count(); ++i) {
      const NextToken candidate{top.id(row, i), top.log_prob(row, i)};
      if (std::find(banned.begin(), banned.end(), candidate.id) != banned.end()) continue;
      if (first_extended_ > 0 && candidate.log_prob < kImpossible) continue;
      if (std::isinf(candidate.log_prob)) continue;  // not in the sentence's shortlist
      if (!options_.sample) {
        sentence.add_candidate(k, candidate.id, candidate.log_prob);
      } else if (options_.top_k == 0 || std::ssize(sampled_from_) < options_.top_k) {
        sampled_from_.push_back(candidate);
      }
    }
    if (sampled_from_.empty()) return;
    const double uniform = uniform_number(options_, sentence.row(), k, sentence.steps());
    const NextToken sampled = sample_token(sampled_from_, options_, uniform);
    sentence.add_candidate(k, sampled.id, sampled.log_prob);
  }

  // Adds the most likely of the forced ids. `top` has all tokens in the order of their ids.
  static void add_forced(Beam& sentence, int64_t k, const std::vector<int32_t>& forced, const HostTopTokens& top,
                         int64_t row) {
    const int32_t best = *std::max_element(forced.begin(), forced.end(), [&](int32_t a, int32_t b) {
      return top.log_prob_of(row, a) < top.log_prob_of(row, b);
    });
    sentence.add_candidate(k, best, top.log_prob_of(row, best));
  }

  void remove_done() {
    std::vector<int32_t> remaining;  // indices in the batch
    std::vector<size_t> active;
    for (int64_t b = 0; b < batch(); ++b) {
      if (at(b).done()) continue;
      remaining.push_back(static_cast<int32_t>(b));
      active.push_back(active_[static_cast<size_t>(b)]);
    }
    const double done = static_cast<double>(batch() - std::ssize(remaining)) / static_cast<double>(batch());
    if (done == 0 || (done < kDoneShare && !remaining.empty())) return;
    if (!remaining.empty()) {
      const ArenaScope scope(&workspace_.source);
      if (models_.use_count() > 1) models_ = std::make_shared<Ensemble>(*models_);
      models_->select_sentences(from_host(remaining, {std::ssize(remaining)}, device_));
      add_event(remaining.size());
    }
    active_ = std::move(active);
  }

  const SearchOptions& options_;
  Device device_;
  SearchWorkspace& workspace_;
  int64_t beams_, first_extended_;   // first_extended: the id, of models that copy; else 0
  std::vector<int32_t> vocabulary_;  // the tokens that are computed, see BatchVocabulary
  std::vector<Beam> sentences_;
  std::vector<size_t> active_;  // the indices of the sentences that are still in the batch
  std::shared_ptr<Ensemble> models_;
  bool captures_graphs_ = false;
  uint64_t history_ = HistoryIds::kEmpty;  // of all events
  std::vector<int32_t> numbers_;
  std::vector<NextToken> sampled_from_;
};

}  // namespace

void add_images(Batch& batch, const ImageSource& images) {
  const std::vector<int32_t> numbers = to_host<int32_t>(batch.source);
  const Device device = batch.source.device();
  batch.images = images.images(numbers, device);
  const std::vector<int32_t> lengths(numbers.size(), static_cast<int32_t>(images.states()));
  batch.source_lengths = from_host(lengths, {std::ssize(lengths)}, device);
}

void search_batches(std::span<const EncoderDecoder* const> models, const CorpusView& sources,
                    const BatchOptions& batches, const SearchOptions& given, Device device,
                    const FinishedBatch& finished, int64_t copies) {
  check(!models.empty(), "search: expected a model, got none");
  check_options(given);
  assert(Tape::current() == nullptr);
  if (sources.size() == 0) return;
  check(given.prefixes.empty() || std::ssize(given.prefixes) == sources.size(),
        "search: expected as many target prefixes as sentences ({}), got {}", sources.size(), given.prefixes.size());
  check(given.shortlist == nullptr || device.on_host(), "search: expected a shortlist on a CPU only, got {}", device);
  SearchOptions options = given;
  std::optional<LockedWatcher> watcher;
  if (given.watcher != nullptr) options.watcher = &watcher.emplace(*given.watcher);
  const CorpusView corpus = sources.source_only();
  for_each_batch(corpus, batches, device, {.vocabulary = copies}, [&](const NextBatch& next) {
    const ThreadWorkspace workspace(device);
    // Captured steps read the batch's tensors, so these must be at the same addresses for every batch of the same
    // sizes.
    Arena& arena = (*workspace).source;
    const auto next_in_arena = [&](Batch& batch) {
      arena.rewind();
      const ArenaScope scope(&arena);
      const bool more = next(batch);
      if (more && options.images != nullptr) add_images(batch, *options.images);
      return more;
    };
    for (Batch batch; next_in_arena(batch);) {
      std::vector<std::vector<Hypothesis>> found = BatchSearch(models, corpus, batch, options, *workspace).run();
      finished(batch.rows, found);
    }
  });
}

std::vector<std::vector<Hypothesis>> search(std::span<const EncoderDecoder* const> models, const CorpusView& sources,
                                            const BatchOptions& batches, const SearchOptions& options, Device device,
                                            const std::function<void(int64_t)>& done, int64_t copies) {
  std::vector<std::vector<Hypothesis>> all(static_cast<size_t>(sources.size()));
  std::mutex mutex;  // for `count` and `done`
  int64_t count = 0;
  const auto finished = [&](std::span<const int64_t> sentences, std::span<std::vector<Hypothesis>> found) {
    for (size_t i = 0; i < found.size(); ++i) all[static_cast<size_t>(sentences[i])] = std::move(found[i]);
    const std::lock_guard lock(mutex);
    count += std::ssize(sentences);
    if (done) done(count);
  };
  search_batches(models, sources, batches, options, device, finished, copies);
  return all;
}

}  // namespace fovea
