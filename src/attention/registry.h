// The mechanisms, by name: what help, recipes, documentation, tests and benchmarks walk.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention/config.h"
#include "nn/layers.h"

namespace fovea {

struct ScoreSizes {
  int64_t query, keys, depth;  // depths of the query, the keys, and the space they meet in
};

// How well a key answers a query. The keys' side is computed once a source.
class Score {
 public:
  virtual ~Score() = default;
  // Makes what is compared from what is remembered: [S,B,keys] -> [S,B,...]. `first` is where the first one stands.
  virtual Var project_keys(const Var& keys, int64_t /*first*/) const { return keys; }
  // [T,B,query] and projected keys -> [B,H,T,S].
  virtual Var score(const Var& query, const Var& projected, const Tensor& lengths) const = 0;
  // Whether softmax(scale q k) v on the projected sides is all there is, so that the fused kernel may do it.
  virtual bool is_dot(float*) const { return false; }
  // Softmax attention to values by this score in one go, for the few queries of a step, where there is a kernel for it.
  // No context: there is none.
  virtual Attended attend(const Var& /*query*/, const Var& /*projected*/, const Var& /*values*/,
                          const Tensor& /*lengths*/) const {
    return {};
  }
};

struct ScoreEntry {
  std::string_view name, equation, paper, cost, help;
  std::unique_ptr<Score> (*make)(const AttentionConfig&, const ScoreSizes&, Parameters&, const std::string& name);
};
std::span<const ScoreEntry> scores();
const ScoreEntry& find_score(std::string_view name);

// The other axes have no class of their own: attention.cpp is where they happen.
struct Choice {
  std::string_view name, equation, paper, cost, help;
};
std::span<const Choice> scopes();
std::span<const Choice> selections();
std::span<const Choice> relatives();  // positions that enter the score
template <class Entries> std::vector<std::string> names_of(const Entries& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.emplace_back(entry.name);
  return names;
}

}  // namespace fovea
