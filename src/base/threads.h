// The only place where Fovea starts parallel work. It shares OpenMP's pool with oneDNN, so that the
// two never compete for cores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace fovea {

int thread_count();
void set_thread_count(int threads);

// For the first line of a main(). OpenMP's idle threads spin for milliseconds before they sleep, which on a
// machine that others use too can slow a program down a hundredfold: the one everybody waits for does not get
// a core. The bound on that is read from the environment when a program is loaded, so this sets it and starts
// the program anew, once; a bound the user has set is kept.
void bound_spinning(char** argv);

namespace detail {
using Part = void (*)(void* context, int part, int parts);
void run_parts(int parts, Part part, void* context);
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
