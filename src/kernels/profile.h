// A profile of kernel calls: a table that counts and times each call and passes it to the device's own table. Tests use
// it to see which kernels ran, benchmarks to see where time is spent.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/kernels.h"
#include "tensor/cuda.h"

namespace fovea {

// Counts while it exists; there is at most one per device, and no thread may be computing when it is created or
// destroyed. The time is that of the host inside the call or, on a CUDA device, the time between two events around it
// when it last ran: for a graph captured meanwhile, in its last launch. A kernel that calls others through the table
// includes their time.
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

  // Returns the kernels that were called, those with the most time first.
  std::vector<Entry> entries() const;

 private:
  friend class CountedCall;
  struct Counter {
    std::atomic<int64_t> calls{0}, nanoseconds{0};
    std::vector<std::pair<cuda::TimingEvent, cuda::TimingEvent>> events;  // on a CUDA device, used by one thread
  };

  Device device_;
  const KernelTable* table_;       // the table that calls are passed to
  std::vector<Counter> counters_;  // in the order of FOVEA_KERNELS
};

}  // namespace fovea
