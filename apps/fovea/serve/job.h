// What a request asks of a model, on its way through the queue.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "decode/translator.h"

namespace fovea::app {

using Clock = std::chrono::steady_clock;

class Job {
 public:
  // Asked for. Nothing of it changes once the job is queued.
  std::vector<std::string> sources;
  std::vector<std::string> targets;  // to score; none to translate
  SearchOptions search;              // begins are this job's own
  ScoreOptions score;
  bool alone = false;  // what it asks for cannot be shared with other jobs
  std::string group;   // jobs of one group may be decoded in one batch; set by set_group
  bool wants_steps = false, wants_tree = false;
  int64_t tokens = 0;  // of the sources
  Clock::time_point deadline;

  // Came of it, once it is done.
  std::vector<Translation> translations;
  std::vector<Hypothesis> scores;
  std::vector<SearchTree> trees;
  std::exception_ptr error;
  int64_t together = 0;  // sentences it was decoded with
  bool dropped = false;  // nobody waited any more, or its time was over: what there is is not whole

  void set_group();  // from all of the above

  // The client's side: takes steps while they come. Each waits for so long at most.
  bool wait_done(std::chrono::milliseconds most);
  std::optional<SearchStep> wait_step(std::chrono::milliseconds most, bool& done);  // done: and no step is left
  void cancel() { cancelled_ = true; }

  // The worker's side.
  bool is_wanted() const { return !cancelled_ && Clock::now() < deadline; }
  void add_step(const SearchStep& step);
  void finish();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<SearchStep> steps_;
  bool done_ = false;
  std::atomic<bool> cancelled_ = false;
};

}  // namespace fovea::app
