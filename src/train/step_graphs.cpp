#include "train/step_graphs.h"

#include <algorithm>

namespace fovea {

void StepGraphs::run(const Key& key, uint64_t generation, const std::function<void()>& work) {
  if (!records_) return work();
  if (generation != generation_) entries_.clear();
  generation_ = generation;
  const auto [place, fresh] = entries_.try_emplace(key);
  Entry& entry = place->second;
  entry.used = ++runs_;
  if (fresh) {
    const uint64_t copies = cuda::copies_to_host(device_);
    work();
    records_ = cuda::copies_to_host(device_) == copies;
    if (entries_.size() > kMost) forget_oldest();
    return;
  }
  if (!entry.graph) entry.graph = std::make_unique<cuda::Graph>(device_, work);
  entry.graph->launch();
}

void StepGraphs::forget_oldest() {
  const auto older = [](const auto& a, const auto& b) { return a.second.used < b.second.used; };
  entries_.erase(std::min_element(entries_.begin(), entries_.end(), older));
}

}  // namespace fovea
