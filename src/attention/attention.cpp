#include "attention/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace fovea {

namespace {

template <class Entries>
const auto* find_choice(const Entries& entries, const AttentionConfig& config, std::string_view key,
                        std::string_view name) {
  const auto* entry = find_entry(entries, name);
  check(entry != nullptr, "{}.{}: expected one of {}, got {}", config.section, key, fmt::join(names_of(entries), ", "),
        name);
  return entry;
}

void check_combination(const AttentionConfig& c, const ScoreEntry& score, const ScopeEntry& scope,
                       const SelectionEntry& selection, const RelativeEntry& relative) {
  check(!relative.rotary || score.compares_directly,
        "{0}.relative: {2} positions need a score that compares queries and keys directly: expected {0}.score = {3}, "
        "got {1}",
        c.section, c.score, c.relative, names_with(scores(), [](const auto& e) { return e.compares_directly; }));
  const bool positions = relative.rotary || relative.distance_vectors || relative.distance_penalty;
  check(score.uses_keys || !positions,
        "{0}.relative: the {2} score does not use keys, so relative positions cannot act on it: expected none, got {1}",
        c.section, c.relative, c.score);
  check(!scope.predicts_center || selection.is_softmax || selection.hard,
        "{0}.selection: {1} multiplies softmax weights by a Gaussian: expected {2}, got {3}", c.section, c.scope,
        names_with(selections(), [](const auto& e) { return e.is_softmax || e.hard; }), c.selection);
  check(!(c.coverage && c.heads > 1), "{0}.coverage: coverage works with one head: expected {0}.heads = 1, got {1}",
        c.section, c.heads);
  check(!(c.sentinel && scope.predicts_center),
        "{}.sentinel: the window of {} has no place for a sentinel: expected {}.scope = {}", c.section, c.scope,
        c.section, names_with(scopes(), [](const auto& e) { return !e.predicts_center; }));
  check(!c.sentinel || score.uses_keys, "{0}.sentinel: the {1} score does not use keys: expected {0}.score = {2}",
        c.section, c.score, names_with(scores(), [](const auto& e) { return e.uses_keys; }));
}

// The last position that is not masked for a query, in x's dtype: its own, [T,1,1], or its sentence's, [1,B,1].
Var last_positions(const Memory& memory, const AttentionQuery& query, const Var& x) {
  if (query.causal) {
    std::vector<float> positions;
    for (int64_t t = 0; t < x.dim(0); ++t) positions.push_back(static_cast<float>(query.position + t * query.stride));
    return cast(Var(from_host(positions, {x.dim(0), 1, 1}, x.device())), x.dtype());
  }
  const int64_t batch = memory.batch();
  if (!memory.lengths) {
    const Tensor last = empty({1, batch, 1}, x.dtype(), x.device());
    kernels(x.device()).affine(stream(x.device()), {.y = last, .beta = static_cast<float>(memory.size() - 1)});
    return last;
  }
  return affine(cast(Var(memory.lengths), x.dtype()), 1.0f, -1.0f).reshape({1, batch, 1});
}

// Applies one edit to the weights [B,H,T,S] on the host, or [B,H,T,1+S] with that of a sentinel first.
void apply(const AttentionEdit& edit, const Memory& memory, const AttentionQuery& query, const Shape& shape,
           std::vector<float>& weights) {
  const int64_t batch = shape[0], heads = shape[1], steps = shape[2], size = shape[3];
  const int64_t sentinel = size - memory.size();
  check(edit.head < heads, "edits: expected one of {} heads, got head {}", heads, edit.head + 1);
  const std::vector<int32_t> lengths = memory.lengths ? to_host<int32_t>(memory.lengths) : std::vector<int32_t>();
  for (int64_t t = 0; t < steps; ++t) {
    const int64_t position = query.position + t * query.stride;
    if (edit.row != AttentionEdit::kAll && edit.row != position) continue;
    for (int64_t b = 0; b < batch; ++b) {
      const int64_t length = lengths.empty() ? memory.size() : lengths[static_cast<size_t>(b)];
      const int64_t keys = query.causal ? std::min(length, position + 1) : length;
      const int64_t given = std::ssize(edit.weights);
      check(edit.off || given == keys || given == keys + sentinel, "edits: expected {} weights for row {}, got {}",
            keys + sentinel, position, given);
      for (int64_t h = edit.head == AttentionEdit::kAll ? 0 : edit.head; h < heads; ++h) {
        float* row = weights.data() + ((b * heads + h) * steps + t) * size;
        std::fill_n(row, size, 0.0f);
        if (!edit.off) std::copy_n(edit.weights.begin(), keys, row + sentinel);
        if (given > keys) row[0] = edit.weights.back();
        if (edit.head != AttentionEdit::kAll) break;
      }
    }
  }
}

Var edited(const Var& weights, const Memory& memory, const AttentionQuery& query) {
  std::vector<float> host = to_host<float>(cast(weights, DType::kF32).value());
  for (const AttentionEdit& edit : query.edits) apply(edit, memory, query, weights.shape(), host);
  return cast(Var(from_host(host, weights.shape(), weights.device())), weights.dtype());
}

}  // namespace

Attention::Attention(Parameters& parameters, const std::string& name, const AttentionConfig& config,
                     int64_t query_depth, int64_t memory_depth)
    : config_(config),
      scope_(find_choice(scopes(), config, "scope", config.scope)),
      selection_(find_choice(selections(), config, "selection", config.selection)),
      relative_(find_choice(relatives(), config, "relative", config.relative)),
      context_depth_(memory_depth) {
  const ScoreEntry& score = *find_choice(fovea::scores(), config, "score", config.score);
  check_combination(config, score, *scope_, *selection_, *relative_);
  ScoreSizes sizes{query_depth, memory_depth, config.depth > 0 ? config.depth : query_depth};
  if (config.heads > 1) {
    const int64_t depth = sizes.depth;
    check(depth % config.heads == 0, "{}.heads: expected a divisor of the depth {}, got {}", config.section, depth,
          config.heads);
    query_ = std::make_unique<Linear>(parameters, name + ".query", query_depth, depth);
    keys_ = std::make_unique<Linear>(parameters, name + ".keys", memory_depth, depth);
    values_ = std::make_unique<Linear>(parameters, name + ".values", memory_depth, depth);
    out_ = std::make_unique<Linear>(parameters, name + ".out", depth, query_depth);
    kv_projection_ = std::make_unique<FusedLinear>(parameters, std::vector<const Linear*>{keys_.get(), values_.get()});
    if (query_depth == memory_depth) {
      qkv_projection_ = std::make_unique<FusedLinear>(
          parameters, std::vector<const Linear*>{query_.get(), keys_.get(), values_.get()});
    }
    sizes = {depth, depth, depth};
    context_depth_ = query_depth;
  }
  score_ = score.make(config, sizes, parameters, name + ".score");
  if (scope_->predicts_center) {
    center_hidden_ = std::make_unique<Linear>(parameters, name + ".center.hidden", sizes.query, sizes.depth,
                                              Linear::Options{.bias = false});
    center_ = std::make_unique<Linear>(parameters, name + ".center.v", sizes.depth, config.heads,
                                       Linear::Options{.bias = false});
  }
  if (relative_->distance_vectors) {
    distances_ = &parameters.add(name + ".distances", {2 * config.window + 1, sizes.query / config.heads},
                                 Initialiser::glorot());
  }
  if (config.coverage) coverage_weight_ = &parameters.add(name + ".coverage", {1}, Initialiser::constant(0.0));
}

Var Attention::rotate(const Var& x, int64_t position, int64_t stride) const {
  return relative_->rotary ? rotary(x, config_.heads, position, stride) : x;
}

Var Attention::project_query(const Var& query, int64_t position, int64_t stride) const {
  return rotate(query_ ? (*query_)(query) : query, position, stride);
}

Memory Attention::make_memory(const Var& keys, const Var& values, const Tensor& lengths, int64_t position) const {
  return {score_->project_keys(rotate(keys, position, 1), position), values, lengths};
}

Memory Attention::project_memory(const Var& states, const Tensor& lengths, int64_t position) const {
  const Var values = values_ ? (*values_)(states) : states;  // before the keys, whose gradient is computed first
  return make_memory(keys_ ? (*keys_)(states) : states, values, lengths, position);
}

ProjectedAttention Attention::project_self(const Var& states, const Tensor& lengths, int64_t position) const {
  if (!qkv_projection_ || !qkv_projection_->available(states)) {
    const Memory memory = project_memory(states, lengths, position);
    return {project_query(states, position, 1), memory};
  }
  const Var all = (*qkv_projection_)(states);
  return {rotate(all[0], position, 1), make_memory(all[1], all[2], lengths, position)};
}

ProjectedAttention Attention::project_cross(const Var& states, const Tensor& lengths, const Var& query) const {
  if (!kv_projection_ || !kv_projection_->available(states))
    return {project_query(query, 0, 1), project_memory(states, lengths)};
  const Var both = (*kv_projection_)(states);
  return {project_query(query, 0, 1), make_memory(both[0], both[1], lengths, 0)};
}

Mask Attention::make_mask(const Memory& memory, const AttentionQuery& query, const Var& q) const {
  Mask mask{.lengths = memory.lengths, .causal = query.causal, .offset = query.position};
  const int64_t steps = q.dim(0), size = memory.size(), heads = config_.heads;
  const bool window = scope_->window && !scope_->predicts_center, slope = relative_->distance_penalty;
  if (!window && !slope) return mask;
  // A bias for each step and position, the same for every sentence unless a window ends with the sentence.
  constexpr float kMasked = -std::numeric_limits<float>::infinity();
  const std::vector<int32_t> ends =
      window && memory.lengths ? to_host<int32_t>(memory.lengths) : std::vector<int32_t>{static_cast<int32_t>(size)};
  const Tensor bias = empty({std::ssize(ends), slope ? heads : 1, steps, size}, DType::kF32, Device::cpu());
  float* cell = bias.data<float>();
  for (const int32_t end : ends) {
    for (int64_t h = 0; h < bias.dim(1); ++h) {
      const float m = slope ? std::exp2(-8.0f * static_cast<float>(h + 1) / static_cast<float>(heads)) : 0.0f;
      for (int64_t t = 0; t < steps; ++t) {
        // Past the end of the source the window stays at the last position.
        const int64_t position = query.position + t * query.stride, center = std::min<int64_t>(position, end - 1);
        for (int64_t s = 0; s < size; ++s) {
          const int64_t distance = std::abs(s - position);
          const bool masked = window && std::abs(s - center) > config_.window;
          *cell++ = masked ? kMasked : -m * static_cast<float>(distance);
        }
      }
    }
  }
  mask.bias = cast(to_device(bias, q.device()), accumulator_of(q.dtype())).value();
  return mask;
}

Var Attention::scores(const Memory& memory, const AttentionQuery& query, const Var& q) const {
  Var scores = score_->score(q, memory.keys, memory.lengths);
  if (distances_ != nullptr) {
    scores = scores + relative_score(q, *distances_, memory.size(), config_.heads, {query.position, query.stride});
  }
  if (query.coverage) {
    scores = scores + query.coverage * cast(coverage_weight_->var(), scores.dtype());
  }
  return scores;
}

// p = (last position) sigmoid(v . tanh(W q)), a window of w to each side, sigma = w/2 (Luong et al. 2015, section 3.2).
Var Attention::apply_window(const Var& weights, const Memory& memory, const AttentionQuery& query, const Var& q,
                            AttentionResult& result) const {
  const Var share = sigmoid((*center_)(tanh((*center_hidden_)(q))));  // [T,B,H]
  result.center = share * last_positions(memory, query, share);
  const auto width = static_cast<float>(config_.window);
  const Var windowed = gaussian_window(weights, result.center, width / 2.0f, width);
  const Var total = affine(sum(windowed, 3), 1.0f, 1e-20f);
  return windowed / total.reshape({total.dim(0), total.dim(1), total.dim(2), 1});
}

// A query has a sentinel of its own, so each is scored as a sentence with one key.
Var Attention::score_sentinel(const AttentionQuery& query, const Var& q) const {
  const int64_t steps = q.dim(0), batch = q.dim(1);
  const Var keys = rotate(keys_ ? (*keys_)(query.sentinel) : query.sentinel, query.position, query.stride);
  const auto alone = [&](const Var& x) { return x.reshape({1, steps * batch, x.dim(2)}); };
  const Var scores = score_->score(alone(q), alone(score_->project_keys(keys, 0)), {});
  return permute(scores.reshape({steps, batch, config_.heads}), {1, 2, 0}).reshape({batch, config_.heads, steps, 1});
}

Var Attention::weigh_sentinel(const AttentionQuery& query, const Var& weights) const {
  const Var values = values_ ? (*values_)(query.sentinel) : query.sentinel;  // [T,B,D]
  const int64_t steps = values.dim(0), batch = values.dim(1), heads = config_.heads;
  const Var share = permute(weights.reshape({batch, heads, steps}), {2, 0, 1}).reshape({steps, batch, heads, 1});
  return (values.reshape({steps, batch, heads, values.dim(2) / heads}) * share).reshape(values.shape());
}

// Weights over [sentinel; keys]: the sentinel is first, so that the lengths of a mask still say where a sentence ends.
Var Attention::attend_with_sentinel(const Memory& memory, const AttentionQuery& query, const Var& q, const Mask& mask,
                                    AttentionResult& result) const {
  Mask longer = mask;
  if (mask.lengths)
    longer.lengths = cast(affine(cast(Var(mask.lengths), DType::kF32), 1.0f, 1.0f), DType::kI32).value();
  if (mask.bias) {
    const Var none(zeros(mask.bias.shape().with(3, 1), mask.bias.dtype(), mask.bias.device()));
    longer.bias = concat({none, Var(mask.bias)}, 3).value();
  }
  const Var all = concat({score_sentinel(query, q), scores(memory, query, q)}, 3);
  Var weights = selection_->select(all, longer, config_, result);
  if (!query.edits.empty()) weights = edited(weights, memory, query);
  const int64_t end = 1 + memory.size();
  result.sentinel = columns(weights, 0, 1);
  result.weights = columns(weights, 1, end);
  if (config_.coverage) result.coverage = query.coverage ? query.coverage + result.weights : result.weights;
  const Var dropped = dropout(weights, static_cast<float>(config_.dropout));
  return weighted_sum(columns(dropped, 1, end), memory.values) + weigh_sentinel(query, columns(dropped, 0, 1));
}

AttentionResult Attention::operator()(const Memory& memory, const AttentionQuery& query) const {
  AttentionResult result;
  const Var q = query.projected ? query.projected : project_query(query.query, query.position, query.stride);
  const Mask mask = make_mask(memory, query, q);
  check(static_cast<bool>(query.sentinel) == config_.sentinel && !(config_.sentinel && query.causal),
        "{}.sentinel: expected a recurrent decoder that computes a sentinel at each step", config_.section);

  float scale = 1.0f;
  // The weights of a fused kernel have no gradient. Weights that may enter a loss are computed by the unfused ops.
  const bool may_enter_loss = query.capture_weights && Tape::current() != nullptr;
  const bool fusible = selection_->is_softmax && !center_ && distances_ == nullptr && !config_.coverage &&
                       !config_.sentinel && !may_enter_loss && query.edits.empty();
  if (fusible && score_->is_dot(&scale)) {
    const Attended attended = dot_attention(q, memory.keys, memory.values,
                                            {.heads = config_.heads,
                                             .scale = scale,
                                             .mask = mask,
                                             .dropout = static_cast<float>(config_.dropout),
                                             .capture_weights = query.capture_weights});
    result.context = attended.out;
    result.weights = attended.weights;
  } else if (const Attended attended = fusible && config_.dropout == 0 && !mask.bias && !mask.causal
                                           ? score_->attend(q, memory.keys, memory.values, memory.lengths)
                                           : Attended{};
             attended.out) {
    result.context = attended.out;
    result.weights = attended.weights;
  } else if (config_.sentinel) {
    result.context = attend_with_sentinel(memory, query, q, mask, result);
  } else {
    Var weights = selection_->select(scores(memory, query, q), mask, config_, result);
    if (center_) weights = apply_window(weights, memory, query, q, result);
    if (!query.edits.empty()) weights = edited(weights, memory, query);
    result.weights = weights;
    if (config_.coverage) result.coverage = query.coverage ? query.coverage + weights : weights;
    result.context = weighted_sum(dropout(weights, static_cast<float>(config_.dropout)), memory.values);
  }
  if (query.capture_scores) {
    result.scores = scores(memory, query, q);
    if (relative_->distance_penalty) result.scores = result.scores + cast(Var(mask.bias), result.scores.dtype());
    if (config_.sentinel) result.sentinel_scores = score_sentinel(query, q);
  }
  if (out_) result.context = (*out_)(result.context);
  return result;
}

}  // namespace fovea
