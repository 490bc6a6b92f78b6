// Steps that come again and again on a card, as graphs: a step is many small kernels, and the host is slower to queue
// them than the card to run them. A step of a kind that comes for the first time is done at once; the second time it
// is recorded, and from then on queued with one call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "tensor/cuda.h"

namespace fovea {

// Key: whatever decides what a step does. Made: what it makes, tensors for instance, which are where they were when it
// was recorded.
template <class Key, class Made> class StepGraphs {
 public:
  explicit StepGraphs(Device device) : device_(device), records_(cuda::Graph::available(device)) {}

  // Does the work, or repeats what it did the last time the key came. While `generation` stays the same, work of one
  // key has its tensors at the same addresses. Work that copies to the host is never recorded.
  Made run(const Key& key, uint64_t generation, const std::function<Made()>& work) {
    if (!records_) return work();
    if (generation != generation_) entries_.clear();
    generation_ = generation;
    const auto [place, fresh] = entries_.try_emplace(key);
    Entry& entry = place->second;
    entry.used = ++runs_;
    if (fresh) {
      if (entries_.size() > kMost) forget_oldest();
      const uint64_t copies = cuda::copies_to_host(device_);
      Made made = work();
      records_ = cuda::copies_to_host(device_) == copies;
      return made;
    }
    if (!entry.graph) entry.graph = std::make_unique<cuda::Graph>(device_, [&] { entry.made = work(); });
    entry.graph->launch();
    return entry.made;
  }
  bool records() const { return records_; }

 private:
  static constexpr size_t kMost = 512;
  struct Entry {
    std::unique_ptr<cuda::Graph> graph;
    Made made = {};
    uint64_t used = 0;
  };
  void forget_oldest() {
    const auto older = [](const auto& a, const auto& b) { return a.second.used < b.second.used; };
    entries_.erase(std::min_element(entries_.begin(), entries_.end(), older));
  }

  Device device_;
  bool records_;
  uint64_t generation_ = 0, runs_ = 0;
  std::map<Key, Entry> entries_;
};

}  // namespace fovea
