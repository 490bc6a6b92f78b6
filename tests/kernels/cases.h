// One list of cases serves every check of kernels: float64 gradients on the reference, and parity of
// each backend with it in every dtype. A case is a function of a few inputs, written with ops, and says
// which kernels it is there for.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ops/ops.h"

namespace fovea::testing {

struct Setting {
  Device device;
  DType dtype = DType::kF32;
  Precision precision = Precision::kF32;
};

struct Input {
  Shape shape;
  double low = -1.0, high = 1.0;
  bool parameter = false;  // kept in the accumulator's dtype
  bool differentiable = true;
};

// How far a backend may be from the reference, in multiples of its dtype's epsilon, relative to the
// largest magnitude of the tensor compared.
struct Tolerance {
  double f32 = 16, bf16 = 3;
};

struct Case {
  std::string name;
  std::vector<std::string> covers;
  std::vector<Input> inputs;
  std::function<std::vector<Var>(const std::vector<Var>& inputs, const Setting& setting)> body;
  Tolerance tolerance = {};
};

const std::vector<Case>& cases();

// Whether this build has kernels for a device, and this machine the device.
bool available(Device device);

// The inputs of a case in f64, the same on every call; rounded to `dtype` where it is coarser.
std::vector<std::vector<double>> input_values(const Case& c, DType dtype);

// What a case gives: its outputs, and the gradients of its inputs for a fixed random weighting of the
// outputs (never their sum: the gradient of a softmax's sum is zero, and would pass anything).
struct Outcome {
  std::vector<std::vector<double>> outputs, gradients;  // an input without one has an empty gradient
};
Outcome run_case(const Case& c, const Setting& setting, const std::vector<std::vector<double>>& inputs,
                 bool backward = true);
// The weighting of output number `output`.
std::vector<double> output_weights(size_t output, int64_t count);

// Any tensor as doubles, and doubles as a tensor.
std::vector<double> to_doubles(const Tensor& x);
Tensor from_doubles(const std::vector<double>& x, const Shape& shape, DType dtype, Device device);

}  // namespace fovea::testing
