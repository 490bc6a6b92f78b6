// One list of cases serves all checks of kernels: f64 gradients on the reference, and parity of each backend with it in
// every dtype. A case is a function of a few inputs, written with ops, and names the kernels that it covers.
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
  bool parameter = false;  // has the dtype of the accumulator
  bool differentiable = true;
};

// The error allowed for a backend, in multiples of the epsilon of its dtype, relative to the largest magnitude of the
// compared tensor.
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

// Returns whether this build has kernels for a device, and this machine the device.
bool available(Device device);

// The inputs of a case in f64, the same in every call; rounded to `dtype` if it is coarser.
std::vector<std::vector<double>> input_values(const Case& c, DType dtype);

// The outputs of a case, and the gradients of its inputs for a fixed random weighting of the outputs (never their sum:
// the gradient of the sum of a softmax is zero and would hide every error).
struct Outcome {
  std::vector<std::vector<double>> outputs, gradients;  // the gradient of an input without one is empty
};
Outcome run_case(const Case& c, const Setting& setting, const std::vector<std::vector<double>>& inputs,
                 bool backward = true);
// Returns the weighting of output number `output`.
std::vector<double> output_weights(size_t output, int64_t count);

// Conversions between tensors and doubles.
std::vector<double> to_doubles(const Tensor& x);
Tensor from_doubles(const std::vector<double>& x, const Shape& shape, DType dtype, Device device);

}  // namespace fovea::testing
