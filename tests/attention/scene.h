// One attention with random parameters, states and queries, and every mechanism that the registries allow. All calls
// of Attention that these tests make are in scene.cpp.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "attention/attention.h"
#include "attention/naive_attention.h"

namespace fovea::testing {

// Every score x scope x selection x relative position x coverage x heads, the refused combinations among them.
std::vector<AttentionConfig> combinations(std::string_view score);
// The registry's entry of the score.
const ScoreEntry& score_of(const AttentionConfig& config);
// What the message says that refuses a combination; nothing for a combination that is allowed.
std::optional<std::string> refusal(const AttentionConfig& config);
std::vector<AttentionConfig> allowed_combinations(std::string_view score);
// For messages of tests.
std::string describe(const AttentionConfig& config);

struct Setting {
  Device device = Device::reference();
  DType dtype = DType::kF64;
  double tolerance = 1e-12;  // of values of about 1
};
// The reference in float64, and the other devices of this build in f32.
std::vector<Setting> settings();

// The depths of queries and states. 16 makes the factor of a scaled dot product exact in f32 with 1 and 4 heads.
constexpr int64_t kDepth = 16;

struct SceneSizes {
  int64_t batch = 3, queries = 4, keys = 6;
  int64_t query_depth = kDepth, memory_depth = kDepth;
  std::vector<int64_t> lengths = {6, 4, 5};
};

// How queries attend, in the words of AttentionQuery.
struct Ask {
  int64_t position = 0, stride = 1;
  bool causal = false;
  Var coverage = {};
  Var sentinel = {};
  bool weights = true, scores = false;
  std::span<const AttentionEdit> edits = {};
};

class Scene {
 public:
  explicit Scene(const AttentionConfig& config, SceneSizes sizes = {}, Setting setting = {});

  Memory memory(int64_t begin, int64_t end) const;  // of some of the states, without lengths
  Memory memory() const;                            // of all states
  // Keys and values of several memories, one after the other, as a KV cache holds them.
  static Memory concatenated(std::span<const Memory> parts);

  AttentionResult attend(const Ask& ask = {}) const { return attend(memory(), queries, ask); }
  AttentionResult attend(const Memory& memory, const Var& query, const Ask& ask = {}) const;
  // Queries and memory projected together, as models do it.
  AttentionResult attend_together(const Ask& ask = {}) const;
  AttentionResult attend_to_itself(const Ask& ask = {}) const;  // the states are the queries as well
  AttentionResult attend_to_itself_at(int64_t position, std::vector<Memory>& cache) const;  // one step of decoding

  // The same from the equations.
  NaiveResult expected(const Ask& ask = {}) const;
  NaiveResult expected_of_itself(const Ask& ask = {}) const;

  Var random(const Shape& shape, uint64_t stream) const;  // in [-1,1)

  AttentionConfig config;
  SceneSizes sizes;
  Setting setting;
  Parameters parameters;
  Attention attention;
  Var states, queries;  // [S,B,D], [T,B,D]
  Tensor lengths;       // i32 [B]
};

// Context, weights, scores where they are visible, and centers.
void expect_equal(const AttentionResult& got, const NaiveResult& expected, double tolerance);
void expect_near(const Array& got, const Array& expected, double tolerance, const char* what);

// A test of every score, walked through all other axes.
class EveryScore : public ::testing::TestWithParam<std::string> {};
std::string name_of_test(const ::testing::TestParamInfo<std::string>& test);

}  // namespace fovea::testing
