#include "fovea/serve/worker.h"

#include <fmt/format.h>

#include "base/threads.h"

namespace fovea::app {

namespace {

// Tells each job of a batch about its own sentences.
class BatchWatcher : public SearchWatcher {
 public:
  explicit BatchWatcher(const std::vector<std::shared_ptr<Job>>& batch) {
    for (const auto& job : batch) {
      job->trees.resize(job->wants_tree ? job->sources.size() : 0);
      for (size_t i = 0; i < job->sources.size(); ++i) places_.push_back({job.get(), i});
    }
  }
  bool goes_on(int64_t sentence) override { return at(sentence).job->is_wanted(); }
  bool wants_steps(int64_t sentence) override { return at(sentence).job->wants_steps; }
  void step(int64_t sentence, const SearchStep& step) override { at(sentence).job->add_step(step); }
  bool wants_tree(int64_t sentence) override { return at(sentence).job->wants_tree; }
  void tree(int64_t sentence, const SearchTree& tree) override { at(sentence).job->trees[at(sentence).source] = tree; }

 private:
  struct Place {
    Job* job;
    size_t source;
  };
  const Place& at(int64_t sentence) const { return places_[static_cast<size_t>(sentence)]; }

  std::vector<Place> places_;
};

constexpr int kMostThreads = 4;               // of a model: more would cut what waits into batches that are too small
constexpr int64_t kWorthSharing = 4'000'000;  // products of a step; of fewer, cores would wait for one another

bool together(const Job& a, const Job& b) { return !a.alone && !b.alone && a.group == b.group; }

}  // namespace

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

Worker::Worker(std::string name, const Translator& translator, const WorkerOptions& options, Cores& cores,
               Metrics& metrics, std::function<bool(int64_t)> expects_more)
    : name_(std::move(name)),
      translator_(translator),
      options_(options),
      cores_(cores),
      metrics_(metrics),
      expects_more_(std::move(expects_more)) {
  for (int i = 0; i < std::min(cores.count(), kMostThreads); ++i) threads_.emplace_back([this] { run(); });
}

void Worker::submit(std::shared_ptr<Job> job) {
  job->set_group();
  const std::lock_guard lock(mutex_);
  if (stopping_) throw overloaded("The server is stopping.");
  if (std::ssize(queue_) >= options_.max_queue) {
    throw overloaded(fmt::format("{} requests are waiting already; try again in a moment.", queue_.size()));
  }
  queue_.push_back(std::move(job));
  wake_one();
}

// Whom it concerns that something waits: the thread that is choosing, or one that has nothing to do.
void Worker::wake_one() {
  if (taking_) {
    more_.notify_one();
  } else {
    changed_.notify_one();
  }
}

int64_t Worker::queued() const {
  const std::lock_guard lock(mutex_);
  return std::ssize(queue_);
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
    const Batch batch = take(lock);
    taking_ = false;
    --idle_;
    if (stopping_) changed_.notify_all();  // who waited for its turn
    if (!queue_.empty()) wake_one();
    lock.unlock();
    if (!batch.empty()) decode(batch);
    lock.lock();
  }
}

// The first that is still wanted, and what goes together with it, with a part left for each thread that has nothing to
// do. Where more may come, it waits for that a little.
Worker::Batch Worker::take(std::unique_lock<std::mutex>& lock) {
  Batch batch;
  int64_t tokens = 0;
  const auto until = Clock::now() + options_.batch_wait;
  for (;;) {
    const int64_t waiting = std::ssize(batch) + std::ssize(queue_);
    gather(batch, tokens, (waiting + idle_ - 1) / idle_);
    const bool full = tokens >= options_.batch_tokens;
    if (batch.empty() || full || stopping_ || batch.front()->alone || !expects_more_(std::ssize(batch))) return batch;
    const size_t before = queue_.size();
    if (!more_.wait_until(lock, until, [&] { return stopping_ || queue_.size() > before; })) return batch;
  }
}

void Worker::gather(Batch& batch, int64_t& tokens, int64_t most) {
  for (auto at = queue_.begin(); at != queue_.end();) {
    Job& job = **at;
    if (!job.is_wanted()) {
      metrics_.add_cancelled(name_);
      job.dropped = true;
      job.finish();
    } else if (!batch.empty() && (std::ssize(batch) >= most || tokens + job.tokens > options_.batch_tokens ||
                                  !together(*batch.front(), job))) {
      ++at;
      continue;
    } else {
      tokens += job.tokens;
      batch.push_back(*at);
    }
    at = queue_.erase(at);
  }
}

void Worker::decode(const Batch& batch) {
  int64_t sentences = 0;
  for (const auto& job : batch) sentences += std::ssize(job->sources);
  for (const auto& job : batch) job->together = sentences;
  const int threads = cores_.take(queued() > 0);
  const bool small = translator_.model().parameters->count() * sentences * batch.front()->search.beam < kWorthSharing;
  set_thread_count(small ? 1 : threads);
  const auto begin = Clock::now();
  try {
    if (batch.front()->targets.empty()) {
      translate(batch);
    } else {
      score(batch);
    }
  } catch (...) {
    for (const auto& job : batch) job->error = std::current_exception();
  }
  cores_.give_back();
  metrics_.add_batch(name_, sentences, std::ssize(batch), std::chrono::duration<double>(Clock::now() - begin).count());
  for (const auto& job : batch) {
    int64_t written = 0;
    for (const Translation& t : job->translations) {
      for (const Translation::Candidate& c : t.candidates) written += std::ssize(c.hypothesis.log_probs);
    }
    metrics_.add_tokens(name_, job->tokens, written);
    job->dropped = !job->is_wanted();
    if (job->dropped) metrics_.add_cancelled(name_);
    job->finish();
  }
}

void Worker::translate(const Batch& batch) {
  std::vector<std::string> lines;
  SearchOptions search = batch.front()->search;
  search.begins.clear();
  bool forced = false;
  for (const auto& job : batch) {
    lines.insert(lines.end(), job->sources.begin(), job->sources.end());
    forced = forced || !job->search.begins.empty();
    search.begins.insert(search.begins.end(), job->search.begins.begin(), job->search.begins.end());
    search.begins.resize(lines.size());
  }
  if (!forced) search.begins.clear();
  BatchWatcher watcher(batch);
  search.watcher = &watcher;
  std::vector<Translation> translations = translator_.translate(lines, search);
  auto next = translations.begin();
  for (const auto& job : batch) {
    const auto end = next + std::ssize(job->sources);
    job->translations.assign(std::make_move_iterator(next), std::make_move_iterator(end));
    next = end;
  }
}

void Worker::score(const Batch& batch) {
  std::vector<std::string> sources, targets;
  for (const auto& job : batch) {
    sources.insert(sources.end(), job->sources.begin(), job->sources.end());
    targets.insert(targets.end(), job->targets.begin(), job->targets.end());
  }
  std::vector<Hypothesis> scores = translator_.score(sources, targets, batch.front()->score);
  auto next = scores.begin();
  for (const auto& job : batch) {
    const auto end = next + std::ssize(job->sources);
    job->scores.assign(std::make_move_iterator(next), std::make_move_iterator(end));
    next = end;
  }
}

}  // namespace fovea::app
