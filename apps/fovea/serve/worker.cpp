#include "fovea/serve/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "base/threads.h"
#include "decode/options.h"
#include "tasks/pictures.h"

namespace fovea::app {

namespace {

constexpr int64_t kWorthSharing = 4'000'000;  // multiplications of a step; with fewer, cores would wait for one another

constexpr int64_t kShares = 8;  // of a batch: where several clients wait, one has at most one of them

bool together(const Job& a, const Job& b) { return !a.alone && !b.alone && a.group == b.group; }

// The load that a sentence adds to a batch, in source tokens. It is larger than the sentence for a wide beam or a long
// target, so that steps and batches stay short and other jobs get their turn.
int64_t load_of(const Job& job, size_t i) {
  constexpr int64_t kUsualBeam = 5, kUsualCost = 16;
  return std::max(job.sizes[i].tokens * std::max(job.beams(), kUsualBeam) / kUsualBeam, job.sizes[i].cost / kUsualCost);
}

// Thrown between two parts of a batch that no client waits for any more.
struct Abandoned {};

}  // namespace

// Passes the steps of a batch's sentences to their jobs.
class Worker::Watcher : public SearchWatcher {
 public:
  struct Sentence {
    Job* job;
    size_t source;
  };

  explicit Watcher(std::vector<Sentence> sentences) : sentences_(std::move(sentences)) {}
  explicit Watcher(const Batch& batch) {
    for (const Piece& piece : batch) {
      for (size_t i = piece.begin; i < piece.end; ++i) sentences_.push_back({piece.job.get(), i});
    }
  }
  bool should_continue(int64_t sentence) override { return at(sentence).job->is_wanted(); }
  bool wants_steps(int64_t sentence) override { return at(sentence).job->searching().wants_steps; }
  void step(int64_t sentence, const SearchStep& step) override { at(sentence).job->add_step(step); }
  bool wants_tree(int64_t sentence) override { return at(sentence).job->searching().wants_tree; }
  void tree(int64_t sentence, const SearchTree& tree) override {
    at(sentence).job->searching().trees[at(sentence).source] = tree;
  }

 private:
  const Sentence& at(int64_t sentence) const { return sentences_[static_cast<size_t>(sentence)]; }

  std::vector<Sentence> sentences_;
};

int Cores::take(bool more_wait) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return busy_ < count_; });
  ++busy_;
  return std::max(1, count_ / (busy_ + (more_wait ? 1 : 0)));
}

void Cores::give_back() {
  {
    const std::lock_guard lock(mutex_);
    --busy_;
  }
  changed_.notify_one();
}

Worker::Worker(const Hosted& model, const WorkerOptions& options, Cores& cores, Metrics& metrics,
               std::function<bool(int64_t)> expects_more)
    : model_(model), options_(options), cores_(cores), metrics_(metrics), expects_more_(std::move(expects_more)) {
  for (int i = 0; i < std::min(cores.count(), options.threads); ++i) threads_.emplace_back([this] { run(); });
}

void Worker::submit(std::shared_ptr<Job> job) {
  job->queued = Clock::now();
  const std::lock_guard lock(mutex_);
  if (stopping_) throw overloaded("The server is stopping.");
  if (waiting() >= options_.max_queue) {
    throw overloaded(fmt::format("{} requests are already waiting for this model; try again in a moment.", waiting()));
  }
  for (size_t i = 0; i < job->size(); ++i) queued_load_ += load_of(*job, i);
  queue_.push_back(std::move(job));
  wake_one();
}

// Wakes the thread that is choosing, or one that is idle.
void Worker::wake_one() {
  if (taking_) {
    more_.notify_one();
  } else {
    changed_.notify_one();
  }
}

int64_t Worker::queued() const {
  const std::lock_guard lock(mutex_);
  return waiting();
}

// Queued jobs, less those that are being decoded in pieces: at most one for each thread.
int64_t Worker::waiting() const {
  const int64_t begun = std::count_if(queue_.begin(), queue_.end(), [](const auto& job) { return job->taken > 0; });
  return std::ssize(queue_) - std::min<int64_t>(begun, std::ssize(threads_));
}

double Worker::longest_wait() const {
  const std::lock_guard lock(mutex_);
  double longest = 0;
  for (const auto& job : queue_) {
    if (job->taken > 0) continue;
    longest = std::max(longest, std::chrono::duration<double>(Clock::now() - job->queued).count());
  }
  return longest;
}

void Worker::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  more_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void Worker::run() {
  for (std::unique_lock lock(mutex_);;) {
    ++idle_;
    changed_.wait(lock, [&] { return !taking_ && (stopping_ || !queue_.empty()); });
    if (queue_.empty()) return;
    taking_ = true;
    Batch batch = take(lock);
    taking_ = false;
    --idle_;
    if (stopping_) changed_.notify_all();  // threads that wait for their turn
    if (!queue_.empty()) wake_one();
    lock.unlock();
    if (!batch.empty()) decode(batch);
    batch.clear();  // jobs end without the lock
    lock.lock();
  }
}

void Worker::decode_queued() {
  std::unique_lock lock(mutex_);
  ++idle_;
  while (!queue_.empty()) {
    Batch batch = take(lock);
    lock.unlock();
    if (!batch.empty()) decode(batch);
    batch.clear();  // jobs end without the lock
    lock.lock();
  }
  --idle_;
}

// Takes the first job that is still wanted and sentences that may be decoded with it, leaving a share of the queue to
// each idle thread. Waits a little where more requests are to be expected.
Worker::Batch Worker::take(std::unique_lock<std::mutex>& lock) {
  Batch batch;
  int64_t load = 0;
  const auto until = Clock::now() + options_.batch_wait;
  for (;;) {
    gather(batch, load, std::min(options_.batch_tokens, (load + queued_load_ + idle_ - 1) / idle_));
    const bool full = load >= options_.batch_tokens;
    if (batch.empty() || full || stopping_ || batch.front().job->alone || !expects_more_(std::ssize(batch))) {
      return batch;
    }
    const size_t before = queue_.size();
    if (!more_.wait_until(lock, until, [&] { return stopping_ || queue_.size() > before; })) return batch;
  }
}

// Adds sentences to a batch until its load is `most`; where several clients wait, each has a share of that. A job with
// sentences left goes to the end of the queue.
void Worker::gather(Batch& batch, int64_t& load, int64_t most) {
  const bool alone =
      std::all_of(queue_.begin(), queue_.end(), [&](const auto& job) { return job->client == queue_.front()->client; });
  const int64_t share = alone ? most : most / kShares;
  std::unordered_map<std::string, int64_t> loads;  // by client
  for (const Piece& piece : batch) {
    for (size_t i = piece.begin; i < piece.end; ++i) loads[piece.job->client] += load_of(*piece.job, i);
  }
  std::deque<std::shared_ptr<Job>> passed, unfinished;
  for (; !queue_.empty() && (batch.empty() || load < most); queue_.pop_front()) {
    std::shared_ptr<Job>& job = queue_.front();
    if (!job->is_wanted()) {
      if (!job->dropped.exchange(true)) metrics_.add_cancelled(model_.name());
      for (size_t i = job->taken; i < job->size(); ++i) queued_load_ -= load_of(*job, i);
      job->finish(job->size() - job->taken);
      continue;
    }
    int64_t& used = loads[job->client];
    if (!batch.empty() && (!together(*batch.front().job, *job) || used >= share)) {
      passed.push_back(std::move(job));
      continue;
    }
    const size_t begin = job->taken;
    for (size_t& i = job->taken; i < job->size(); ++i) {
      const int64_t more = load_of(*job, i);
      const bool full = load + more > most || (used > 0 && used + more > share);
      if (!job->alone && load > 0 && full) break;
      load += more;
      used += more;
      queued_load_ -= more;
    }
    if (job->taken > begin) batch.push_back({job, begin, job->taken});
    if (job->taken == begin) {
      passed.push_back(std::move(job));
    } else if (job->taken < job->size()) {
      unfinished.push_back(std::move(job));
    }
  }
  queue_.insert(queue_.begin(), passed.begin(), passed.end());
  queue_.insert(queue_.end(), unfinished.begin(), unfinished.end());
}

void Worker::decode(const Batch& batch) {
  int64_t sentences = 0;
  for (const Piece& piece : batch) sentences += static_cast<int64_t>(piece.size());
  for (const Piece& piece : batch) piece.job->together = std::max<int64_t>(piece.job->together, sentences);
  const int threads = cores_.take(queued() > 0);
  const Job& first = *batch.front().job;
  const bool small = model_.parameters() * sentences * first.beams() < kWorthSharing;
  set_thread_count(small ? 1 : threads);
  const auto begin = Clock::now();
  try {
    std::visit([&](const auto& request) { decode(batch, request); }, first.kind);
  } catch (const Abandoned&) {
    // Every job of the batch is counted as dropped below.
  } catch (...) {
    for (const Piece& piece : batch) piece.job->fail(std::current_exception());
  }
  cores_.give_back();
  metrics_.add_batch(model_.name(), sentences, std::ssize(batch),
                     std::chrono::duration<double>(Clock::now() - begin).count());
  for (const Piece& piece : batch) {
    Job& job = *piece.job;
    int64_t read = 0, written = 0;
    for (size_t i = piece.begin; i < piece.end; ++i) {
      read += job.sizes[i].tokens;
      written += job.written(i);
    }
    metrics_.add_tokens(model_.name(), read, written);
    if (!job.is_wanted() && !job.dropped.exchange(true)) metrics_.add_cancelled(model_.name());
    job.finish(piece.size());
  }
}

void Worker::decode(const Batch& batch, const Job::Translate& request) {
  std::vector<SharedLine> lines;
  SearchOptions search = request.search;
  search.prefixes.clear();
  bool forced = false;
  for (const auto& [job, begin, end] : batch) {
    const std::vector<ForcedPrefix>& prefixes = job->translate().search.prefixes;
    for (size_t i = begin; i < end; ++i) {
      lines.push_back(job->sources[i]);
      search.prefixes.push_back(prefixes.empty() ? ForcedPrefix() : prefixes[i]);
    }
    forced = forced || !prefixes.empty();
  }
  if (!forced) search.prefixes.clear();
  Watcher watcher(batch);
  search.watcher = &watcher;
  std::vector<Translation> translations = model_.translator().translate(lines, search);
  auto next = translations.begin();
  for (const Piece& piece : batch) {
    for (size_t i = piece.begin; i < piece.end; ++i) piece.job->translate().translations[i] = std::move(*next++);
  }
}

void Worker::decode(const Batch& batch, const Job::Score& request) {
  std::vector<SharedLine> sources, targets;
  for (const auto& [job, begin, end] : batch) {
    for (size_t i = begin; i < end; ++i) {
      sources.push_back(job->sources[i]);
      targets.push_back(job->score().targets[i]);
    }
  }
  std::vector<Hypothesis> scores = model_.translator().score(sources, targets, request.options);
  auto next = scores.begin();
  for (const Piece& piece : batch) {
    for (size_t i = piece.begin; i < piece.end; ++i) piece.job->score().scores[i] = std::move(*next++);
  }
}

// A classifier and a reader say after each part of a batch how much is done: there they can be stopped.
std::function<void(int64_t)> Worker::stop_if_unwanted(const Batch& batch) {
  return [&batch](int64_t) {
    if (std::none_of(batch.begin(), batch.end(), [](const Piece& p) { return p.job->is_wanted(); })) throw Abandoned();
  };
}

void Worker::decode(const Batch& batch, const Job::Classify& request) {
  std::vector<std::string> texts;
  for (const auto& [job, begin, end] : batch) {
    for (size_t i = begin; i < end; ++i) texts.push_back(job->sources[i]->text);
  }
  std::vector<Classification> results = model_.classifier().classify(texts, request.options, stop_if_unwanted(batch));
  auto next = results.begin();
  for (const Piece& piece : batch) {
    for (size_t i = piece.begin; i < piece.end; ++i) piece.job->classify().results[i] = std::move(*next++);
  }
}

void Worker::decode(const Batch& batch, const Job::Read& request) {
  std::vector<PassageQuestion> questions;
  for (const auto& [job, begin, end] : batch) {
    for (size_t i = begin; i < end; ++i) questions.push_back({job->sources[i]->text, job->read().questions[i]});
  }
  std::vector<Reading> results = model_.reader().answer(questions, request.options, stop_if_unwanted(batch));
  auto next = results.begin();
  for (const Piece& piece : batch) {
    for (size_t i = piece.begin; i < piece.end; ++i) piece.job->read().results[i] = std::move(*next++);
  }
}

// A picture that cannot be decoded fails its own job alone.
void Worker::decode(const Batch& batch, const Job::Caption& request) {
  const Captioner& captioner = model_.captioner();
  const int64_t size = captioner.size();
  SearchOptions search = request.search;
  search.prefixes.clear();
  std::vector<Image> images;
  std::vector<Watcher::Sentence> sentences;
  bool forced = false;
  for (const auto& [job, begin, end] : batch) {
    Job::Caption& of_job = job->caption();
    const std::vector<ForcedPrefix>& prefixes = of_job.search.prefixes;
    for (size_t i = begin; i < end && job->is_wanted(); ++i) {
      const std::string& bytes = of_job.pictures[i].bytes;
      const std::string& name = job->sources[i]->text;
      try {
        images.push_back(network_input(decode_image(bytes, name, size), size));
        if (search.capture_weights) {
          of_job.shown[i] = captioner.record_image(decode_image(bytes, name, RecordImage::kMaxSide), name);
        }
      } catch (const Error& error) {
        images.resize(sentences.size());
        job->fail(std::make_exception_ptr(bad_request(fmt::format("{}.", error.what()))));
        break;
      }
      sentences.push_back({job.get(), i});
      search.prefixes.push_back(prefixes.empty() ? ForcedPrefix() : prefixes[i]);
      forced = forced || !prefixes.empty();
    }
  }
  if (images.empty()) return;
  if (!forced) search.prefixes.clear();
  Watcher watcher(sentences);
  search.watcher = &watcher;
  std::vector<Caption> captions = captioner.caption(images, search);
  for (size_t i = 0; i < captions.size(); ++i) {
    sentences[i].job->caption().captions[sentences[i].source] = std::move(captions[i]);
  }
}

}  // namespace fovea::app
