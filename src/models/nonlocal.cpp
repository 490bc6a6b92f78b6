#include "models/nonlocal.h"

#include <algorithm>
#include <array>

#include "attention/registry.h"

namespace fovea {

namespace {

constexpr std::array kForms = {
    NonLocalForm{"embedded-gaussian", "Softmax over dot products of projected positions.", true, true},
    NonLocalForm{"gaussian", "Softmax over dot products of the positions themselves.", false, true},
    NonLocalForm{"dot", "Dot products of projected positions, divided by their number.", true, false},
    NonLocalForm{"concat", "A score of both projected positions, rectified and divided by their number.", true, false},
};
constexpr std::string_view kConcat = "concat";

const NonLocalForm& form_named(const std::string& name) {
  const NonLocalForm* found = find_entry(nonlocal_forms(), name);
  check(found != nullptr, "nonlocal: expected one of {}, got {}",
        names_with(nonlocal_forms(), [](const NonLocalForm&) { return true; }), name);
  return *found;
}

int64_t inner(int64_t channels) { return std::max<int64_t>(1, channels / 2); }

}  // namespace

std::span<const NonLocalForm> nonlocal_forms() { return kForms; }

NonLocal::NonLocal(Parameters& parameters, const std::string& name, const std::string& form, int64_t channels,
                   bool subsample)
    : form_(&form_named(form)),
      subsample_(subsample),
      g_(parameters, name + ".g", channels, inner(channels)),
      out_(parameters, name + ".out", inner(channels), channels, {.initialiser = Initialiser::constant(0.0)}) {
  if (form_->embeds) {
    theta_.emplace(parameters, name + ".theta", channels, inner(channels));
    phi_.emplace(parameters, name + ".phi", channels, inner(channels));
  }
  if (form_->name == kConcat) {
    of_theta_.emplace(parameters, name + ".of_theta", inner(channels), 1, Linear::Options{.bias = false});
    of_phi_.emplace(parameters, name + ".of_phi", inner(channels), 1, Linear::Options{.bias = false});
  }
}

Var NonLocal::sequence(const Var& map) const {
  return permute(map.reshape({map.dim(0), map.dim(1) * map.dim(2), map.dim(3)}), {1, 0, 2});
}

Var NonLocal::keys(const Var& map) const {
  if (!subsample_) return sequence(map);
  const Window window = same_padding({.height = 2, .width = 2, .stride_y = 2, .stride_x = 2}, map.dim(1), map.dim(2));
  return sequence(pool2d(PoolOp::kMaximum, map, window));
}

Var NonLocal::scores(const Var& x) const {
  const Var query = sequence(theta_ ? (*theta_)(x) : x), key = keys(phi_ ? (*phi_)(x) : x);
  const float share = form_->softmax ? 1.0f : 1.0f / static_cast<float>(key.dim(0));
  if (!of_theta_) return dot_score(query, key, 1, share);
  // w . [theta_i; phi_j] = a_i + b_j = (a_i, 1) . (1, b_j)
  const Var a = (*of_theta_)(query), b = (*of_phi_)(key);
  const Var sums = dot_score(concat({a, affine(a, 0.0f, 1.0f)}, 2), concat({affine(b, 0.0f, 1.0f), b}, 2));
  return affine(relu(sums), share);
}

Var NonLocal::operator()(const Var& x, Capture capture, std::vector<AttentionTrace>& attentions) const {
  const Var values = keys(g_(x));
  Var attended, weights, scored;
  if (theta_ && form_->softmax && !capture.scores) {
    const Attended fused = dot_attention(sequence((*theta_)(x)), keys((*phi_)(x)), values,
                                         {.scale = 1.0f, .capture_weights = capture.weights});
    attended = fused.out;
    weights = fused.weights;
  } else {
    scored = scores(x);
    weights = form_->softmax ? softmax(scored) : scored;
    attended = weighted_sum(weights, values);
  }
  if (capture.weights) {
    attentions.push_back({AttentionKind::kEncoderSelf, 0, weights, {}, capture.scores ? scored : Var()});
  }
  return x + permute(out_(attended), {1, 0, 2}).reshape(x.shape());
}

AttentionInfo NonLocal::info() const {
  AttentionConfig config;
  config.score = form_->name == kConcat ? "additive" : "dot";
  return {AttentionKind::kEncoderSelf, 1, config};
}

}  // namespace fovea
