#include "base/thread_team.h"

#include <pthread.h>

#include <cassert>
#include <chrono>

#include "base/signals.h"

namespace fovea {

namespace {

using Clock = std::chrono::steady_clock;

thread_local bool inside = false;

// Counts the forks that led to this process.
std::atomic<uint64_t> forks = 0;
void watch_forks() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1); });
  static_cast<void>(registered);
}

void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

// Waits until done(value) and returns the value: first by polling, then asleep.
template <class Done> uint32_t wait_for(const std::atomic<uint32_t>& value, Done&& done) {
  constexpr auto kPolling = std::chrono::microseconds(100);
  constexpr int kPollsPerClock = 32;
  uint32_t now = value.load(std::memory_order_acquire);
  for (const auto begin = Clock::now(); !done(now) && Clock::now() - begin < kPolling;) {
    for (int i = 0; i < kPollsPerClock && !done(now); ++i) {
      pause_core();
      now = value.load(std::memory_order_acquire);
    }
  }
  for (; !done(now); now = value.load(std::memory_order_acquire)) value.wait(now, std::memory_order_acquire);
  return now;
}

}  // namespace

bool ThreadTeam::in_part() { return inside; }

ThreadTeam::~ThreadTeam() {
  if (forks_ != forks.load()) {  // the threads exist in the parent process only
    for (std::thread& thread : threads_) new std::thread(std::move(thread));
    return;
  }
  ends_ = true;
  region_.fetch_add(1, std::memory_order_release);
  region_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadTeam::start(int parts) {
  watch_forks();
  if (forks_ != forks.load()) {
    for (std::thread& thread : threads_) new std::thread(std::move(thread));  // neither joined nor destroyed
    threads_.clear();
    forks_ = forks.load();
  }
  if (static_cast<int>(threads_.size()) + 1 >= parts) return;
  const SignalsBlocked blocked;  // the new threads inherit it; programs handle signals on threads of their own
  while (static_cast<int>(threads_.size()) + 1 < parts) {
    threads_.emplace_back([this] { work(); });
  }
}

bool ThreadTeam::run_next() {
  uint32_t state = parts_.load(std::memory_order_relaxed);
  do {
    if (state % kMostParts >= state / kMostParts) return false;
    // What is read here may be of an earlier region, but not if the exchange succeeds.
  } while (!parts_.compare_exchange_weak(state, state + 1, std::memory_order_acquire, std::memory_order_relaxed));
  part_(context_, static_cast<int>(state % kMostParts), static_cast<int>(state / kMostParts));
  if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_one();
  return true;
}

void ThreadTeam::work() {
  inside = true;
  for (uint32_t last = 0;;) {
    last = wait_for(region_, [&](uint32_t now) { return now != last; });
    if (ends_) return;
    while (run_next()) continue;
  }
}

void ThreadTeam::run(int parts, Part part, void* context, void (*after_own)(void* context)) {
  assert(!inside && parts > 0 && parts < kMostParts);
  start(parts);
  part_ = part;
  context_ = context;
  unfinished_.store(static_cast<uint32_t>(parts), std::memory_order_relaxed);
  // Part 0 is taken already.
  parts_.store(static_cast<uint32_t>(parts) * kMostParts + 1, std::memory_order_release);
  region_.fetch_add(1, std::memory_order_release);
  region_.notify_all();
  inside = true;
  part(context, 0, parts);
  unfinished_.fetch_sub(1, std::memory_order_acq_rel);
  while (run_next()) continue;
  inside = false;
  if (after_own != nullptr) after_own(context);
  wait_for(unfinished_, [](uint32_t left) { return left == 0; });
}

}  // namespace fovea
