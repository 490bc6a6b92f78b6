// One thread for each model: takes what is queued and goes together, up to a budget of tokens, and decodes it as one
// batch. The queue is bounded; what is accepted is finished, also when the server stops.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <semaphore>
#include <thread>

#include "fovea/serve/call.h"
#include "fovea/serve/job.h"
#include "fovea/serve/metrics.h"

namespace fovea::app {

struct WorkerOptions {
  int64_t max_queue = 256;      // requests that wait
  int64_t batch_tokens = 2048;  // of sources that are decoded together
  std::chrono::microseconds batch_wait{2000};
  int threads = 1;  // of one model
};

// How many models compute at the same time.
using Slots = std::counting_semaphore<>;

class Worker {
 public:
  // `expects_more`: whether other clients are there whose requests are worth waiting for, so many being in hand.
  Worker(std::string name, const Translator& translator, const WorkerOptions& options, Slots& slots, Metrics& metrics,
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
  Batch take(std::unique_lock<std::mutex>& lock);
  void gather(Batch& batch, int64_t& tokens);
  void decode(const Batch& batch);
  void translate(const Batch& batch);
  void score(const Batch& batch);

  std::string name_;
  const Translator& translator_;
  WorkerOptions options_;
  Slots& slots_;
  Metrics& metrics_;
  std::function<bool(int64_t)> expects_more_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> queue_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace fovea::app
