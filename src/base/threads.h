// All parallel work in Fovea starts here. Each thread that starts parallel work has threads of its own for it
// (base/thread_team.h).
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <type_traits>

namespace fovea {

// The number of threads that parallel work of the calling thread uses; 1 inside parallel work.
int thread_count();
// Sets the maximum for the calling thread. The default is the number of cores that the process may use.
void set_thread_count(int threads);

// From now on, parallel work uses fewer threads while other programs keep the cores busy (base/thread_governor.h). To
// be called at the start of main(), and only by programs that own the process.
void adapt_thread_count(bool adapt = true);
// Whether the calling thread currently uses fewer threads for that reason.
bool thread_count_is_reduced();

// Sets thread_count() of the calling thread during its lifetime.
class ThreadCountScope {
 public:
  explicit ThreadCountScope(int threads);
  ~ThreadCountScope();
  ThreadCountScope(const ThreadCountScope&) = delete;
  ThreadCountScope& operator=(const ThreadCountScope&) = delete;

 private:
  int before_;
};

namespace detail {
using Part = void (*)(void* context, int part, int parts);
void run_parts(int parts, Part part, void* context);
// Reports that the calling thread waited for other threads inside its own parallel region.
void add_wait(std::chrono::steady_clock::duration waited);
}  // namespace detail

// Calls body(part, parts) once for each part, on several threads. Parts may wait for one another at barriers. The body
// must not throw.
template <class Body> void parallel_parts(int parts, Body&& body) {
  if (parts <= 1) return body(0, 1);
  auto part = [](void* context, int index, int count) {
    (*static_cast<std::remove_reference_t<Body>*>(context))(index, count);
  };
  detail::run_parts(parts, part, const_cast<void*>(static_cast<const void*>(&body)));
}

// Splits [0, count) into one contiguous range per thread, each at least `grain` long, and calls body(begin, end) for
// each. Results must not depend on how the interval is split.
template <class Body> void parallel_for(int64_t count, int64_t grain, Body&& body) {
  const int64_t most = std::max<int64_t>(1, count / std::max<int64_t>(1, grain));
  const int parts = static_cast<int>(std::min<int64_t>(thread_count(), most));
  parallel_parts(parts, [&](int part, int of) { body(count * part / of, count * (part + 1) / of); });
}

// Tasks that are numbered from 0. Each thread takes the next one when it has finished its last.
class TaskQueue {
 public:
  explicit TaskQueue(int64_t count) : count_(count) {}
  // Returns -1 when no task is left.
  int64_t next() {
    const int64_t task = next_.fetch_add(1, std::memory_order_relaxed);
    return task < count_ ? task : -1;
  }
  void cancel() { next_.store(count_, std::memory_order_relaxed); }

 private:
  int64_t count_;
  std::atomic<int64_t> next_ = 0;
};

// Calls work(queue) on several threads, each of which takes tasks until none is left; parallel work inside a task uses
// one thread. If the tasks would occupy less than half of the threads, they run one after the other on the calling
// thread, and parallel work inside them uses all threads. An exception ends the work of all threads after their current
// tasks and is rethrown.
void run_tasks(int64_t count, const std::function<void(TaskQueue&)>& work);

}  // namespace fovea
