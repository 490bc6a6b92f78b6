// The only place where Fovea starts parallel work. It shares OpenMP's pool with oneDNN, so that the
// two never compete for cores.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <type_traits>

namespace fovea {

// How many threads parallel work begun by the calling thread uses; 1 inside such work.
int thread_count();
// At most so many for the calling thread. The default is one for each core.
void set_thread_count(int threads);

// From now on, threads use fewer threads than that while other programs keep the cores busy (base/thread_governor.h).
// For programs rather than for libraries inside others, and for the beginning of a main().
void adapt_thread_count(bool adapt = true);
// Whether the calling thread uses fewer at the moment.
bool thread_count_is_reduced();

// While it lives, thread_count() is `threads` on the calling thread.
class ThreadCountScope {
 public:
  explicit ThreadCountScope(int threads);
  ~ThreadCountScope();
  ThreadCountScope(const ThreadCountScope&) = delete;
  ThreadCountScope& operator=(const ThreadCountScope&) = delete;

 private:
  int before_;
};
// Tells OpenMP, and so oneDNN, what thread_count() says. The two differ inside a parallel region.
void publish_thread_count();

// For the first line of a main(). OpenMP's idle threads spin for milliseconds before they sleep, which on a
// machine that others use too can slow a program down a hundredfold: the one everybody waits for does not get
// a core. The bound on that is read from the environment when a program is loaded, so this sets it and starts
// the program anew, once; a bound the user has set is kept.
void bound_spinning(char** argv);

namespace detail {
using Part = void (*)(void* context, int part, int parts);
void run_parts(int parts, Part part, void* context);
// The calling thread slept inside a region of its own, waiting for others of that region.
void add_wait(std::chrono::steady_clock::duration waited);
}  // namespace detail

// Calls body(part, parts) once for each part, on as many threads. The body must not throw.
template <class Body> void parallel_parts(int parts, Body&& body) {
  if (parts <= 1) return body(0, 1);
  auto part = [](void* context, int index, int count) {
    (*static_cast<std::remove_reference_t<Body>*>(context))(index, count);
  };
  detail::run_parts(parts, part, const_cast<void*>(static_cast<const void*>(&body)));
}

// Cuts [0, count) into one contiguous range a thread, each at least `grain` long, and calls
// body(begin, end) for each. What a range computes must not depend on where it was cut.
template <class Body> void parallel_for(int64_t count, int64_t grain, Body&& body) {
  const int64_t most = std::max<int64_t>(1, count / std::max<int64_t>(1, grain));
  const int parts = static_cast<int>(std::min<int64_t>(thread_count(), most));
  parallel_parts(parts, [&](int part, int of) { body(count * part / of, count * (part + 1) / of); });
}

}  // namespace fovea
