// A few threads for each model: one takes what is queued and goes together, up to a budget of tokens, and decodes it as
// one batch; meanwhile another takes what has come since. So cores share no batch as long as there are several, and a
// long request keeps no short one waiting. The queue is bounded; what is accepted is finished, also when the server
// stops.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "fovea/serve/call.h"
#include "fovea/serve/job.h"
#include "fovea/serve/metrics.h"

namespace fovea::app {

struct WorkerOptions {
  int64_t max_queue = 256;      // requests that wait
  int64_t batch_tokens = 2048;  // of sources that are decoded together
  std::chrono::microseconds batch_wait{2000};
};

// The cores that all models compute with: so many batches are decoded at the same time, each with its part of them.
class Cores {
 public:
  explicit Cores(int count) : count_(count) {}
  int count() const { return count_; }
  // Waits until there is one; how many threads the batch may use, where more batches wait for cores or none does.
  int take(bool more_wait);
  void give_back();

 private:
  int count_, busy_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
};

class Worker {
 public:
  // `expects_more`: whether other clients are there whose requests are worth waiting for, so many being in hand.
  Worker(std::string name, const Translator& translator, const WorkerOptions& options, Cores& cores, Metrics& metrics,
         std::function<bool(int64_t)> expects_more);
  ~Worker() { stop(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // ApiError when the queue is full.
  void submit(std::shared_ptr<Job> job);
  int64_t queued() const;
  void stop();  // when all that was accepted is done

 private:
  using Batch = std::vector<std::shared_ptr<Job>>;

  void run();
  void wake_one();
  Batch take(std::unique_lock<std::mutex>& lock);
  void gather(Batch& batch, int64_t& tokens, int64_t most);
  void decode(const Batch& batch);
  void translate(const Batch& batch);
  void score(const Batch& batch);

  std::string name_;
  const Translator& translator_;
  WorkerOptions options_;
  Cores& cores_;
  Metrics& metrics_;
  std::function<bool(int64_t)> expects_more_;
  mutable std::mutex mutex_;
  std::condition_variable changed_, more_;
  std::deque<std::shared_ptr<Job>> queue_;
  int64_t idle_ = 0;     // threads without a batch
  bool taking_ = false;  // one of them is choosing: the others wait for their turn
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace fovea::app
