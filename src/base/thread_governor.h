// Decides how many threads to use while other programs compete for the cores. A parallel region ends when its last
// thread ends, and on a busy machine a thread often waits milliseconds for a core, so that two threads can take longer
// than one. Results do not depend on the number of threads, so the number may change at any time.
//
// With half the threads, a region would take at most twice the time that the caller spends on its own part. So if the
// caller waits for the others for more than half of the time, half the threads are faster. After a pause, which doubles
// with each failure, twice as many threads are tried again.
#pragma once

#include <algorithm>
#include <chrono>
#include <climits>

namespace fovea {

class ThreadGovernor {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  bool is_limiting(int wanted) const { return max_threads_ < wanted; }

  // Returns how many of the `wanted` threads to use now.
  int threads(int wanted, Time now) {
    if (is_limiting(wanted) && now >= next_trial_) {
      max_threads_ *= 2;
      window_ = kTrial;
      next_trial_ = Time::max();  // until the result of this trial is known
      spent_ = waited_ = {};
    }
    return std::min(wanted, max_threads_);
  }

  // Reports a parallel region that used `threads` threads. It took `spent`; the caller waited `waited` of it for the
  // other threads.
  void add(int threads, Duration spent, Duration waited, Time now) {
    spent_ += spent;
    waited_ += std::max(Duration::zero(), waited - kUsualWait);
    if (spent_ < window_) return;
    if (waited_ > spent_ / 2) {
      max_threads_ = std::max(1, threads / 2);
      next_trial_ = now + pause_;
      pause_ = std::min<Duration>(2 * pause_, kLongestPause);
    } else {
      pause_ = std::max<Duration>(pause_ / 2, kShortestPause);
      next_trial_ = now;
      window_ = kWindow;
    }
    spent_ = waited_ = {};
  }

 private:
  using ms = std::chrono::milliseconds;
  static constexpr Duration kUsualWait = std::chrono::microseconds(50);  // the longest on an idle machine
  static constexpr Duration kWindow = ms(25), kTrial = ms(8);            // time in regions per decision
  static constexpr Duration kShortestPause = ms(250), kLongestPause = ms(8000);

  int max_threads_ = INT_MAX / 2;
  Time next_trial_ = Time::max();
  Duration window_ = kWindow, pause_ = kShortestPause;
  Duration spent_ = {}, waited_ = {};
};

}  // namespace fovea
