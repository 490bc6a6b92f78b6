// Nodes of a graph as functions and operators on its values, so that a network reads as it does in src/models.
#pragma once

#include <string>
#include <vector>

#include "models/config.h"
#include "onnx/graph.h"

namespace fovea::onnx {

// A masked score. Its softmax is exactly 0, and a row of masked scores alone is no division by zero.
constexpr float kMasked = -1e9f;
// The rows of tables of positions, which a graph contains instead of sines of large angles.
constexpr int64_t kPositions = 2048;

Value operator+(const Value& a, const Value& b);
Value operator-(const Value& a, const Value& b);
Value operator*(const Value& a, const Value& b);
Value operator/(const Value& a, const Value& b);
Value operator+(const Value& a, float b);
Value operator*(const Value& a, float b);
Value tanh(const Value& x);
Value sigmoid(const Value& x);
Value erf(const Value& x);
Value relu(const Value& x);
Value exp(const Value& x);
Value log(const Value& x);
Value abs(const Value& x);
Value minimum(const Value& a, const Value& b);

Value matmul(const Value& a, const Value& b);
Value softmax(const Value& x);             // over the last axis
Value sum(const Value& x, int64_t axis);   // the axis stays, with size 1
Value mean(const Value& x, int64_t axis);  // the axis is removed
Value transpose(const Value& x, std::vector<int64_t> axes);
Value reshape(const Value& x, const std::vector<int64_t>& shape);  // 0: as in x; -1: what remains
Value unsqueeze(const Value& x, const std::vector<int64_t>& axes);
Value squeeze(const Value& x, const std::vector<int64_t>& axes);
Value concat(const std::vector<Value>& values, int64_t axis);
Value columns(const Value& x, int64_t axis, int64_t begin, int64_t end);
std::vector<Value> split(const Value& x, int64_t axis, int count);  // in equal parts
Value gather(const Value& table, const Value& ids);                 // rows of the first axis
Value expand(const Value& x, const std::vector<Value>& shape);      // sizes are int64 [1]
Value cast(const Value& x, Type type);
Value where(const Value& condition, const Value& yes, const Value& no);
Value size(const Value& x, int64_t axis);                      // int64 [1]
Value positions(const Value& count, const Value& first = {});  // first, first + 1, ...: int64 [count]

// W x + b, with the parameters name.weight [out,in] and, if the model has it, name.bias [out].
Value linear(const std::string& name, const Value& x);
Value layer_norm(const std::string& name, const Value& x);
// Which source positions count: bool [B,S] of lengths int64 [B], for S positions.
Value mask_of(const Value& lengths, const Value& count);
// Values at positions that are masked become kMasked.
Value masked(const Value& scores, const Value& mask);

}  // namespace fovea::onnx
