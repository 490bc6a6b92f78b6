#include "kernels/profile.h"

#include <algorithm>
#include <chrono>
#include <optional>

namespace fovea {

namespace {

#define FOVEA_KERNEL_NAME(name, Args) #name,
constexpr std::string_view kNames[] = {FOVEA_KERNELS(FOVEA_KERNEL_NAME)};
#undef FOVEA_KERNEL_NAME

#define FOVEA_KERNEL_INDEX(name, Args) name,
enum class Index : uint8_t { FOVEA_KERNELS(FOVEA_KERNEL_INDEX) };
#undef FOVEA_KERNEL_INDEX

// The functions of a table have no state, so they find the profile by the kind of the stream's device.
KernelProfile* profiles[3] = {};

KernelProfile*& profile_of(Device device) { return profiles[static_cast<int>(device.kind)]; }

}  // namespace

// A call in progress, which adds itself to the counter when it ends, also by an exception.
class CountedCall {
 public:
  CountedCall(Device device, Index index)
      : profile_(*profile_of(device)),
        counter_(profile_.counters_[static_cast<size_t>(index)]),
        start_(std::chrono::steady_clock::now()) {
    if (!device.on_host()) begin_.emplace(device);
  }
  ~CountedCall() {
    if (begin_) counter_.events.emplace_back(std::move(*begin_), cuda::TimingEvent(profile_.device_));
    const std::chrono::nanoseconds taken = std::chrono::steady_clock::now() - start_;
    counter_.calls.fetch_add(1, std::memory_order_relaxed);
    counter_.nanoseconds.fetch_add(taken.count(), std::memory_order_relaxed);
  }
  CountedCall(const CountedCall&) = delete;
  CountedCall& operator=(const CountedCall&) = delete;

  const KernelTable& table() const { return *profile_.table_; }

 private:
  KernelProfile& profile_;
  KernelProfile::Counter& counter_;
  std::chrono::steady_clock::time_point start_;
  std::optional<cuda::TimingEvent> begin_;
};

namespace {

const KernelTable& counting_kernels() {
#define FOVEA_COUNTING_KERNEL(name, Args)               \
  .name = +[](Stream& stream, const Args& args) {       \
    const CountedCall call(stream.device, Index::name); \
    call.table().name(stream, args);                    \
  },
  static const KernelTable table = {FOVEA_KERNELS(FOVEA_COUNTING_KERNEL)};
#undef FOVEA_COUNTING_KERNEL
  return table;
}

}  // namespace

KernelProfile::KernelProfile(Device device) : device_(device), table_(&kernels(device)), counters_(std::size(kNames)) {
  check(profile_of(device) == nullptr, "profile: expected one profile of {} at a time, got a second", device);
  profile_of(device) = this;
  replace_kernels(device, &counting_kernels());
}

KernelProfile::~KernelProfile() {
  replace_kernels(device_, table_);
  profile_of(device_) = nullptr;
}

std::vector<KernelProfile::Entry> KernelProfile::entries() const {
  std::vector<Entry> entries;
  for (size_t i = 0; i < counters_.size(); ++i) {
    const int64_t calls = counters_[i].calls, nanoseconds = counters_[i].nanoseconds;
    if (calls == 0) continue;
    Entry& entry = entries.emplace_back(Entry{kNames[i], calls, 1e-9 * static_cast<double>(nanoseconds)});
    if (device_.on_host()) continue;
    entry.seconds = 0;
    for (const auto& [begin, end] : counters_[i].events) entry.seconds += end.seconds_since(begin);
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.seconds > b.seconds; });
  return entries;
}

}  // namespace fovea
