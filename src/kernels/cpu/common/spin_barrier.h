// A barrier for the threads of one parallel region. It spins, because they arrive within microseconds, and sleeps if
// one of them has lost its core.
#pragma once

#include <atomic>
#include <chrono>

#include "base/threads.h"

namespace fovea::cpu {

class Barrier {
 public:
  // Returns when `threads` threads have called it. Their previous writes are then visible to all.
  void wait(int threads) {
    if (threads <= 1) return;
    const int round = round_.load(std::memory_order_relaxed);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      round_.notify_all();
      return;
    }
    constexpr int kSpins = 1000;  // some tens of microseconds
    for (int spin = 0; spin < kSpins; ++spin) {
      if (round_.load(std::memory_order_acquire) != round) return;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    }
    const auto begin = std::chrono::steady_clock::now();
    while (round_.load(std::memory_order_acquire) == round) round_.wait(round, std::memory_order_acquire);
    detail::add_wait(std::chrono::steady_clock::now() - begin);
  }

 private:
  alignas(64) std::atomic<int> arrived_ = 0;
  std::atomic<int> round_ = 0;
};

}  // namespace fovea::cpu
