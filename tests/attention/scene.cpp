#include "attention/scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tensor/cuda.h"

namespace fovea::testing {

namespace {

constexpr const char* kName = "attention";

std::vector<Var> keys_of(std::span<const Memory> parts) {
  std::vector<Var> keys;
  for (const Memory& part : parts) keys.push_back(part.keys);
  return keys;
}
std::vector<Var> values_of(std::span<const Memory> parts) {
  std::vector<Var> values;
  for (const Memory& part : parts) values.push_back(part.values);
  return values;
}

AttentionQuery query_of(const Ask& ask) {
  return {.position = ask.position,
          .stride = ask.stride,
          .coverage = ask.coverage,
          .sentinel = ask.sentinel,
          .causal = ask.causal,
          .capture_weights = ask.weights,
          .capture_scores = ask.scores,
          .edits = ask.edits};
}

bool available(Device device) {
  if (!device.on_host()) return device.index < cuda::device_count();
  try {
    kernels(device);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::vector<AttentionConfig> combinations(std::string_view score) {
  std::vector<AttentionConfig> all;
  for (const Choice& scope : scopes()) {
    for (const Choice& selection : selections()) {
      for (const Choice& relative : relatives()) {
        for (const bool coverage : {false, true}) {
          for (const int64_t heads : {1, 4}) {
            AttentionConfig& c = all.emplace_back();
            c.score = score;
            c.scope = scope.name;
            c.selection = selection.name;
            c.relative = relative.name;
            c.coverage = coverage;
            c.heads = heads;
            c.window = 2;
            c.longest = 9;
          }
        }
      }
    }
  }
  return all;
}

const ScoreEntry& score_of(const AttentionConfig& config) { return *find_entry(scores(), config.score); }

std::optional<std::string> refusal(const AttentionConfig& c) {
  if (c.relative == "rotary" && !score_of(c).compares_directly) {
    return fmt::format(
        "attention.relative: rotary positions need a score that compares queries and keys directly: expected "
        "attention.score = {}, got {}",
        names_with(scores(), [](const ScoreEntry& e) { return e.compares_directly; }), c.score);
  }
  if (!score_of(c).uses_keys && c.relative != "none") {
    return fmt::format(
        "attention.relative: the {} score does not use keys, so relative positions cannot act on it: expected none, "
        "got {}",
        c.score, c.relative);
  }
  if (c.scope == "local-p" && c.selection == "sparse") {
    return "attention.selection: local-p multiplies softmax weights by a Gaussian: expected soft or hard, got sparse";
  }
  if (c.coverage && c.heads > 1) {
    return fmt::format("attention.coverage: coverage works with one head: expected attention.heads = 1, got {}",
                       c.heads);
  }
  return {};
}

std::vector<AttentionConfig> allowed_combinations(std::string_view score) {
  std::vector<AttentionConfig> all = combinations(score);
  std::erase_if(all, [](const AttentionConfig& c) { return refusal(c).has_value(); });
  return all;
}

std::string describe(const AttentionConfig& config) { return config.mechanism(); }

std::vector<Setting> settings() {
  std::vector<Setting> all = {Setting{}};
  for (const Device device : {Device::cpu(), Device::cuda()}) {
    if (available(device)) all.push_back({device, DType::kF32, device.on_host() ? 2e-5 : 2e-2});
  }
  return all;
}

Scene::Scene(const AttentionConfig& configured, SceneSizes given, Setting chosen)
    : config(configured),
      sizes(std::move(given)),
      setting(chosen),
      parameters(chosen.device, chosen.dtype),
      attention(parameters, kName, configured, sizes.query_depth, sizes.memory_depth),
      states(random({sizes.keys, sizes.batch, sizes.memory_depth}, 1)),
      queries(random({sizes.queries, sizes.batch, sizes.query_depth}, 2)) {
  parameters.allocate(1);
  // Some parameters are initialised with 0 and would hide their equations. Larger values would saturate softmaxes.
  uint64_t stream = 10;
  for (const Parameter& p : parameters.list()) copy(affine(random(p.shape(), stream++), 0.5f).value(), p.value());
  parameters.values().contents_changed();
  const std::vector<int32_t> host(sizes.lengths.begin(), sizes.lengths.end());
  lengths = from_host(host, {sizes.batch}, setting.device);
}

Var Scene::random(const Shape& shape, uint64_t stream) const {
  Random numbers(5, stream);
  std::vector<double> x(static_cast<size_t>(shape.count()));
  for (double& each : x) each = numbers.uniform(-1, 1);
  if (setting.dtype == DType::kF64) return Var(from_host(x, shape, setting.device));
  return Var(from_host(std::vector<float>(x.begin(), x.end()), shape, setting.device));
}

Memory Scene::memory(int64_t begin, int64_t end) const {
  return attention.project_memory(states.slice(begin, end), {}, begin);
}
Memory Scene::memory() const { return attention.project_memory(states, lengths); }

Memory Scene::concatenated(std::span<const Memory> parts) {
  return {concat(keys_of(parts), 0), concat(values_of(parts), 0), {}};
}

AttentionResult Scene::attend(const Memory& memory, const Var& query, const Ask& ask) const {
  AttentionQuery asked = query_of(ask);
  asked.query = query;
  return attention(memory, asked);
}

AttentionResult Scene::attend_together(const Ask& ask) const {
  AttentionQuery asked = query_of(ask);
  const auto [query, memory] = attention.project_cross(states, lengths, queries);
  asked.projected = query;
  return attention(memory, asked);
}

AttentionResult Scene::attend_to_itself(const Ask& ask) const {
  AttentionQuery asked = query_of(ask);
  const auto [query, memory] = attention.project_self(states, lengths);
  asked.projected = query;
  return attention(memory, asked);
}

AttentionResult Scene::attend_to_itself_at(int64_t position, std::vector<Memory>& cache) const {
  AttentionQuery asked = query_of({.position = position, .causal = true});
  const auto [query, memory] = attention.project_self(states.slice(position, position + 1), {}, position);
  asked.projected = query;
  cache.push_back(memory);
  return attention(concatenated(cache), asked);
}

NaiveResult Scene::expected(const Ask& ask) const {
  return naive_attention({.config = config,
                          .parameters = parameters,
                          .name = kName,
                          .queries = Array(queries.value()),
                          .states = Array(states.value()),
                          .lengths = sizes.lengths,
                          .position = ask.position,
                          .stride = ask.stride,
                          .causal = ask.causal,
                          .coverage = Array(ask.coverage.value()),
                          .edits = ask.edits});
}

NaiveResult Scene::expected_of_itself(const Ask& ask) const {
  return naive_attention({.config = config,
                          .parameters = parameters,
                          .name = kName,
                          .queries = Array(states.value()),
                          .states = Array(states.value()),
                          .lengths = sizes.lengths,
                          .causal = ask.causal,
                          .edits = ask.edits});
}

void expect_near(const Array& got, const Array& expected, double tolerance, const char* what) {
  ASSERT_EQ(got.shape(), expected.shape()) << what;
  for (size_t i = 0; i < got.cells().size(); ++i) {
    ASSERT_NEAR(got.cells()[i], expected.cells()[i], tolerance) << what << ", cell " << i;
  }
}

void expect_equal(const AttentionResult& got, const NaiveResult& expected, double tolerance) {
  expect_near(Array(got.context.value()), expected.context, tolerance * kDepth, "context");
  if (got.weights) expect_near(Array(got.weights.value()), expected.weights, tolerance, "weights");
  if (got.scores) {
    const Array scores(got.scores.value());
    for (size_t i = 0; i < scores.cells().size(); ++i) {
      if (expected.visible.cells()[i] == 0) continue;
      ASSERT_NEAR(scores.cells()[i], expected.scores.cells()[i], tolerance * kDepth) << "scores, cell " << i;
    }
  }
  ASSERT_EQ(static_cast<bool>(got.center), !expected.center.empty());
  if (got.center) expect_near(Array(got.center.value()), expected.center, tolerance * kDepth, "center");
}

std::string name_of_test(const ::testing::TestParamInfo<std::string>& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace fovea::testing
