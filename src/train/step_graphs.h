// Steps of training on a card, as graphs: a step is thousands of small kernels, and the host is slower to queue them
// than the card to run them. A shape that comes for the first time is done at once; the second time the step is
// recorded, and from then on queued with one call.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "tensor/cuda.h"

namespace fovea {

class StepGraphs {
 public:
  using Key = std::array<int64_t, 4>;  // whatever decides what a step does

  explicit StepGraphs(Device device) : device_(device), records_(cuda::Graph::available(device)) {}

  // Does the work, or repeats what it did the last time the key came. While `generation` stays the same, work of one
  // key has its tensors at the same addresses. Work that copies to the host is never recorded.
  void run(const Key& key, uint64_t generation, const std::function<void()>& work);

 private:
  static constexpr size_t kMost = 512;
  struct Entry {
    std::unique_ptr<cuda::Graph> graph;
    uint64_t used = 0;
  };
  void forget_oldest();

  Device device_;
  bool records_;
  uint64_t generation_ = 0, runs_ = 0;
  std::map<Key, Entry> entries_;
};

}  // namespace fovea
