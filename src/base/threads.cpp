#include "base/threads.h"

#include <omp.h>

#include <atomic>
#include <exception>
#include <mutex>

#include "base/signals.h"
#include "base/thread_governor.h"

#if defined(__SANITIZE_THREAD__)
// libgomp is not instrumented, so ThreadSanitizer does not see the synchronisation at the start and end of a parallel
// region. These annotations declare it.
extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}
#define FOVEA_ACQUIRE(address) __tsan_acquire(address)
#define FOVEA_RELEASE(address) __tsan_release(address)
#else
#define FOVEA_ACQUIRE(address) static_cast<void>(address)
#define FOVEA_RELEASE(address) static_cast<void>(address)
#endif

namespace fovea {

namespace {

using Clock = std::chrono::steady_clock;

std::atomic<bool> adapts = false;

// The state of a thread that starts parallel regions.
struct Adaptation {
  int wanted = 0;  // 0: OpenMP's default
  int scopes = 0;  // the number of ThreadCountScopes that fix the thread count
  ThreadGovernor governor;
  Clock::duration waited = {};  // inside the current region

  bool active() const { return adapts.load(std::memory_order_relaxed) && scopes == 0; }
  int wanted_count() {
    if (wanted == 0) wanted = omp_get_max_threads();
    return wanted;
  }
  void apply(Clock::time_point now) {
    const int threads = governor.threads(wanted_count(), now);
    if (threads != omp_get_max_threads()) omp_set_num_threads(threads);
  }
};
thread_local Adaptation adaptation;

}  // namespace

int thread_count() {
  if (omp_in_parallel()) return 1;
  Adaptation& a = adaptation;
  if (a.active() && a.governor.is_limiting(a.wanted_count())) a.apply(Clock::now());
  return omp_get_max_threads();
}

void set_thread_count(int threads) {
  Adaptation& a = adaptation;
  a.wanted = std::max(1, threads);
  omp_set_num_threads(a.wanted);
  if (a.active()) a.apply(Clock::now());
}

void adapt_thread_count(bool adapt) { adapts = adapt; }

bool thread_count_is_reduced() {
  Adaptation& a = adaptation;
  return a.active() && a.governor.is_limiting(a.wanted_count());
}

ThreadCountScope::ThreadCountScope(int threads) : before_(thread_count()) {
  ++adaptation.scopes;
  omp_set_num_threads(threads);
}

ThreadCountScope::~ThreadCountScope() {
  omp_set_num_threads(before_);
  --adaptation.scopes;
}

void publish_thread_count() { omp_set_num_threads(thread_count()); }

namespace detail {

namespace {

struct Region {
  Part part;
  void* context;
  Clock::time_point own_end = {};  // when the caller finished its own part
  char begin = 0, end = 0;
};

// A separate function, so that the code generated for OpenMP captures only a pointer.
void run_region(Region* region) {
  const bool own = omp_get_thread_num() == 0;
  if (!own) block_signals();  // see base/signals.h
  FOVEA_ACQUIRE(&region->begin);
  region->part(region->context, omp_get_thread_num(), omp_get_num_threads());
  if (own && adapts.load(std::memory_order_relaxed)) region->own_end = Clock::now();
  FOVEA_RELEASE(&region->end);
}

void run_team(int parts, Region* region) {
  FOVEA_RELEASE(&region->begin);
#pragma omp parallel num_threads(parts) firstprivate(region)
  run_region(region);
  FOVEA_ACQUIRE(&region->end);
}

}  // namespace

void run_parts(int parts, Part part, void* context) {
  Region region{part, context};
  Adaptation& a = adaptation;
  if (omp_in_parallel() || !a.active()) return run_team(parts, &region);
  a.waited = {};
  const Clock::time_point begin = Clock::now();
  run_team(parts, &region);
  const Clock::time_point end = Clock::now();
  a.governor.add(omp_get_max_threads(), end - begin, a.waited + (end - region.own_end), end);
  a.apply(end);
}

void add_wait(Clock::duration waited) { adaptation.waited += waited; }

}  // namespace detail

namespace {

// The number of threads for tasks. It ignores competing programs: a thread without a core delays only its own task.
int64_t task_threads(int64_t tasks) {
  if (omp_in_parallel()) return 1;
  const int64_t threads = adaptation.active() ? adaptation.wanted_count() : omp_get_max_threads();
  return 2 * tasks < threads ? 1 : std::min(tasks, threads);
}

}  // namespace

void run_tasks(int64_t count, const std::function<void(TaskQueue&)>& work) {
  TaskQueue queue(count);
  const int64_t threads = task_threads(count);
  if (threads <= 1) return work(queue);
  std::exception_ptr error;
  std::mutex mutex;  // for `error`
  auto part = [&](int, int) {
    try {
      work(queue);
    } catch (...) {
      queue.cancel();
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
  };
  detail::Region region{
      [](void* context, int index, int parts) { (*static_cast<decltype(part)*>(context))(index, parts); }, &part};
  detail::run_team(static_cast<int>(threads), &region);
  if (error) std::rethrow_exception(error);
}

}  // namespace fovea
