// Gradients in float64 against central differences, for every combination of mechanisms that is allowed. Each tensor
// is moved along a random direction, so that every one of its elements counts. The loss is a randomly weighted sum of
// all that attention returns.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "attention/scene.h"

namespace fovea::testing {
namespace {

constexpr double kStep = 1e-6, kTolerance = 1e-7;  // of the larger of 1 and the derivative

class Gradients : public EveryScore {};

Var weighted_sum(const Scene& scene, const AttentionResult& result) {
  uint64_t stream = 30;
  Var total = sum(result.context * scene.random(result.context.shape(), stream));
  for (const Var& output :
       {result.weights, result.center, result.coverage, result.selection_log_prob, result.entropy}) {
    ++stream;
    if (output) total = total + sum(output * scene.random(output.shape(), stream));
  }
  return total;
}

// One pass; with `backward` the gradients of parameters, states and queries are left where they belong. Draws depend
// only on the seed and the step of the tape, so that passes can be compared.
double pass(const Scene& scene, const Ask& ask, bool training, bool backward) {
  Tape tape(scene.setting.device, 7);
  tape.set_training(training);
  tape.reset();
  const TapeScope tape_scope(tape);
  const Var loss = weighted_sum(scene, scene.attend(ask));
  if (backward) tape.backward(loss);
  return Array(loss.value())(0);
}

double inner_product(const Array& a, const Array& b) {
  return std::inner_product(a.cells().begin(), a.cells().end(), b.cells().begin(), 0.0);
}

void move(const Tensor& x, const Array& direction, double step) {
  for (int64_t i = 0; i < x.size(); ++i) x.data<double>()[i] += step * direction.cells()[static_cast<size_t>(i)];
}

void expect_gradient(const std::string& name, const Tensor& x, const Array& gradient, const Var& along,
                     const std::function<double()>& value) {
  const Array direction(along.value());
  move(x, direction, kStep);
  const double above = value();
  move(x, direction, -2 * kStep);
  const double below = value();
  move(x, direction, kStep);
  const double expected = (above - below) / (2 * kStep);
  EXPECT_NEAR(inner_product(gradient, direction), expected, kTolerance * std::max(1.0, std::abs(expected))) << name;
}

void expect_gradients(const AttentionConfig& config, const Ask& asked, bool training) {
  Scene scene(config);
  Ask ask = asked;
  const Shape cells{scene.sizes.batch, config.heads, scene.sizes.queries, scene.sizes.keys};
  Gradient dstates(scene.states.value()), dqueries(scene.queries.value());
  dstates.sum = zeros_like(scene.states.value());
  dqueries.sum = zeros_like(scene.queries.value());
  scene.states = Var(scene.states.value(), &dstates);
  scene.queries = Var(scene.queries.value(), &dqueries);
  if (config.coverage) ask.coverage = square(scene.random(cells, 3));
  pass(scene, ask, training, /*backward=*/true);

  const auto value = [&] { return pass(scene, ask, training, /*backward=*/false); };
  uint64_t stream = 50;
  for (const Parameter& p : scene.parameters.list()) {
    expect_gradient(p.name(), p.value(), Array(p.grad()), scene.random(p.shape(), stream++), value);
  }
  expect_gradient("states", scene.states.value(), Array(dstates.sum), scene.random(scene.states.shape(), 48), value);
  expect_gradient("queries", scene.queries.value(), Array(dqueries.sum), scene.random(scene.queries.shape(), 49),
                  value);
}

TEST_P(Gradients, EqualCentralDifferences) {
  for (const AttentionConfig& config : allowed_combinations(GetParam())) {
    SCOPED_TRACE(describe(config));
    expect_gradients(config, {}, /*training=*/true);
  }
}

// The fused kernels have gradients of their own.
TEST_P(Gradients, EqualCentralDifferencesWithoutWeights) {
  for (const AttentionConfig& config : allowed_combinations(GetParam())) {
    SCOPED_TRACE(describe(config));
    expect_gradients(config, {.position = 2, .causal = true, .weights = false}, /*training=*/true);
  }
}

// Outside of training hard selection takes the largest score: only values and output projections have a gradient.
TEST_P(Gradients, EqualCentralDifferencesOutsideOfTraining) {
  for (const AttentionConfig& config : allowed_combinations(GetParam())) {
    if (config.selection != "hard") continue;
    SCOPED_TRACE(describe(config));
    expect_gradients(config, {}, /*training=*/false);
  }
}

INSTANTIATE_TEST_SUITE_P(Scores, Gradients, ::testing::ValuesIn(names_of(scores())), name_of_test);

}  // namespace
}  // namespace fovea::testing
