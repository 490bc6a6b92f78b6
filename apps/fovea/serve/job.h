// A request's work for a model, on its way through the queue. A job may be decoded in several pieces, so that a long
// one does not hold up the others.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <exception>
#include <functional>
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
  // The request. None of it changes once the job is queued.
  std::vector<std::string> sources;
  std::vector<std::string> targets;  // to score; none to translate
  SearchOptions search;              // its begins are this job's own
  ScoreOptions score;
  bool alone = false;  // it is decoded whole and by itself: its options cannot be shared with other jobs
  std::string group;   // jobs of one group may be decoded in one batch; set by set_group
  bool wants_steps = false, wants_tree = false;
  std::vector<int64_t> source_tokens;  // of each source, the end mark counted
  std::vector<int64_t> costs;          // of each source: target tokens that may be computed, times the beam
  int64_t tokens = 0, cost = 0;        // the sums
  Clock::time_point queued, deadline;
  std::function<void()> notify;       // called when there is a new step and when the job is done, on a worker's thread
  std::string client;                 // who asked: clients take turns
  std::shared_ptr<void> reservation;  // the client's budget that the job occupies until it is done

  // The result. A piece's worker writes its own sentences; the client's side reads once the job is done.
  std::vector<Translation> translations;
  std::vector<Hypothesis> scores;
  std::vector<SearchTree> trees;
  std::exception_ptr error;
  std::atomic<int64_t> together = 0;  // the largest number of sentences in one batch with this job
  std::atomic<bool> dropped = false;  // it was cancelled or ran out of time: the result is incomplete

  void set_group();                            // from the request
  void measure(const Translator& translator);  // sets tokens and costs, from the request
  size_t size() const { return sources.size(); }

  // The client's side.
  bool is_done() const;
  std::optional<SearchStep> next_step();  // a step that has not been taken yet
  void cancel() { cancelled_ = true; }

  // The worker's side. The queue's lock guards `taken`.
  size_t taken = 0;  // sentences that workers have begun or finished
  bool is_wanted() const { return !cancelled_ && !failed_ && Clock::now() < deadline; }
  void add_step(const SearchStep& step);
  void fail(std::exception_ptr with);
  // So many sentences are finished or given up. Done when all are.
  void finish(size_t sentences);

 private:
  mutable std::mutex mutex_;
  std::deque<SearchStep> steps_;
  size_t finished_ = 0;
  std::atomic<bool> cancelled_ = false, failed_ = false;
};

}  // namespace fovea::app
