// Batch norm and depthwise convolution.
#include <fmt/format.h>

#include "kernels/case_lists.h"

namespace fovea::testing {

namespace {

Input constant(Input input) {
  input.differentiable = false;
  return input;
}

// Batch norm outside training, though the tape records.
Var evaluate_batch_norm(const Var& x, const Var& gamma, const Var& beta, const RunningStatistics& running) {
  Tape::current()->set_training(false);
  const Var y = batch_norm(x, gamma, beta, running, 0.1f, 1e-3f);
  Tape::current()->set_training(true);
  return y;
}

void add_batch_norm(std::vector<Case>& list) {
  struct Size {
    Shape x;
    double low, high;
  };
  for (const Size& size : {Size{{2, 3, 2, 5}, -1, 1}, Size{{2, 1}, -1, 1}, Size{{1, 7, 19}, -1, 1},
                           Size{{3, 40, 16}, 7, 9}, Size{{4, 3}, -1e4, 1e4}}) {
    const Shape channels = {size.x[-1]};
    const std::string name = fmt::format("{}x{}", size.x.count() / channels[0], channels[0]);
    const std::vector<Input> inputs = {{size.x, size.low, size.high},
                                       parameter(channels),
                                       parameter(channels),
                                       constant(parameter(channels)),
                                       constant({channels, 0.5, 2.0, true})};
    list.push_back({"batch_norm_" + name,
                    {"batch_norm", "batch_norm_grad"},
                    inputs,
                    [](auto& x, auto&) -> std::vector<Var> {
                      return {batch_norm(x[0], x[1], x[2], {x[3].value(), x[4].value()}, 0.1f, 1e-3f)};
                    },
                    {512, 8}});
    list.push_back({"batch_norm_evaluation_" + name,
                    {"batch_norm", "batch_norm_grad"},
                    inputs,
                    [](auto& x, auto&) -> std::vector<Var> {
                      return {evaluate_batch_norm(x[0], x[1], x[2], {x[3].value(), x[4].value()})};
                    },
                    {64, 4}});
    // The running averages, and that evaluation leaves them alone.
    list.push_back({"batch_norm_running_" + name,
                    {"batch_norm"},
                    {constant(inputs[0]), constant(inputs[1]), constant(inputs[2]), inputs[3], inputs[4]},
                    [](auto& x, auto&) -> std::vector<Var> {
                      const RunningStatistics running = {x[3].value(), x[4].value()};
                      batch_norm(x[0], x[1], x[2], running, 0.25f);
                      batch_norm(x[0], x[1], x[2], running, 0.5f);
                      evaluate_batch_norm(x[0], x[1], x[2], running);
                      return {running.mean, running.variance};
                    },
                    {64, 3}});
  }
}

void add_depthwise(std::vector<Case>& list) {
  struct Size {
    Shape x;
    Window window;
  };
  const Size sizes[] = {
      {{2, 5, 6, 3}, {.height = 3, .width = 3, .pad_y = 1, .pad_x = 1}},
      {{1, 7, 5, 20}, {.height = 3, .width = 2, .stride_y = 2, .stride_x = 1}},
      {{1, 1, 1, 1}, {}},
      {{3, 8, 9, 17}, {.height = 5, .width = 4, .stride_y = 3, .stride_x = 2, .pad_y = 2, .pad_x = 3}},
      {{0, 4, 4, 3}, {.height = 2, .width = 2}},
      {{2, 6, 8, 19}, same_padding({.height = 3, .width = 5, .stride_y = 2, .stride_x = 2}, 6, 8)}};
  for (const Size& size : sizes) {
    const Window w = size.window;
    const int64_t channels = size.x[3];
    for (const bool biased : {true, false}) {
      list.push_back(
          {fmt::format("depthwise_conv2d_{}x{}x{}{}", size.x[0], size.x[1], channels, biased ? "" : "_plain"),
           {"depthwise_conv2d", "depthwise_conv2d_grad"},
           {{size.x}, parameter({w.height, w.width, channels}), parameter({channels})},
           [=](auto& x, auto&) -> std::vector<Var> { return {depthwise_conv2d(x[0], x[1], biased ? x[2] : Var(), w)}; },
           {128, 4}});
    }
  }
  for (const int64_t steps : {1, 9}) {
    list.push_back({fmt::format("depthwise_conv1d_{}", steps),
                    {"depthwise_conv2d", "depthwise_conv2d_grad"},
                    {{{steps, 3, 18}}, parameter({3, 18}), parameter({18})},
                    [=](auto& x, auto&) -> std::vector<Var> {
                      const Var causal = depthwise_conv1d(x[0], x[1], {}, 2).slice(0, steps);
                      return {depthwise_conv1d(x[0], x[1], x[2], 1), causal};
                    },
                    {128, 4}});
  }
}

}  // namespace

void add_image_layers(std::vector<Case>& list) {
  add_batch_norm(list);
  add_depthwise(list);
}

}  // namespace fovea::testing
