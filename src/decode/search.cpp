// The loop over steps: the models say what may come next, every sentence takes its pick on the host, and
// sentences that are done leave the batch.
#include "decode/search.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <memory>

#include "decode/beam.h"
#include "decode/draw.h"
#include "decode/ensemble.h"
#include "decode/options.h"
#include "tensor/step_graphs.h"

namespace fovea {

namespace {

// Sentences leave when this share of a batch is done: to make all that is kept anew costs about one step.
constexpr double kDoneShare = 0.25;
constexpr int64_t kLongestStep = 32;  // how the longest targets of recorded steps are rounded

// Memory that is used again and again: what a batch's source was read into, and the steps in turn, because
// each reads what the last one left.
struct SearchMemory {
  // What a step leaves behind.
  struct Step {
    std::shared_ptr<Ensemble> models;
    LikeliestWords words;
  };
  Arena source, steps[2];
  HistoryIds histories;
  StepGraphs<uint64_t, Step> graphs;  // by the history of the batch, from its encoding to this step
  size_t usual;                       // bytes; more is not kept

  explicit SearchMemory(Device device)
      : source(device),
        steps{Arena(device), Arena(device)},
        graphs(device),
        usual(device.on_host() ? size_t{64} << 20 : cuda::memory_size(device) / 16) {}
  size_t peak() const { return source.peak() + steps[0].peak() + steps[1].peak(); }
  uint64_t generation() const { return source.generation() + steps[0].generation() + steps[1].generation(); }
};

// Each thread keeps its memory for the next search, where it was not unusually much: a server would have the same pages
// cleared again for every request, and the heap would be left in pieces.
class KeptMemory {
 public:
  explicit KeptMemory(Device device) {
    if (!kept() || kept()->source.device() != device) kept() = std::make_unique<SearchMemory>(device);
  }
  ~KeptMemory() {
    if (kept()->peak() > kept()->usual) kept().reset();
  }
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;
  SearchMemory& operator*() const { return *kept(); }

 private:
  static std::unique_ptr<SearchMemory>& kept() {
    static thread_local std::unique_ptr<SearchMemory> memory;
    return memory;
  }
};

class BatchSearch {
 public:
  BatchSearch(std::span<const EncoderDecoder* const> models, const Batch& batch, const SearchOptions& options,
              SearchMemory& memory)
      : options_(options), device_(batch.source.device()), memory_(memory), beams_(beams_of(options)) {
    const std::vector<int32_t> lengths = to_host<int32_t>(batch.source_lengths);
    int64_t longest = 1;
    for (size_t b = 0; b < batch.rows.size(); ++b) {
      sentences_.emplace_back(options, batch.rows[b], lengths[b]);
      places_.push_back(b);
      longest = std::max(longest, longest_target(options, lengths[b], batch.rows[b]));
    }
    memory.source.rewind();
    const ArenaScope scope(&memory.source);
    records_ = options.weights_stay && options.edits.empty() && memory.graphs.captures();
    // With a card, one of few sizes: steps are recorded for each.
    if (records_) longest = (longest + kLongestStep - 1) / kLongestStep * kLongestStep;
    const DecodeOptions decode{beams_, longest, {keeps_looks(), options.capture_scores}, options.edits};
    models_ = std::make_shared<Ensemble>(models, Source{batch.source, batch.source_lengths}, decode);
    for (const EncoderDecoder* model : models) note(model->serial());
    for (const int64_t size : {batch.source.dim(0), batch.source.dim(1), beams_, longest}) {
      note(static_cast<uint64_t>(size));
    }
    note(static_cast<uint64_t>(product_precision()));
    note((keeps_looks() ? 1 : 0) + (options.capture_scores ? 2 : 0));
  }

  void run(std::vector<std::vector<Hypothesis>>& found) {
    for (int64_t step = 0; !places_.empty(); ++step) {
      Arena& arena = memory_.steps[step % 2];
      arena.rewind();
      {
        const ArenaScope scope(&arena);
        take_step(step);
      }
      drop_done();
    }
    for (const Beam& sentence : sentences_) {
      found[static_cast<size_t>(sentence.row())] = sentence.hypotheses();
      SearchWatcher* watcher = options_.watcher;
      if (watcher != nullptr && watcher->wants_tree(sentence.row())) watcher->tree(sentence.row(), sentence.tree());
    }
  }

 private:
  int64_t batch() const { return std::ssize(places_); }
  Beam& at(int64_t b) { return sentences_[places_[static_cast<size_t>(b)]]; }

  // A number for each beam and sentence, [K,B].
  template <class Number> Tensor table(Number&& number) {
    numbers_.clear();
    for (int64_t k = 0; k < beams_; ++k) {
      for (int64_t b = 0; b < batch(); ++b) numbers_.push_back(static_cast<int32_t>(number(k, b)));
    }
    return from_host(numbers_, {beams_, batch()}, device_);
  }
  Tensor words() {
    return table([&](int64_t k, int64_t b) { return at(b).word(k); });
  }

  void take_step(int64_t step) {
    const Tensor words = this->words();
    const Tensor rows = step > 0 ? moved_rows() : Tensor();
    const int64_t count = choices_needed();
    note(static_cast<uint64_t>(rows ? -count : count));
    const auto work = [&] {
      if (models_.use_count() > 1) models_ = std::make_shared<Ensemble>(*models_);  // others go on from here, too
      if (rows) models_->reorder(rows);
      const Scores scores = models_->step(words);
      return SearchMemory::Step{models_, likeliest_of(scores, count)};
    };
    if (!records_) return choose(work().words);
    const SearchMemory::Step made = memory_.graphs.run(history_, memory_.generation(), work);
    models_ = made.models;
    choose(made.words);
  }

  // Where beams go on from. None where all stay, but for steps that are recorded: those do not ask.
  Tensor moved_rows() {
    if (beams_ == 1) return {};
    bool moved = records_ && beams_ > 1;
    const Tensor rows = table([&](int64_t k, int64_t b) {
      const int64_t from = at(b).from(k);
      moved = moved || from != k;
      return from * batch() + b;
    });
    return moved ? rows : Tensor();
  }

  void choose(const LikeliestWords& words) {
    const std::vector<HostWeights> weights = keeps_looks() ? models_->weights() : std::vector<HostWeights>();
    const Choices choices(words);
    for (int64_t b = 0; b < batch(); ++b) {
      Beam& sentence = at(b);
      if (sentence.done()) continue;
      if (sentence.looks() != nullptr) sentence.looks()->take(weights, b, batch());
      for (int64_t k = 0; k < beams_; ++k) {
        if (!sentence.live(k)) continue;
        if (options_.alternatives > 0) sentence.note(k, choices.likeliest(k * batch() + b, options_.alternatives));
        offer(sentence, k, choices, k * batch() + b);
      }
      sentence.advance();
      if (options_.watcher != nullptr) show(sentence, *options_.watcher);
    }
  }

  static void show(Beam& sentence, SearchWatcher& watcher) {
    if (watcher.wants_steps(sentence.row())) {
      for (const SearchStep& step : sentence.new_steps()) watcher.step(sentence.row(), step);
    }
    if (!watcher.goes_on(sentence.row())) sentence.stop();
  }

  // Events that, together with all earlier ones, decide which kernels the next step runs and where its tensors are.
  void note(uint64_t event) {
    if (records_) history_ = memory_.histories.extend(history_, event);
  }

  bool keeps_looks() const { return options_.capture_weights || options_.coverage_penalty > 0; }

  // Enough for every beam to go on and to end, after the words that are banned.
  int64_t choices_needed() {
    constexpr int64_t kAll = std::numeric_limits<int32_t>::max();
    if (options_.sample && options_.top_k == 0) return kAll;
    size_t most = 0;
    for (int64_t b = 0; b < batch(); ++b) {
      if (!at(b).done() && at(b).forced() != nullptr) return kAll;
      for (int64_t k = 0; k < beams_; ++k) {
        if (!at(b).done() && at(b).live(k)) most = std::max(most, at(b).banned(k).size());
      }
    }
    const int64_t needed = (options_.sample ? options_.top_k : beams_ + 1) + static_cast<int64_t>(most);
    return std::max(needed, options_.alternatives + Choices::kNever);
  }

  void offer(Beam& sentence, int64_t k, const Choices& choices, int64_t row) {
    if (const std::vector<int32_t>* forced = sentence.forced()) return offer_one(sentence, k, *forced, choices, row);
    const std::vector<int32_t>& banned = sentence.banned(k);
    drawn_from_.clear();
    for (int64_t i = 0; i < choices.count(); ++i) {
      const NextWord choice{choices.word(row, i), choices.log_prob(row, i)};
      if (std::find(banned.begin(), banned.end(), choice.word) != banned.end()) continue;
      if (!options_.sample) {
        sentence.offer(k, choice.word, choice.log_prob);
      } else if (options_.top_k == 0 || std::ssize(drawn_from_) < options_.top_k) {
        drawn_from_.push_back(choice);
      }
    }
    if (drawn_from_.empty()) return;
    const NextWord drawn = draw(drawn_from_, options_, lot_of(options_, sentence.row(), k, sentence.steps()));
    sentence.offer(k, drawn.word, drawn.log_prob);
  }

  // The likeliest of the words that may come; the choices are all words as they lie.
  static void offer_one(Beam& sentence, int64_t k, const std::vector<int32_t>& forced, const Choices& choices,
                        int64_t row) {
    const int32_t best = *std::max_element(forced.begin(), forced.end(), [&](int32_t a, int32_t b) {
      return choices.log_prob(row, a) < choices.log_prob(row, b);
    });
    sentence.offer(k, best, choices.log_prob(row, best));
  }

  void drop_done() {
    std::vector<int32_t> going;
    std::vector<size_t> places;
    for (int64_t b = 0; b < batch(); ++b) {
      if (at(b).done()) continue;
      going.push_back(static_cast<int32_t>(b));
      places.push_back(places_[static_cast<size_t>(b)]);
    }
    const double done = static_cast<double>(batch() - std::ssize(going)) / static_cast<double>(batch());
    if (done == 0 || (done < kDoneShare && !going.empty())) return;
    if (!going.empty()) {
      const ArenaScope scope(&memory_.source);
      if (models_.use_count() > 1) models_ = std::make_shared<Ensemble>(*models_);
      models_->select_sentences(from_host(going, {std::ssize(going)}, device_));
      note(going.size());
    }
    places_ = std::move(places);
  }

  const SearchOptions& options_;
  Device device_;
  SearchMemory& memory_;
  int64_t beams_;
  std::vector<Beam> sentences_;
  std::vector<size_t> places_;  // of those still in the batch
  std::shared_ptr<Ensemble> models_;
  bool records_ = false;                   // whether steps are
  uint64_t history_ = HistoryIds::kEmpty;  // of all noted events
  std::vector<int32_t> numbers_;
  std::vector<NextWord> drawn_from_;
};

}  // namespace

std::vector<std::vector<Hypothesis>> search(std::span<const EncoderDecoder* const> models, const CorpusView& sources,
                                            const BatchOptions& batches, const SearchOptions& options, Device device,
                                            const std::function<void(int64_t)>& done) {
  check(!models.empty(), "search: expected a model, got none");
  check_options(options);
  assert(Tape::current() == nullptr);
  std::vector<std::vector<Hypothesis>> found(static_cast<size_t>(sources.size()));
  if (found.empty()) return found;
  check(options.begins.empty() || options.begins.size() == found.size(),
        "search: expected as many target prefixes as sentences ({}), got {}", found.size(), options.begins.size());
  BatchOptions in_order = batches;
  in_order.shuffle = false;
  Batcher batcher(sources.source_only(), in_order);
  const KeptMemory memory(device);
  int64_t finished = 0;
  for (int64_t i = 0; i < batcher.batches(); ++i) {
    const Batch batch = batcher.next(device);
    BatchSearch(models, batch, options, *memory).run(found);
    finished += std::ssize(batch.rows);
    if (done) done(finished);
  }
  return found;
}

}  // namespace fovea
