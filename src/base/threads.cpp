#include "base/threads.h"

#include <sched.h>

#include <atomic>
#include <exception>
#include <mutex>

#include "base/thread_governor.h"
#include "base/thread_team.h"

namespace fovea {

namespace {

using Clock = std::chrono::steady_clock;

std::atomic<bool> adapts = false;

// The cores that this process may use.
int core_count() {
#if defined(__EMSCRIPTEN__)
  return 1;  // a page has threads only if its host isolates it from others, which few hosts do
#else
  cpu_set_t cores;
  const int allowed = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
  return std::clamp(allowed, 1, ThreadTeam::kMostParts - 1);
#endif
}

// The state of a thread that starts parallel regions.
struct Caller {
  int wanted = core_count();
  int current = wanted;
  int scopes = 0;  // the number of ThreadCountScopes that fix the thread count
  ThreadGovernor governor;
  Clock::duration waited = {};  // inside the current region
  ThreadTeam team;

  bool adapts_now() const { return adapts.load(std::memory_order_relaxed) && scopes == 0; }
  void adapt(Clock::time_point now) { current = governor.threads(wanted, now); }
};
Caller& caller() {
  thread_local Caller it;
  return it;
}

}  // namespace

int thread_count() {
  if (ThreadTeam::in_part()) return 1;
  Caller& c = caller();
  if (c.adapts_now() && c.governor.is_limiting(c.wanted)) c.adapt(Clock::now());
  return c.current;
}

void set_thread_count(int threads) {
  Caller& c = caller();
  c.current = c.wanted = std::clamp(threads, 1, ThreadTeam::kMostParts - 1);
  if (c.adapts_now()) c.adapt(Clock::now());
}

void adapt_thread_count(bool adapt) { adapts = adapt; }

bool thread_count_is_reduced() {
  const Caller& c = caller();
  return c.adapts_now() && c.governor.is_limiting(c.wanted);
}

ThreadCountScope::ThreadCountScope(int threads) : before_(thread_count()) {
  ++caller().scopes;
  caller().current = threads;
}

ThreadCountScope::~ThreadCountScope() {
  caller().current = before_;
  --caller().scopes;
}

namespace detail {

void run_parts(int parts, Part part, void* context) {
  if (ThreadTeam::in_part()) return part(context, 0, 1);
  Caller& c = caller();
  if (!c.adapts_now()) return c.team.run(parts, part, context);
  struct Region {
    Part part;
    void* context;
    Clock::time_point own_end;  // when the caller finished its own part
  } region{part, context, {}};
  c.waited = {};
  const Clock::time_point begin = Clock::now();
  c.team.run(
      parts,
      [](void* of, int index, int count) {
        static_cast<Region*>(of)->part(static_cast<Region*>(of)->context, index, count);
      },
      &region, [](void* of) { static_cast<Region*>(of)->own_end = Clock::now(); });
  const Clock::time_point end = Clock::now();
  c.governor.add(c.current, end - begin, c.waited + (end - region.own_end), end);
  c.adapt(end);
}

void add_wait(Clock::duration waited) { caller().waited += waited; }

}  // namespace detail

namespace {

// The number of threads for tasks. It ignores competing programs: a thread without a core delays only its own task.
int64_t task_threads(int64_t tasks) {
  if (ThreadTeam::in_part()) return 1;
  const Caller& c = caller();
  const int64_t threads = c.adapts_now() ? c.wanted : c.current;
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
  caller().team.run(
      static_cast<int>(threads),
      [](void* context, int index, int parts) { (*static_cast<decltype(part)*>(context))(index, parts); }, &part);
  if (error) std::rethrow_exception(error);
}

}  // namespace fovea
