#include "models/nonlocal.h"

#include "attention/registry.h"
#include "onnx/nonlocal.h"

namespace fovea::onnx {

namespace {

// [B,C,y,x] -> [B,N,C], and the inverse.
Value sequence(const Value& map) { return transpose(reshape(map, {0, 0, -1}), {0, 2, 1}); }
Value map_of(const Value& sequence, int64_t pixels) {
  return reshape(transpose(sequence, {0, 2, 1}), {0, 0, pixels, pixels});
}

}  // namespace

Map nonlocal(const std::string& name, const std::string& form, const Map& map, NonLocalWeights& weights) {
  Graph& g = map.x.graph();
  const Graph::Scope scope(g, name);
  const NonLocalForm& entry = *find_entry(nonlocal_forms(), form);
  const bool subsample = subsamples(map.pixels);
  const int64_t halved = (map.pixels + 1) / 2, side = subsample ? halved : map.pixels;
  weights.rows = map.pixels * map.pixels;
  weights.columns = side * side;
  // The positions that are attended over: if there are many, the maximum of each 2x2.
  const auto keys = [&](const Value& positions) {
    if (!subsample) return positions;
    const std::vector<int64_t> two = {2, 2}, pads = {0, 0, map.pixels % 2, map.pixels % 2};
    return sequence(
        g.node("MaxPool", {map_of(positions, map.pixels)}, {{"kernel_shape", two}, {"strides", two}, {"pads", pads}}));
  };
  const Value x = sequence(map.x);
  const Value query = entry.embeds ? linear(name + ".theta", x) : x;
  const Value key = keys(entry.embeds ? linear(name + ".phi", x) : x);
  Value scores = g.has_weight(name + ".of_theta.weight")  // concat: w . [theta; phi], rectified
                     ? relu(linear(name + ".of_theta", query) + transpose(linear(name + ".of_phi", key), {0, 2, 1}))
                     : matmul(query, transpose(key, {0, 2, 1}));
  scores = entry.softmax ? softmax(scores) : scores * (1.0f / static_cast<float>(weights.columns));
  weights.weights = unsqueeze(scores, {1, 2});
  const Value attended = matmul(scores, keys(linear(name + ".g", x)));
  return {map_of(x + linear(name + ".out", attended), map.pixels), map.pixels};
}

}  // namespace fovea::onnx
