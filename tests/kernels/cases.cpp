#include "kernels/case_lists.h"

#include <cmath>
#include <deque>
#include <optional>

#include "base/random.h"
#include "tensor/cuda.h"

namespace fovea::testing {

namespace {

void add_products(std::vector<Case>& list) {
  const Tolerance product{64, 3};
  struct Size {
    int64_t m, k, n;
  };
  for (const auto& [m, k, n] : {Size{1, 1, 1}, Size{3, 5, 7}, Size{17, 33, 31}, Size{1, 64, 48}, Size{2, 0, 3}}) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        for (const int64_t batch : {0, 3}) {
          Shape a = ta ? Shape{k, m} : Shape{m, k}, b = tb ? Shape{n, k} : Shape{k, n};
          if (batch > 0) a = a.prepended(batch), b = b.prepended(batch);
          list.push_back({fmt::format("matmul_{}x{}x{}{}{}{}", m, k, n, ta ? "_ta" : "", tb ? "_tb" : "",
                                      batch > 0 ? "_batch" : ""),
                          {"matmul"},
                          {{a}, {b}},
                          [=](auto& x, auto&) -> std::vector<Var> {
                            return {matmul(x[0], x[1], {ta, tb})};
                          },
                          product});
        }
      }
    }
  }
  for (const int64_t rows : {1, 13}) {
    list.push_back({fmt::format("linear_{}", rows),
                    {"matmul", "reduce"},
                    {{{rows, 2, 19}}, parameter({11, 19}), parameter({11})},
                    [](auto& x, auto&) -> std::vector<Var> { return {linear(x[0], x[1], x[2])}; },
                    product});
  }
  for (const int64_t several : {1, 3}) {
    for (const int64_t out : {7, 16}) {
      list.push_back({fmt::format("stacked_linear_{}x{}", several, out),
                      {"matmul", "reduce"},
                      {{{5, 2, 24}}, parameter({several * out, 24}), parameter({several * out})},
                      [=](auto& x, auto&) -> std::vector<Var> { return {stacked_linear(x[0], x[1], x[2], several)}; },
                      product});
    }
  }
  // One weight used at every step of a loop: its gradient is one GEMM, whatever the loop.
  list.push_back({"linear_in_a_loop",
                  {"matmul", "concat", "unary"},
                  {{{4, 3, 5}}, parameter({5, 5}), parameter({5}), parameter({5, 5})},
                  [](auto& x, auto&) -> std::vector<Var> {
                    Var h = x[0][0];
                    for (int64_t t = 1; t < 4; ++t) h = tanh(linear(h, x[1], x[2]) + linear(x[0][t], x[3]));
                    return {h};
                  },
                  {64, 6}});
  // A weight that is itself computed, as a whole and in parts.
  list.push_back({"linear_with_a_computed_weight",
                  {"matmul", "unary_grad"},
                  {{{3, 4}}, parameter({6, 4}), parameter({4})},
                  [](auto& x, auto& s) -> std::vector<Var> {
                    const Var weight = cast(tanh(x[1]), accumulator_of(s.dtype));
                    const Var bias = cast(tanh(x[2]), accumulator_of(s.dtype));
                    const Var y = linear(x[0], weight.slice(0, 4), bias);
                    return {linear(y, weight), linear(y, weight.slice(2, 6), bias)};
                  },
                  {64, 6}});
  list.push_back({"add_linear",
                  {"matmul"},
                  {{{2, 3, 5}}, {{3, 4}}, parameter({5, 4}), {{3, 4}}},
                  [](auto& x, auto&) -> std::vector<Var> {
                    const Var y = affine(x[0], 2.0f);
                    add_linear(y[0], x[1], x[2]);
                    add_linear(y[1], x[3], x[2]);
                    return {affine(y, 3.0f)};
                  },
                  {64, 4}});
}

// The range of inputs that a function is tried with; nothing past the last function. The compiler warns of a function
// without a range.
struct Range {
  const char* name;
  double low, high;
};
std::optional<Range> range_of(UnaryOp op) {
  switch (op) {
    case UnaryOp::kTanh: return Range{"tanh", -4, 4};
    case UnaryOp::kSigmoid: return Range{"sigmoid", -6, 6};
    case UnaryOp::kRelu: return Range{"relu", -1, 1};
    case UnaryOp::kGelu: return Range{"gelu", -3, 3};
    case UnaryOp::kExp: return Range{"exp", -3, 3};
    case UnaryOp::kLog: return Range{"log", 0.2, 4};
    case UnaryOp::kSqrt: return Range{"sqrt", 0.3, 4};
    case UnaryOp::kSquare: return Range{"square", -2, 2};
    case UnaryOp::kAbs: return Range{"abs", -2, 2};
    case UnaryOp::kReciprocal: return Range{"reciprocal", 0.5, 2};
  }
  return {};
}
const char* name_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd: return "add";
    case BinaryOp::kSubtract: return "subtract";
    case BinaryOp::kMultiply: return "multiply";
    case BinaryOp::kDivide: return "divide";
    case BinaryOp::kMaximum: return "maximum";
    case BinaryOp::kMinimum: return "minimum";
  }
  return nullptr;
}

void add_elementwise(std::vector<Case>& list) {
  for (uint8_t i = 0; const auto range = range_of(static_cast<UnaryOp>(i)); ++i) {
    for (const int64_t n : {1, 37, 1031}) {
      list.push_back(
          {fmt::format("{}_{}", range->name, n),
           {"unary", "unary_grad"},
           {{{n}, range->low, range->high}},
           [op = static_cast<UnaryOp>(i)](auto& x, auto&) -> std::vector<Var> { return {unary(op, x[0])}; }});
    }
  }
  struct Spread {
    Shape a, b;
    const char* name;
  };
  const Spread spreads[] = {{{3, 5, 7}, {3, 5, 7}, "same"},   {{3, 5, 7}, {7}, "row"},
                            {{3, 5, 7}, {3, 5, 1}, "column"}, {{3, 5, 7}, {1, 5, 1}, "middle"},
                            {{3, 5, 7}, {1}, "scalar"},       {{1}, {1}, "one"},
                            {{129, 67}, {67}, "long_row"},    {{129, 67}, {129, 1}, "long_column"}};
  for (uint8_t i = 0; const char* name = name_of(static_cast<BinaryOp>(i)); ++i) {
    const auto op = static_cast<BinaryOp>(i);
    for (const Spread& s : spreads) {
      if (s.a.count() > 1000 && op != BinaryOp::kMultiply) continue;
      // The gradient of a sum is moved to an operand of the same size.
      const bool kernel_back = op != BinaryOp::kAdd || s.a.count() != s.b.count();
      list.push_back(
          {fmt::format("{}_{}", name, s.name),
           kernel_back ? std::vector<std::string>{"binary", "binary_grad"} : std::vector<std::string>{"binary"},
           {{s.a, 0.5, 2.0}, {s.b, 0.6, 1.9}},
           [op](auto& x, auto&) -> std::vector<Var> { return {binary(op, x[0], x[1])}; },
           {64, 4}});
    }
  }
  list.push_back({"affine", {"affine"}, {{{5, 7}}}, [](auto& x, auto&) -> std::vector<Var> {
                    return {affine(x[0], -1.5f, 0.25f)};
                  }});
  list.push_back({"cast_to_accumulator", {"affine"}, {{{33}}}, [](auto& x, auto& s) -> std::vector<Var> {
                    return {cast(x[0], accumulator_of(s.dtype))};
                  }});
  for (const int axis : {0, 1, 2}) {
    list.push_back({fmt::format("reduce_axis_{}", axis),
                    {"reduce", "reduce_grad"},
                    {{{5, 19, 7}}},
                    [=](auto& x, auto&) -> std::vector<Var> {
                      return {sum(x[0], axis), mean(x[0], axis), maximum(x[0], axis)};
                    },
                    {32, 3}});
  }
  list.push_back({"reduce_all",
                  {"reduce", "reduce_grad"},
                  {{{3, 1001}}},
                  [](auto& x, auto&) -> std::vector<Var> {
                    return {sum(x[0]), mean(x[0])};
                  },
                  {128, 3}});
}

void add_data(std::vector<Case>& list) {
  for (const int axis : {0, 1, 2}) {
    list.push_back({fmt::format("concat_axis_{}", axis),
                    {"concat", "split"},
                    {{Shape{3, 4, 5}.with(axis, 2)}, {Shape{3, 4, 5}.with(axis, 7)}, {Shape{3, 4, 5}.with(axis, 1)}},
                    [=](auto& x, auto&) -> std::vector<Var> { return {concat(x, axis)}; }});
  }
  list.push_back({"stack",
                  {"concat", "split"},
                  {{{2, 3}}, {{2, 3}}},
                  [](auto& x, auto&) -> std::vector<Var> {
                    return {stack(x), concat({x[1], x[1]}, 0)};
                  },
                  {16, 4}});
  list.push_back({"columns",
                  {"concat", "split"},
                  {{{3, 2, 11}}},
                  [](auto& x, auto&) -> std::vector<Var> {
                    return {columns(x[0], 0, 3), columns(x[0], 2, 11), columns(x[0], 4, 5)};
                  },
                  {16, 4}});
  list.push_back({"slices_and_reshapes",
                  {"binary"},
                  {{{4, 3, 2}}},
                  [](auto& x, auto&) -> std::vector<Var> {
                    const Var middle = x[0].slice(1, 3);
                    return {middle[1] * x[0][0], middle.reshape({6, 2})[2] * x[0].reshape({24}).slice(3, 5)};
                  },
                  {16, 4}});
  list.push_back(
      {"embedding", {"embedding", "embedding_grad"}, {parameter({7, 13})}, [](auto& x, auto& s) -> std::vector<Var> {
         return {embedding(x[0], ints(s, {3, 0, 6, 3, 3, 1}, {2, 3}), 2.5f)};
       }});
  for (const bool across : {false, true}) {
    list.push_back({across ? "dropout_across_steps" : "dropout",
                    {"dropout"},
                    {{{3, 5, 29}}},
                    [=](auto& x, auto&) -> std::vector<Var> { return {dropout(x[0], 0.3f, across)}; }});
  }
  for (const int64_t width : {29, 32}) {
    list.push_back(
        {fmt::format("relu_dropout_{}", width), {"dropout"}, {{{3, 5, width}}}, [](auto& x, auto&) -> std::vector<Var> {
           return {relu_dropout(affine(x[0], 3.0f), 0.3f)};
         }});
  }
}

void add_norms(std::vector<Case>& list) {
  for (const int64_t depth : {1, 5, 67}) {
    list.push_back({fmt::format("layer_norm_{}", depth),
                    {"layer_norm", "layer_norm_grad"},
                    {{{4, 3, depth}}, parameter({depth}), parameter({depth})},
                    [](auto& x, auto&) -> std::vector<Var> { return {layer_norm(x[0], x[1], x[2], 1e-3f)}; },
                    {256, 6}});
    // The sum, its norm, or both are used; also with rows that are multiples of eight.
    for (const int64_t wide : {depth, 8 * depth}) {
      for (const int used : {1, 2, 3}) {
        const float rate = used == 2 ? 0.0f : 0.3f;
        std::vector<std::string> kernels = {"layer_norm"};
        if (used != 1) kernels.push_back("layer_norm_grad");
        list.push_back({fmt::format("layer_norm_of_sum_{}_{}", wide, used),
                        kernels,
                        {{{4, 3, wide}}, {{4, 3, wide}}, parameter({wide}), parameter({wide})},
                        [=](auto& x, auto&) -> std::vector<Var> {
                          const Residual r =
                              layer_norm(affine(x[0], 2.0f), affine(x[1], 3.0f), rate, x[2], x[3], 1e-3f);
                          if (used == 1) return {affine(r.sum, 1.5f)};
                          if (used == 2) return {r.normed};
                          return {r.normed * r.sum, r.sum};
                        },
                        {1024, 6}});
      }
    }
    list.push_back({fmt::format("normalize_{}", depth),
                    {"normalize", "normalize_grad"},
                    {{{4, 3, depth}, 0.2, 1.0}},
                    [](auto& x, auto&) -> std::vector<Var> { return {normalize(x[0])}; },
                    {64, 6}});
  }
  list.push_back({"normalize_zero_row",
                  {"normalize", "normalize_grad"},
                  {{{3, 8}, -1e-3, 1e-3}},
                  [](auto& x, auto&) -> std::vector<Var> { return {normalize(x[0], 0.5f)}; },
                  {64, 4}});
}

void add_recurrence(std::vector<Case>& list) {
  const std::pair<Cell, const char*> cells[] = {{Cell::kTanh, "tanh"}, {Cell::kGru, "gru"}, {Cell::kLstm, "lstm"}};
  struct Size {
    int64_t steps, batch, hidden;
  };
  for (const auto& [kind, name] : cells) {
    const int64_t g = gates_of(kind);
    for (const auto& [steps, batch, hidden] : {Size{1, 1, 1}, Size{4, 3, 5}, Size{3, 2, 17}}) {
      const std::string size = fmt::format("{}_{}x{}x{}", name, steps, batch, hidden);
      const Input state{{batch, hidden}}, gates{{batch, g * hidden}, -2, 2};
      list.push_back({"cell_" + size,
                      {"cell", "cell_grad"},
                      {gates, gates, state, state},
                      [kind = kind](auto& x, auto&) -> std::vector<Var> {
                        const State next = cell(kind, x[0], x[1], {x[2], x[3]});
                        // A second step, so that both parts of the state receive gradients.
                        const State last = cell(kind, x[1], x[0], next);
                        if (kind == Cell::kLstm) return {last.state, last.cell_state};
                        return {last.state, x[3] * x[3]};
                      },
                      {64, 8}});
      for (const bool reverse : {false, true}) {
        for (const bool full :
             {false, true}) {  // with all optional tensors (initial states, lengths, bias), or without
          list.push_back({fmt::format("recurrent_{}{}{}", size, reverse ? "_reverse" : "", full ? "_full" : ""),
                          {"recurrent", "recurrent_grad"},
                          {{{steps, batch, g * hidden}, -2, 2},
                           parameter({g * hidden, hidden}, 0.5),
                           parameter({g * hidden}),
                           state,
                           state},
                          [=, kind = kind, steps = steps, batch = batch](auto& x, auto& s) -> std::vector<Var> {
                            Recurrent layer{.cell = kind, .weight = x[1], .reverse = reverse};
                            std::vector<int32_t> lengths(static_cast<size_t>(batch));
                            for (size_t b = 0; b < lengths.size(); ++b)
                              lengths[b] = static_cast<int32_t>(steps - static_cast<int64_t>(b) * 2);
                            for (int32_t& length : lengths) length = std::max(length, 0);
                            if (full) {
                              layer.bias = x[2];
                              layer.lengths = ints(s, lengths);
                              layer.initial = {x[3], kind == Cell::kLstm ? x[4] : Var()};
                            }
                            const Unrolled y = recurrent(x[0], layer);
                            std::vector<Var> outputs = {y.states, y.final.state * y.final.state};
                            if (kind == Cell::kLstm) outputs.push_back(y.final.cell_state);
                            return outputs;
                          },
                          {128, 12}});
        }
      }
    }
  }
}

void add_images(std::vector<Case>& list) {
  struct Size {
    Shape x;
    int64_t out;
    Window window;
  };
  const Size sizes[] = {
      {{2, 5, 6, 3}, 4, {.height = 3, .width = 3, .pad_y = 1, .pad_x = 1}},
      {{1, 7, 5, 2}, 3, {.height = 3, .width = 2, .stride_y = 2, .stride_x = 1}},
      {{1, 1, 1, 1}, 1, {}},
      {{2, 8, 8, 17}, 5, {.height = 2, .width = 2, .stride_y = 2, .stride_x = 2, .pad_y = 1, .pad_x = 0}},
      {{2, 6, 8, 5}, 3, same_padding({.height = 3, .width = 5, .stride_y = 2, .stride_x = 2}, 6, 8)}};
  for (const Size& size : sizes) {
    const Window w = size.window;
    const std::string name = fmt::format("{}x{}", size.x[1], size.x[3]);
    list.push_back({"conv2d_" + name,
                    {"conv2d", "conv2d_grad"},
                    {{size.x}, parameter({size.out, w.height, w.width, size.x[3]}), parameter({size.out})},
                    [=](auto& x, auto&) -> std::vector<Var> { return {conv2d(x[0], x[1], x[2], w)}; },
                    {128, 4}});
    const auto windows = [](int64_t pixels, int64_t cells, int64_t stride, int64_t pad) {
      return (pixels + pad - cells) / stride + 1;
    };
    const Shape result = {size.x[0], windows(size.x[1], w.height, w.stride_y, 2 * w.pad_y + w.extra_y),
                          windows(size.x[2], w.width, w.stride_x, 2 * w.pad_x + w.extra_x), size.out};
    list.push_back({"conv2d_finished_" + name,
                    {"conv2d", "conv2d_grad"},
                    {{size.x}, parameter({size.out, w.height, w.width, size.x[3]}), {result}},
                    [=](auto& x, auto&) -> std::vector<Var> {
                      return {conv2d(x[0], x[1], {}, w, {.residual = x[2], .relu = true})};
                    },
                    {128, 4}});
    list.push_back({"pool2d_" + name,
                    {"pool2d", "pool2d_grad"},
                    {{size.x}},
                    [=](auto& x, auto&) -> std::vector<Var> {
                      return {pool2d(PoolOp::kMaximum, x[0], w), pool2d(PoolOp::kAverage, x[0], w)};
                    },
                    {32, 4}});
  }
}

}  // namespace

const std::vector<Case>& cases() {
  static const std::vector<Case> list = [] {
    std::vector<Case> all;
    add_products(all);
    add_elementwise(all);
    add_data(all);
    add_norms(all);
    add_softmax(all);
    add_pointer_loss(all);
    add_attention(all);
    add_recurrence(all);
    add_images(all);
    add_indexing(all);
    add_image_layers(all);
    return all;
  }();
  return list;
}

bool available(Device device) {
  if (!device.on_host()) return device.index < cuda::device_count();
  try {
    kernels(device);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::vector<double> to_doubles(const Tensor& x) {
  const Tensor wide = empty(x.shape(), DType::kF64, Device::reference());
  const Tensor here = to_device(x, Device::reference());
  kernels(Device::reference()).affine(stream(Device::reference()), {.x = here, .y = wide});
  return to_host<double>(wide);
}

Tensor from_doubles(const std::vector<double>& x, const Shape& shape, DType dtype, Device device) {
  const Tensor wide = from_host(x, shape, Device::reference());
  const Tensor narrow = empty(shape, dtype, Device::reference());
  kernels(Device::reference()).affine(stream(Device::reference()), {.x = wide, .y = narrow});
  return to_device(narrow, device);
}

std::vector<std::vector<double>> input_values(const Case& c, DType dtype) {
  std::vector<std::vector<double>> values;
  for (const Input& input : c.inputs) {
    Random random(20150101, values.size());
    std::vector<double> x(static_cast<size_t>(input.shape.count()));
    for (double& element : x) element = random.uniform(input.low, input.high);
    const DType kept = input.parameter ? accumulator_of(dtype) : dtype;
    values.push_back(to_doubles(from_doubles(x, input.shape, kept, Device::reference())));
  }
  return values;
}

std::vector<double> output_weights(size_t output, int64_t count) {
  Random random(20170612, output);
  std::vector<double> w(static_cast<size_t>(count));
  // Rounded to bf16, so that every dtype gets the same weighting.
  for (double& element : w)
    element = static_cast<double>(static_cast<float>(bf16(static_cast<float>(random.uniform(-1, 1)))));
  return w;
}

Outcome run_case(const Case& c, const Setting& setting, const std::vector<std::vector<double>>& inputs, bool backward) {
  Tape tape(setting.device, 7);
  tape.reset();
  std::vector<Var> vars;
  std::deque<Gradient> gradients;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const DType dtype = c.inputs[i].parameter ? accumulator_of(setting.dtype) : setting.dtype;
    const Tensor value = from_doubles(inputs[i], c.inputs[i].shape, dtype, setting.device);
    gradients.emplace_back(value);
    gradients.back().leaf = true;
    gradients.back().sum = zeros_like(value);
    vars.push_back(c.inputs[i].differentiable ? Var(value, &gradients.back()) : Var(value));
  }
  const PrecisionScope precision(setting.precision);
  Outcome outcome;
  std::vector<Tape::Seed> seeds;
  {
    const TapeScope tape_scope(tape);
    const std::vector<Var> outputs = c.body(vars, setting);
    for (const Var& y : outputs) {
      outcome.outputs.push_back(to_doubles(y.value()));
      if (!y.needs_grad()) continue;
      std::vector<double> weights = output_weights(outcome.outputs.size(), y.size());
      // A masked element of a log-softmax is -inf and has no gradient.
      for (size_t i = 0; i < weights.size(); ++i) {
        if (std::isinf(outcome.outputs.back()[i])) weights[i] = 0.0;
      }
      seeds.push_back({y, from_doubles(weights, y.shape(), y.dtype(), setting.device)});
    }
  }
  if (!backward) return outcome;
  tape.backward(seeds);
  for (size_t i = 0; i < vars.size(); ++i) {
    outcome.gradients.push_back(vars[i].needs_grad() ? to_doubles(gradients[i].sum) : std::vector<double>());
  }
  return outcome;
}

}  // namespace fovea::testing
