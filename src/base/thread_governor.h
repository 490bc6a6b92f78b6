// How many threads are worth using while other programs want the same cores. A parallel region ends when its last
// thread does, and on a busy machine one of them often waits for a core for milliseconds: then two threads can take
// longer than one. Results do not depend on the number of threads, so it may change at any time.
//
// The caller's own share of a region tells what the region would have cost with half the threads: twice that share, and
// no more. So once the caller waits for the others for more than half of the time, half the threads are faster. After a
// while, longer after each failure, twice as many are tried again.
#pragma once

#include <algorithm>
#include <chrono>
#include <climits>

namespace fovea {

class ThreadGovernor {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::steady_clock::duration;

  bool is_limiting(int wanted) const { return most_ < wanted; }

  // How many of `wanted` threads to use now.
  int threads(int wanted, Time now) {
    if (is_limiting(wanted) && now >= next_trial_) {
      most_ *= 2;
      window_ = kTrial;
      next_trial_ = Time::max();  // until it is known how this one went
      spent_ = waited_ = {};
    }
    return std::min(wanted, most_);
  }

  // A parallel region has ended, while `threads` were used. It took `spent`, of which the caller waited for the others
  // for `waited`.
  void add(int threads, Duration spent, Duration waited, Time now) {
    spent_ += spent;
    waited_ += std::max(Duration::zero(), waited - kUsualWait);
    if (spent_ < window_) return;
    if (waited_ > spent_ / 2) {
      most_ = std::max(1, threads / 2);
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
  static constexpr Duration kUsualWait = std::chrono::microseconds(50);  // on a quiet machine, at most
  static constexpr Duration kWindow = ms(25), kTrial = ms(8);            // of time in regions, to judge by
  static constexpr Duration kShortestPause = ms(250), kLongestPause = ms(8000);

  int most_ = INT_MAX / 2;
  Time next_trial_ = Time::max();
  Duration window_ = kWindow, pause_ = kShortestPause;
  Duration spent_ = {}, waited_ = {};
};

}  // namespace fovea
