#include "base/threads.h"

#include <omp.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): setenv
#include <unistd.h>

#include "base/signals.h"

#if defined(__SANITIZE_THREAD__)
// libgomp is not instrumented, so ThreadSanitizer does not see that a region begins after what came
// before it and ends before what comes after. These say so.
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

void bound_spinning(char** argv) {
  if (getenv("GOMP_SPINCOUNT") != nullptr || getenv("OMP_WAIT_POLICY") != nullptr) return;
  setenv("GOMP_SPINCOUNT", "10000", 1);  // a tenth of a millisecond or two
  execv("/proc/self/exe", argv);         // and where that fails, all goes on as before
}

int thread_count() { return omp_in_parallel() ? 1 : omp_get_max_threads(); }

void set_thread_count(int threads) { omp_set_num_threads(std::max(1, threads)); }

namespace detail {

namespace {

struct Region {
  Part part;
  void* context;
  char begin = 0, end = 0;
};

// Outlined, so that what the compiler makes for OpenMP passes only a pointer.
void run_region(Region* region) {
  if (omp_get_thread_num() != 0) block_signals();  // a thread of the pool computes and does nothing else
  FOVEA_ACQUIRE(&region->begin);
  region->part(region->context, omp_get_thread_num(), omp_get_num_threads());
  FOVEA_RELEASE(&region->end);
}

}  // namespace

void run_parts(int parts, Part part, void* context) {
  Region region{part, context};
  Region* shared = &region;
  FOVEA_RELEASE(&region.begin);
#pragma omp parallel num_threads(parts) firstprivate(shared)
  run_region(shared);
  FOVEA_ACQUIRE(&region.end);
}

}  // namespace detail

}  // namespace fovea
