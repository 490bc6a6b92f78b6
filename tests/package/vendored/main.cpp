// Fits y = 3x - 1 with a layer, the tape and the optimiser of the vendored library.
#include <fovea/base/error.h>
#include <fovea/nn/layers.h>
#include <fovea/train/optimiser.h>

#include <cmath>
#include <cstdio>
#include <vector>

#include "base/error.h"

int main() {
  const int unused = kParentError;
  const fovea::Device device = fovea::Device::reference();
  fovea::Parameters parameters(device);
  const fovea::Linear line(parameters, "line", 1, 1);
  parameters.allocate(/*seed=*/1);
  fovea::Optimiser optimiser(parameters, {});
  fovea::Tape tape(device);
  const std::vector<float> x{-1, 0, 1, 2}, y{-4, -1, 2, 5};
  const fovea::Tensor inputs = fovea::from_host(x, {4, 1}, device), expected = fovea::from_host(y, {4, 1}, device);
  double loss = 0;
  for (int step = 0; step < 500; ++step) {
    tape.reset();
    const fovea::TapeScope recording(tape);
    const fovea::Var error = mean(square(line(inputs) - fovea::Var(expected)));
    loss = error.value().data<float>()[0];
    tape.backward(error);
    optimiser.step(0.05f);
  }
  std::printf("loss %g after 500 steps\n", loss);
  try {
    fovea::fail("an error of {}", "Fovea");
  } catch (const fovea::Error& error) {
    return loss < 1e-3 && std::isfinite(loss) ? 0 : 1;
  }
  return 1;
}
