#include "onnx/ops.h"

namespace fovea::onnx {

namespace {

Value binary(std::string_view op, const Value& a, const Value& b) { return a.graph().node(op, {a, b}); }
Value unary(std::string_view op, const Value& x) { return x.graph().node(op, {x}); }

}  // namespace

Value operator+(const Value& a, const Value& b) { return binary("Add", a, b); }
Value operator-(const Value& a, const Value& b) { return binary("Sub", a, b); }
Value operator*(const Value& a, const Value& b) { return binary("Mul", a, b); }
Value operator/(const Value& a, const Value& b) { return binary("Div", a, b); }
Value operator+(const Value& a, float b) { return a + a.graph().number(b); }
Value operator*(const Value& a, float b) { return a * a.graph().number(b); }
Value tanh(const Value& x) { return unary("Tanh", x); }
Value sigmoid(const Value& x) { return unary("Sigmoid", x); }
Value erf(const Value& x) { return unary("Erf", x); }
Value relu(const Value& x) { return unary("Relu", x); }
Value exp(const Value& x) { return unary("Exp", x); }
Value log(const Value& x) { return unary("Log", x); }
Value abs(const Value& x) { return unary("Abs", x); }
Value minimum(const Value& a, const Value& b) { return binary("Min", a, b); }

Value matmul(const Value& a, const Value& b) { return binary("MatMul", a, b); }

Value softmax(const Value& x) { return x.graph().node("Softmax", {x}, {{"axis", int64_t{-1}}}); }

Value sum(const Value& x, int64_t axis) {
  return x.graph().node("ReduceSum", {x, x.graph().integers({axis})}, {{"keepdims", int64_t{1}}});
}

Value mean(const Value& x, int64_t axis) {
  return x.graph().node("ReduceMean", {x}, {{"axes", std::vector{axis}}, {"keepdims", int64_t{0}}});
}

Value transpose(const Value& x, std::vector<int64_t> axes) {
  return x.graph().node("Transpose", {x}, {{"perm", std::move(axes)}});
}

Value reshape(const Value& x, const std::vector<int64_t>& shape) {
  return binary("Reshape", x, x.graph().integers(shape));
}

Value unsqueeze(const Value& x, const std::vector<int64_t>& axes) {
  return binary("Unsqueeze", x, x.graph().integers(axes));
}

Value squeeze(const Value& x, const std::vector<int64_t>& axes) {
  return binary("Squeeze", x, x.graph().integers(axes));
}

Value concat(const std::vector<Value>& values, int64_t axis) {
  if (values.size() == 1) return values[0];
  return values[0].graph().node("Concat", values, {{"axis", axis}});
}

Value columns(const Value& x, int64_t axis, int64_t begin, int64_t end) {
  Graph& g = x.graph();
  return g.node("Slice", {x, g.integers({begin}), g.integers({end}), g.integers({axis})});
}

std::vector<Value> split(const Value& x, int64_t axis, int count) {
  return x.graph().nodes("Split", {x}, {{"axis", axis}}, count);
}

Value gather(const Value& table, const Value& ids) { return binary("Gather", table, ids); }

Value expand(const Value& x, const std::vector<Value>& shape) { return binary("Expand", x, concat(shape, 0)); }

Value cast(const Value& x, Type type) { return x.graph().node("Cast", {x}, {{"to", static_cast<int64_t>(type)}}); }

Value where(const Value& condition, const Value& yes, const Value& no) {
  return condition.graph().node("Where", {condition, yes, no});
}

Value size(const Value& x, int64_t axis) { return x.graph().node("Shape", {x}, {{"start", axis}, {"end", axis + 1}}); }

Value positions(const Value& count, const Value& first) {
  Graph& g = count.graph();
  const Value range = g.node("Range", {g.integer(0), squeeze(count, {0}), g.integer(1)});
  return first ? range + first : range;
}

Value linear(const std::string& name, const Value& x) {
  Graph& g = x.graph();
  // Runtimes transpose a constant once, when they load the graph.
  const Value y = matmul(x, transpose(g.weight(name + ".weight"), {1, 0}));
  return g.has_weight(name + ".bias") ? y + g.weight(name + ".bias") : y;
}

Value layer_norm(const std::string& name, const Value& x) {
  Graph& g = x.graph();
  return g.node("LayerNormalization", {x, g.weight(name + ".gamma"), g.weight(name + ".beta")},
                {{"axis", int64_t{-1}}, {"epsilon", 1e-5f}});
}

Value mask_of(const Value& lengths, const Value& count) {
  return binary("Less", positions(count), unsqueeze(lengths, {1}));
}

Value masked(const Value& scores, const Value& mask) { return where(mask, scores, scores.graph().number(kMasked)); }

}  // namespace fovea::onnx
