// CUDA graphs of repeated steps. A step launches many small kernels, and the host is slower to launch them than the GPU
// to run them. The first step with a given key runs directly, the second is captured as a graph, and all later ones
// launch that graph with a single call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "tensor/cuda.h"

namespace fovea {

// Names histories of a computation: a history is a sequence of numbers, one for each event that decides which kernels
// run next and at which addresses. Equal histories have the same id and different histories never do, so an id is an
// exact key for StepGraphs. Extending a history costs one lookup, however long it is.
class HistoryIds {
 public:
  static constexpr uint64_t kEmpty = 0;  // the id of the empty history

  // The id of `history` followed by `event`.
  uint64_t extend(uint64_t history, uint64_t event) {
    if (ids_.size() >= kMaxSize) ids_.clear();  // equal histories then get new ids, but no id is given twice
    const auto [it, inserted] = ids_.try_emplace({history, event}, last_ + 1);
    if (inserted) ++last_;
    return it->second;
  }

 private:
  static constexpr size_t kMaxSize = size_t{1} << 16;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> ids_;  // {id of a history, next event} -> id of the longer history
  uint64_t last_ = kEmpty;
};

// Key: everything that decides which kernels a step launches and with which addresses. Result: the step's result, for
// instance tensors, which stay at the addresses they had when the graph was captured.
template <class Key, class Result> class StepGraphs {
 public:
  explicit StepGraphs(Device device) : device_(device), captures_(cuda::Graph::available(device)) {}

  // Runs the work, or launches the graph that was captured for the key. The caller guarantees that, while `generation`
  // stays the same, the work of one key uses the same addresses. Work that copies to the host is never captured.
  Result run(const Key& key, uint64_t generation, const std::function<Result()>& work) {
    if (!captures_) return work();
    if (generation != generation_) entries_.clear();
    generation_ = generation;
    const auto [it, inserted] = entries_.try_emplace(key);
    Entry& entry = it->second;
    entry.used = ++runs_;
    if (inserted) {
      if (entries_.size() > kMaxGraphs) evict_least_recent();
      const uint64_t copies = cuda::copies_to_host(device_);
      Result result = work();
      captures_ = cuda::copies_to_host(device_) == copies;
      return result;
    }
    if (!entry.graph) entry.graph = std::make_unique<cuda::Graph>(device_, [&] { entry.result = work(); });
    entry.graph->launch();
    return entry.result;
  }
  bool captures() const { return captures_; }

 private:
  static constexpr size_t kMaxGraphs = 512;
  struct Entry {
    std::unique_ptr<cuda::Graph> graph;
    Result result = {};
    uint64_t used = 0;
  };
  void evict_least_recent() {
    const auto less_recent = [](const auto& a, const auto& b) { return a.second.used < b.second.used; };
    entries_.erase(std::min_element(entries_.begin(), entries_.end(), less_recent));
  }

  Device device_;
  bool captures_;
  uint64_t generation_ = 0, runs_ = 0;
  std::map<Key, Entry> entries_;
};

}  // namespace fovea
