// The threads that run one model. A thread takes sentences of the queued jobs that may share a batch, up to a budget,
// and decodes them; meanwhile another thread takes the next ones. Jobs take turns: a job that does not fit into one
// batch goes to the end of the queue with its remaining sentences. The queue is bounded, and a job that was accepted is
// finished, also when the server stops.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "fovea/serve/call.h"
#include "fovea/serve/hosted.h"
#include "fovea/serve/job.h"
#include "fovea/serve/metrics.h"

namespace fovea::app {

constexpr int64_t kBatchTokens = 2048;

struct WorkerOptions {
  int64_t max_queue = 256;  // jobs that wait
  int64_t batch_tokens =
      kBatchTokens;  // source tokens that are decoded together; fewer for wide beams and long targets
  std::chrono::microseconds batch_wait{2000};
  int threads = 4;  // of a model, at most; more would split the queue into batches that are too small
};

// The CPU cores that all models share: as many batches are decoded at the same time, each on its share of the cores.
class Cores {
 public:
  explicit Cores(int count) : count_(count) {}
  int count() const { return count_; }
  // Waits for a free core; returns how many threads the batch may use, given whether more batches wait for cores.
  int take(bool more_wait);
  void give_back();

 private:
  int count_, busy_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
};

class Worker {
 public:
  // `expects_more`: whether other clients are active whose requests are worth waiting for, given how many are in hand.
  Worker(const Hosted& model, const WorkerOptions& options, Cores& cores, Metrics& metrics,
         std::function<bool(int64_t)> expects_more);
  ~Worker() { stop(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void submit(std::shared_ptr<Job> job);  // ApiError when the queue is full
  int64_t queued() const;
  bool is_full() const { return queued() >= options_.max_queue; }
  double longest_wait() const;  // seconds that the first queued job has waited without being taken up
  void stop();                  // returns when all accepted jobs are done
  // Decodes all queued jobs on the calling thread, for programs without threads.
  void decode_queued();

 private:
  // Consecutive sentences of a job.
  struct Piece {
    std::shared_ptr<Job> job;
    size_t begin, end;
    size_t size() const { return end - begin; }
  };
  using Batch = std::vector<Piece>;
  class Watcher;

  void run();
  int64_t waiting() const;
  void wake_one();
  Batch take(std::unique_lock<std::mutex>& lock);
  void gather(Batch& batch, int64_t& load, int64_t most);
  void decode(const Batch& batch);
  // One for each kind of job; the request is that of the batch's first job, which all of them share.
  void decode(const Batch& batch, const Job::Translate& request);
  void decode(const Batch& batch, const Job::Score& request);
  void decode(const Batch& batch, const Job::Classify& request);
  void decode(const Batch& batch, const Job::Read& request);
  void decode(const Batch& batch, const Job::Caption& request);
  static std::function<void(int64_t)> stop_if_unwanted(const Batch& batch);

  const Hosted& model_;
  WorkerOptions options_;
  Cores& cores_;
  Metrics& metrics_;
  std::function<bool(int64_t)> expects_more_;
  mutable std::mutex mutex_;
  std::condition_variable changed_, more_;
  std::deque<std::shared_ptr<Job>> queue_;
  int64_t queued_load_ = 0;  // of all queued sentences that no batch has taken
  int64_t idle_ = 0;         // threads without a batch
  bool taking_ = false;      // one of them is choosing; the others wait for their turn
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace fovea::app
