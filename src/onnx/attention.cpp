#include "onnx/attention.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "attention/registry.h"
#include "kernels/rotary.h"

namespace fovea::onnx {

namespace {

bool is_dot(const std::string& score) { return score == "dot" || score == "scaled-dot" || score == "cosine"; }
bool is_additive(const std::string& score) { return score == "additive" || score == "concat"; }

// Positions of keys as float [S], and of queries as float [T,1].
Value key_positions(const Value& keys) { return cast(positions(size(keys, 2)), Type::kFloat); }
Value query_positions(const Value& q, const Value& first) {
  return unsqueeze(cast(positions(size(q, 2), first), Type::kFloat), {1});
}

// Rows of length 1.
Value unit(const Value& x) {
  Graph& g = x.graph();
  const Value norm = g.node("ReduceL2", {x}, {{"axes", std::vector<int64_t>{-1}}, {"keepdims", int64_t{1}}});
  return x / g.node("Max", {norm, g.number(1e-8f)});
}

// Martins & Astudillo 2016: max(0, z - tau), with tau = (sum of the support - 1) / its size. The support are the k
// largest z, for the largest k with 1 + k z_k > the sum of the k largest.
Value sparsemax(const Value& z) {
  Graph& g = z.graph();
  const Value count = size(z, 3);
  const Value sorted = g.nodes("TopK", {z, count}, {{"axis", int64_t{-1}}}, 2)[0];
  const Value sums = g.node("CumSum", {sorted, g.integer(-1)});
  const Value k = cast(positions(count), Type::kFloat) + 1.0f;
  const Value support = cast(g.node("Greater", {sorted * k + 1.0f, sums}), Type::kFloat);
  const Value tau = (sum(where(cast(support, Type::kBool), sorted, g.number(0)), -1) + -1.0f) / sum(support, -1);
  return relu(z - tau);
}

// The largest, of equal ones the first.
Value one_hot(const Value& weights) {
  Graph& g = weights.graph();
  const Value best = g.node("ArgMax", {weights}, {{"axis", int64_t{-1}}, {"keepdims", int64_t{1}}});
  return cast(g.node("Equal", {positions(size(weights, 3)), best}), Type::kFloat);
}

}  // namespace

Attention::Attention(Graph& graph, std::string name, const AttentionConfig& config, int64_t query_depth,
                     int64_t memory_depth)
    : graph_(&graph),
      name_(std::move(name)),
      config_(config),
      query_depth_(query_depth),
      key_depth_(memory_depth),
      value_depth_(memory_depth),
      depth_(config.depth > 0 ? config.depth : query_depth) {
  if (projects()) query_depth_ = key_depth_ = value_depth_ = depth_;
}

int64_t Attention::key_depth() const {
  const int64_t all = is_dot(config_.score) ? key_depth_ : is_additive(config_.score) ? depth_ : query_depth_;
  return all / config_.heads;
}

int64_t Attention::value_depth() const { return value_depth_ / config_.heads; }

bool Attention::uses_position(const AttentionConfig& config) {
  return config.scope == "local-m" || config.relative != "none";
}

Value Attention::split_heads(const Value& x) const {
  if (config_.heads == 1) return unsqueeze(x, {1});
  return transpose(reshape(x, {0, 0, config_.heads, -1}), {0, 2, 1, 3});
}

Value Attention::merge_heads(const Value& x) const {
  if (config_.heads == 1) return squeeze(x, {1});
  return reshape(transpose(x, {0, 2, 1, 3}), {0, 0, -1});
}

// Su et al. 2021: element i of a head and element i + d/2 are rotated by an angle that grows with the position.
Value Attention::rotate(const Value& x, const Value& position) const {
  if (config_.relative != "rotary") return x;
  const int64_t depth = query_depth_ / config_.heads, half = depth / 2;
  const auto table = [&](const char* of, double Rotation::*part) {
    return graph_->tensor(fmt::format("rotary.{}.{}", depth, of), {kPositions, half}, [&] {
      std::vector<float> values;
      for (int64_t t = 0; t < kPositions; ++t)
        for (int64_t i = 0; i < half; ++i)
          values.push_back(static_cast<float>(rotary_rotation(t, i, depth, false).*part));
      return values;
    });
  };
  const Value rows = positions(size(x, 2), position);
  const Value c = gather(table("cosine", &Rotation::cosine), rows), s = gather(table("sine", &Rotation::sine), rows);
  const Value low = columns(x, 3, 0, half), high = columns(x, 3, half, depth);
  return concat({low * c - high * s, low * s + high * c}, 3);
}

Value Attention::project_keys(const Value& states, const Value& position) const {
  const std::string score = name_ + ".score";
  if (config_.score == "location") {  // the key of a position is its row of W
    const Value rows = gather(graph_->weight(score + ".location.table"), positions(size(states, 1), position));
    return split_heads(expand(rows, {size(states, 0), size(states, 1), graph_->integers({query_depth_})}));
  }
  const Value keys = projects() ? linear(name_ + ".keys", states) : states;
  if (config_.score == "general") return split_heads(linear(score + ".general", keys));
  if (is_additive(config_.score)) return split_heads(linear(score + ".keys", keys));
  const Value rotated = rotate(split_heads(keys), position);
  return config_.score == "cosine" ? unit(rotated) : rotated;
}

Memory Attention::project_memory(const Value& states, const Value& position) const {
  const Graph::Scope scope(*graph_, name_ + ".memory");
  const Value values = projects() ? linear(name_ + ".values", states) : states;
  return {project_keys(states, position), split_heads(values)};
}

// `projected` is the query [B,T,D] and q the same by heads, rotated.
Value Attention::score(const Value& projected, const Value& q, const Value& keys) const {
  const std::string score = name_ + ".score";
  if (is_additive(config_.score)) {
    const Value query = unsqueeze(split_heads(linear(score + ".query", projected)), {3});  // [B,H,T,1,d]
    const Value v = reshape(graph_->weight(score + ".v"), {config_.heads, 1, -1, 1});      // [H,1,d,1]
    return squeeze(matmul(tanh(query + unsqueeze(keys, {2})), v), {4});
  }
  const Value dots = matmul(config_.score == "cosine" ? unit(q) : q, transpose(keys, {0, 1, 3, 2}));
  if (config_.score == "cosine") return dots * exp(graph_->weight(score + ".sharpness"));
  if (config_.score != "scaled-dot") return dots;
  const int64_t depth = query_depth_ / config_.heads;
  return dots * (1.0f / std::sqrt(static_cast<float>(depth)));
}

// Relative positions, coverage, and the masks.
Value Attention::add_bias(const Value& plain, const Value& q, const Memory& memory, const AttentionQuery& query) const {
  Value scores = plain;
  if (config_.relative == "shaw") {  // q . r, with the vector r of the distance between query and key
    const Value keys = positions(size(memory.values, 2));
    const Value distance = keys - unsqueeze(positions(size(q, 2), query.position), {1});  // [T,S]
    const Value clipped =
        graph_->node("Clip", {distance, graph_->integer(-config_.window), graph_->integer(config_.window)});
    const Value vectors = gather(graph_->weight(name_ + ".distances"), clipped + graph_->integer(config_.window));
    scores = scores + squeeze(matmul(unsqueeze(q, {3}), transpose(vectors, {0, 2, 1})), {3});
  }
  if (config_.relative == "alibi") {
    std::vector<float> slopes;
    for (int64_t h = 0; h < config_.heads; ++h)
      slopes.push_back(std::exp2(-8.0f * static_cast<float>(h + 1) / static_cast<float>(config_.heads)));
    const Value slope =
        graph_->tensor(fmt::format("alibi.{}", config_.heads), {config_.heads, 1, 1}, [&] { return slopes; });
    scores = scores - slope * abs(key_positions(memory.values) - query_positions(q, query.position));
  }
  if (query.coverage) scores = scores + query.coverage * graph_->weight(name_ + ".coverage");
  if (query.mask) scores = masked(scores, query.mask);
  if (config_.scope == "local-m") {  // a window around the query's position, which stays at the end of the source
    const Value center = minimum(query_positions(q, query.position), query.last);
    const Value distance = abs(key_positions(memory.values) - center);
    scores =
        masked(scores, graph_->node("LessOrEqual", {distance, graph_->number(static_cast<float>(config_.window))}));
  }
  return scores;
}

Value Attention::select(const Value& scores) const {
  if (config_.selection == "sparse") return sparsemax(scores);
  return config_.selection == "hard" ? one_hot(softmax(scores)) : softmax(scores);
}

// Luong et al. 2015, section 3.2: p = (last position) sigmoid(v . tanh(W q)), a window of w to each side, sigma = w/2.
Value Attention::apply_window(const Value& weights, const Value& q, const AttentionQuery& query) const {
  const Value share = sigmoid(linear(name_ + ".center.v", tanh(linear(name_ + ".center.hidden", merge_heads(q)))));
  const Value center = unsqueeze(transpose(share, {0, 2, 1}), {3}) * query.last;  // [B,H,T,1]
  const Value distance = cast(positions(size(weights, 3)), Type::kFloat) - center;
  const auto width = static_cast<float>(config_.window);
  const Value gauss = exp(distance * distance * (-2.0f / (width * width)));
  const Value inside = graph_->node("LessOrEqual", {abs(distance), graph_->number(width)});
  const Value windowed = weights * where(inside, gauss, graph_->number(0));
  return windowed / (sum(windowed, -1) + 1e-20f);
}

Attended Attention::operator()(const Memory& memory, const AttentionQuery& query) const {
  const Graph::Scope scope(*graph_, name_);
  const Value projected = projects() ? linear(name_ + ".query", query.query) : query.query;
  const Value q = rotate(split_heads(projected), query.position);
  Value scores = add_bias(score(projected, q, memory.keys), q, memory, query);
  Attended result;
  Value context;
  if (query.sentinel) {  // each query has a key and a value more
    const Memory sentinel = project_memory(query.sentinel, query.position);
    const Value weights = select(concat({score(projected, q, sentinel.keys), scores}, 3));
    result.sentinel = columns(weights, 3, 0, 1);
    result.weights = columns(weights, 3, 1, std::numeric_limits<int64_t>::max());
    context = matmul(result.weights, memory.values) + result.sentinel * sentinel.values;
  } else {
    result.weights = select(scores);
    if (config_.scope == "local-p") result.weights = apply_window(result.weights, q, query);
    context = matmul(result.weights, memory.values);
  }
  if (config_.coverage) result.coverage = query.coverage + result.weights;
  context = merge_heads(context);
  result.context = projects() ? linear(name_ + ".out", context) : context;
  return result;
}

}  // namespace fovea::onnx
