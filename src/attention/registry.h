// The registries of attention mechanisms, by name. Help, recipes, documentation, tests and benchmarks walk them, so a
// new entry is known to all of these.
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
  int64_t query, keys, depth;  // of a query, of a key, and of the space in which they are compared
};

// How well a key matches a query. The part that depends on the keys alone is computed once for each source.
class Score {
 public:
  virtual ~Score() = default;
  // [S,B,keys] -> [S,B,...]. `first` is the position of the first key.
  virtual Var project_keys(const Var& keys, int64_t /*first*/) const { return keys; }
  // [T,B,query] and projected keys -> [B,H,T,S].
  virtual Var score(const Var& query, const Var& projected, const Tensor& lengths) const = 0;
  // Whether attention with this score is softmax(scale q k) v on the projected keys, which a fused kernel computes.
  virtual bool is_dot(float* /*scale*/) const { return false; }
  // Softmax attention with this score by one fused kernel, for the few queries of a decoding step. Without such a
  // kernel the result has no context.
  virtual Attended attend(const Var& /*query*/, const Var& /*projected*/, const Var& /*values*/,
                          const Tensor& /*lengths*/) const {
    return {};
  }
  virtual int64_t max_keys() const { return 0; }  // 0 for no limit
};

// A choice on one axis of a mechanism, as help and documentation show it.
struct Choice {
  std::string_view name, equation, paper, cost, help;
};

struct ScoreEntry : Choice {
  bool compares_directly;  // queries and keys, without a learned map between them: rotary positions need this
  bool uses_keys;
  bool uses_depth;    // AttentionConfig::depth
  bool uses_longest;  // AttentionConfig::longest
  std::unique_ptr<Score> (*make)(const AttentionConfig&, const ScoreSizes&, Parameters&, const std::string& name);
};
std::span<const ScoreEntry> scores();

struct ScopeEntry : Choice {
  bool window;           // positions further than AttentionConfig::window from a centre are masked
  bool predicts_center;  // the centre is predicted from the query, and a Gaussian weights its window
};
std::span<const ScopeEntry> scopes();

struct AttentionResult;
struct SelectionEntry : Choice {
  bool is_softmax;
  bool hard;  // one position is selected
  // Scores [B,H,T,S] -> weights. A selection that is trained by REINFORCE adds its log-probabilities to the result.
  Var (*select)(const Var& scores, const Mask&, const AttentionConfig&, AttentionResult&);
};
std::span<const SelectionEntry> selections();

// Relative positions inside the score.
struct RelativeEntry : Choice {
  bool rotary;            // queries and keys are rotated by their position
  bool distance_vectors;  // a learned vector for each distance
  bool distance_penalty;  // a penalty that is linear in the distance
};
std::span<const RelativeEntry> relatives();

// The entry of that name; null if there is none.
template <class Entries> const auto* find_entry(const Entries& entries, std::string_view name) {
  for (const auto& entry : entries) {
    if (entry.name == name) return &entry;
  }
  return decltype(&*std::begin(entries)){};
}
template <class Entries> std::vector<std::string> names_of(const Entries& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.emplace_back(entry.name);
  return names;
}
// The names of the entries with a property, for messages: "dot, scaled-dot or cosine".
template <class Entries, class Property> std::string names_with(const Entries& entries, const Property& property) {
  std::vector<std::string_view> names;
  for (const auto& entry : entries) {
    if (property(entry)) names.push_back(entry.name);
  }
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

}  // namespace fovea
