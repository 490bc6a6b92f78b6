// Which kernels were called, how often and for how long: a table in front of a device's own that counts
// and passes on. Tests see with it which kernels ran, benchmarks where the time goes.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/kernels.h"
#include "tensor/cuda.h"

namespace fovea {

// Counts while it lives; one at a time for a device. Made and destroyed while nobody computes on it.
// The time is the host's inside the call or, on a card, the card's from before it to after it, when it last ran: in a
// graph that is recorded meanwhile, when that was last replayed. A kernel that calls others through the table is
// charged for them too.
class KernelProfile {
 public:
  struct Entry {
    std::string_view name;
    int64_t calls;
    double seconds;
  };

  explicit KernelProfile(Device device);
  ~KernelProfile();
  KernelProfile(const KernelProfile&) = delete;
  KernelProfile& operator=(const KernelProfile&) = delete;

  // The kernels that were called, the most time first.
  std::vector<Entry> entries() const;

 private:
  friend class CountedCall;
  struct Counter {
    std::atomic<int64_t> calls{0}, nanoseconds{0};
    std::vector<std::pair<cuda::Mark, cuda::Mark>> marks;  // on a card; one thread uses it
  };

  Device device_;
  const KernelTable* table_;       // the one in front of which this stands
  std::vector<Counter> counters_;  // in the order of FOVEA_KERNELS
};

}  // namespace fovea
