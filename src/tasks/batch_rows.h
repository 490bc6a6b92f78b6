// The rows of a batch, split into parts that fit into memory: the same for the data of every task.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace fovea {

struct BatchRows {
  int64_t epoch = 0;
  std::vector<int64_t> rows;  // the indices of its examples
  int64_t parts = 1, padded_tokens = 0;

  // Sets the number of parts and returns it, as Task::split() does.
  int64_t split(int64_t max_tokens) {
    const int64_t wanted = max_tokens > 0 ? (padded_tokens + max_tokens - 1) / max_tokens : 1;
    return parts = std::clamp<int64_t>(wanted, 1, std::ssize(rows));
  }
  // As Task::part_tokens().
  int64_t part_tokens() const { return parts < std::ssize(rows) ? padded_tokens / parts : 0; }
  std::span<const int64_t> part(int64_t index) const {
    const int64_t count = std::ssize(rows);
    const auto begin = static_cast<size_t>(index * count / parts),
               end = static_cast<size_t>((index + 1) * count / parts);
    return std::span(rows).subspan(begin, end - begin);
  }
};

}  // namespace fovea
