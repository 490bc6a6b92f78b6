// CPU recurrent cells and layers against the reference, with shapes that are hard to split: every cell, both
// directions, f32 and bf16, sentences that end early, absent states and cell states.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/threads.h"
#include "kernels/cpu/gemm/gemm_bf16.h"
#include "kernels/kernels.h"
#include "kernels/targets.h"
#include "tensor/arena.h"

namespace fovea {
namespace {

const Device kCpu = Device::cpu();
const Device kReference = Device::reference();
constexpr float kSentinel = -12345.0f;

Tensor cast(const Tensor& x, DType dtype, Device device) {
  if (!x) return {};
  std::vector<float> values(static_cast<size_t>(x.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = x.dtype() == DType::kF32 ? x.data<float>()[i] : static_cast<float>(x.data<bf16>()[i]);
  }
  if (dtype == DType::kF32) return from_host(values, x.shape(), device);
  const std::vector<bf16> rounded(values.begin(), values.end());
  return from_host(rounded, x.shape(), device);
}
Tensor on_reference(const Tensor& x) { return cast(x, DType::kF32, kReference); }

// Random elements; `scale` 0 gives a tensor of sentinels, to be overwritten.
class Source {
 public:
  explicit Source(DType elements) : elements_(elements) {}

  Tensor elements(const Shape& shape, double scale = 1) { return cast(parameter(shape, scale), elements_, kCpu); }
  Tensor output(const Shape& shape) { return elements(shape, 0); }
  Tensor parameter(const Shape& shape, double scale) {
    std::vector<float> values(static_cast<size_t>(shape.count()));
    for (float& value : values) value = scale == 0 ? kSentinel : static_cast<float>(scale * random_.normal());
    return from_host(values, shape, kCpu);
  }

 private:
  DType elements_;
  Random random_{7};
};

// Expects each element within tolerance * max(1, |expected|) of the expected one. Rows that are never read may be
// excluded.
void expect_near(const char* what, const Tensor& got, const Tensor& expected, double tolerance,
                 const std::vector<bool>& rows = {}) {
  const Tensor a = on_reference(got);
  ASSERT_EQ(a.shape(), expected.shape()) << what;
  const int64_t width = rows.empty() ? a.size() : a.size() / static_cast<int64_t>(rows.size());
  for (int64_t i = 0; i < a.size(); ++i) {
    if (!rows.empty() && !rows[static_cast<size_t>(i / width)]) continue;
    const double x = a.data<float>()[i], y = expected.data<float>()[i];
    if (std::abs(x - y) <= tolerance * std::max(1.0, std::abs(y))) continue;
    FAIL() << what << " at " << i << " is " << x << ", expected " << y;
  }
}

void expect_same_bits(const char* what, const Tensor& a, const Tensor& b) {
  ASSERT_EQ(static_cast<bool>(a), static_cast<bool>(b));
  EXPECT_EQ(0, a ? std::memcmp(a.raw(), b.raw(), a.bytes()) : 0) << what;
}

struct Kind {
  Cell cell;
  DType elements;
  Precision precision;

  // In units of the epsilon of the coarser type: a few roundings per step.
  double tolerance() const {
    return elements == DType::kBF16 || precision == Precision::kBF16 ? 6 * 0x1p-8 : 64 * 0x1p-23;
  }
};

std::vector<Kind> kinds() {
  std::vector<Kind> all;
  for (const Cell cell : {Cell::kTanh, Cell::kGru, Cell::kLstm}) {
    for (const DType elements : {DType::kF32, DType::kBF16}) {
      for (const Precision precision : {Precision::kF32, Precision::kBF16}) all.push_back({cell, elements, precision});
    }
  }
  return all;
}

std::string name_of(const testing::TestParamInfo<Kind>& info) {
  const char* cells[] = {"tanh", "gru", "lstm"};
  return fmt::format("{}_{}_{}", cells[static_cast<int>(info.param.cell)], fovea::name_of(info.param.elements),
                     info.param.precision == Precision::kF32 ? "f32" : "bf16");
}

// ---- one step ----------------------------------------------------------------------------------

class CellKernel : public testing::TestWithParam<Kind> {};

TEST_P(CellKernel, AgreesWithTheReference) {
  const auto [cell, elements, precision] = GetParam();
  const int64_t G = gates_of(cell), S = saved_of(cell);
  for (const auto& [B, H] : {std::pair<int64_t, int64_t>{1, 1}, {3, 17}, {64, 31}, {5, 128}, {0, 4}, {7, 97}}) {
    SCOPED_TRACE(fmt::format("B {} H {}", B, H));
    Source source(elements);
    const bool lstm = cell == Cell::kLstm;
    CellArgs args = {.cell = cell,
                     .x_gates = source.elements({B, G * H}),
                     .h_gates = source.elements({B, G * H}),
                     .state = source.elements({B, H}),
                     .cell_state = lstm ? source.elements({B, H}) : Tensor(),
                     .new_state = source.output({B, H}),
                     .new_cell_state = lstm ? source.output({B, H}) : Tensor(),
                     .saved = S > 0 ? source.output({B, S * H}) : Tensor()};
    CellArgs expected = args;
    for (Tensor CellArgs::*field : {&CellArgs::x_gates, &CellArgs::h_gates, &CellArgs::state, &CellArgs::cell_state,
                                    &CellArgs::new_state, &CellArgs::new_cell_state, &CellArgs::saved}) {
      expected.*field = on_reference(args.*field);
    }
    kernels(kCpu).cell(stream(kCpu), args);
    kernels(kReference).cell(stream(kReference), expected);
    const double tolerance = elements == DType::kBF16 ? 2 * 0x1p-8 : 16 * 0x1p-23;
    expect_near("state", args.new_state, expected.new_state, tolerance);
    if (lstm) expect_near("cell_state", args.new_cell_state, expected.new_cell_state, tolerance);
    if (S > 0) expect_near("saved", args.saved, expected.saved, tolerance);

    CellArgs unsaved = args;
    unsaved.new_state = source.output({B, H});
    unsaved.saved = {};
    kernels(kCpu).cell(stream(kCpu), unsaved);
    expect_same_bits("state without saved", unsaved.new_state, args.new_state);
  }
}

TEST_P(CellKernel, GradientsAgreeWithTheReferenceAndAccumulate) {
  const auto [cell, elements, precision] = GetParam();
  const int64_t G = gates_of(cell), S = saved_of(cell), B = 5, H = 37;
  const bool lstm = cell == Cell::kLstm;
  for (const bool some_absent : {false, true}) {
    Source source(elements);
    CellGradArgs args = {.cell = cell,
                         .state = source.elements({B, H}),
                         .cell_state = lstm ? source.elements({B, H}) : Tensor(),
                         .new_state = source.elements({B, H}, 0.3),
                         .new_cell_state = lstm ? source.elements({B, H}) : Tensor(),
                         .saved = S > 0 ? source.elements({B, S * H}, 0.3) : Tensor(),
                         .dnew_state = source.elements({B, H}),
                         .dnew_cell_state = lstm ? source.elements({B, H}) : Tensor(),
                         .dx_gates = source.elements({B, G * H}),
                         .dh_gates = source.elements({B, G * H}),
                         .dstate = source.elements({B, H}),
                         .dcell_state = lstm ? source.elements({B, H}) : Tensor()};
    if (some_absent) (lstm ? args.dnew_cell_state : args.dx_gates) = args.dstate = {};
    CellGradArgs expected = args;
    for (Tensor CellGradArgs::*field :
         {&CellGradArgs::state, &CellGradArgs::cell_state, &CellGradArgs::new_state, &CellGradArgs::new_cell_state,
          &CellGradArgs::saved, &CellGradArgs::dnew_state, &CellGradArgs::dnew_cell_state, &CellGradArgs::dx_gates,
          &CellGradArgs::dh_gates, &CellGradArgs::dstate, &CellGradArgs::dcell_state}) {
      expected.*field = on_reference(args.*field);
    }
    kernels(kCpu).cell_grad(stream(kCpu), args);
    kernels(kReference).cell_grad(stream(kReference), expected);
    const double tolerance = elements == DType::kBF16 ? 0x1p-8 : 16 * 0x1p-23;
    if (args.dx_gates) expect_near("dx_gates", args.dx_gates, expected.dx_gates, tolerance);
    expect_near("dh_gates", args.dh_gates, expected.dh_gates, tolerance);
    if (args.dstate) expect_near("dstate", args.dstate, expected.dstate, tolerance);
    if (lstm) expect_near("dcell_state", args.dcell_state, expected.dcell_state, tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CellKernel, testing::ValuesIn([] {
                           std::vector<Kind> some;
                           for (const Kind& kind : kinds()) {
                             if (kind.precision == Precision::kF32) some.push_back(kind);
                           }
                           return some;
                         }()),
                         name_of);

// ---- whole layers ------------------------------------------------------------------------------

struct LayerShape {
  int64_t T, B, H;
  bool reverse;
  bool whole;  // all optional tensors are given (lengths, initial states, bias), or none
};

std::vector<LayerShape> layer_shapes() {
  std::vector<LayerShape> shapes;
  for (const auto& [T, B, H] : {std::array<int64_t, 3>{3, 1, 1},
                                {1, 5, 7},
                                {0, 3, 4},
                                {4, 0, 5},
                                {6, 13, 31},
                                {5, 17, 64},
                                {2, 64, 96},
                                {4, 3, 127},
                                {3, 33, 33}}) {
    for (const bool reverse : {false, true}) {
      for (const bool whole : {false, true}) shapes.push_back({T, B, H, reverse, whole});
    }
  }
  return shapes;
}

struct Layer {
  RecurrentArgs forward;
  RecurrentGradArgs backward;
  std::vector<bool> present;  // [T*B], whether step t is within the sentence
};

Layer make_layer(const Kind& kind, const LayerShape& shape, bool shared_gates = false) {
  const auto [T, B, H, reverse, whole] = shape;
  const int64_t G = gates_of(kind.cell), S = saved_of(kind.cell);
  const bool lstm = kind.cell == Cell::kLstm;
  Source source(kind.elements);
  std::vector<int32_t> lengths(static_cast<size_t>(B));
  for (size_t b = 0; b < lengths.size(); ++b)
    lengths[b] = static_cast<int32_t>(static_cast<int64_t>(b * 5 + 2) % (T + 1));
  std::vector<bool> present;
  for (int64_t t = 0; t < T; ++t) {
    for (const int32_t length : lengths) present.push_back(!whole || t < length);
  }
  const Tensor given_lengths = whole ? from_host(lengths, {B}, kCpu) : Tensor();
  const Tensor weight = source.parameter({G * H, H}, 1 / std::sqrt(static_cast<double>(H)));
  const RecurrentArgs forward = {.cell = kind.cell,
                                 .x_gates = source.elements({T, B, G * H}),
                                 .weight = weight,
                                 .bias = whole ? source.parameter({G * H}, 0.3) : Tensor(),
                                 .initial_state = whole ? source.elements({B, H}, 0.5) : Tensor(),
                                 .initial_cell_state = whole && lstm ? source.elements({B, H}, 0.5) : Tensor(),
                                 .lengths = given_lengths,
                                 .states = source.output({T + 1, B, H}),
                                 .cell_states = lstm ? source.output({T + 1, B, H}) : Tensor(),
                                 .saved = S > 0 ? source.output({T, B, S * H}) : Tensor(),
                                 .reverse = reverse,
                                 .precision = kind.precision};
  const Tensor dh_gates = source.output({T, B, G * H});
  const RecurrentGradArgs backward = {.cell = kind.cell,
                                      .weight = weight,
                                      .lengths = given_lengths,
                                      .states = forward.states,
                                      .cell_states = forward.cell_states,
                                      .saved = forward.saved,
                                      .dstates = source.elements({T, B, H}),
                                      .dfinal_cell_state = whole && lstm ? source.elements({B, H}) : Tensor(),
                                      .dx_gates = shared_gates ? dh_gates : source.elements({T, B, G * H}),
                                      .dh_gates = dh_gates,
                                      .dinitial_state = whole ? source.elements({B, H}) : Tensor(),
                                      .dinitial_cell_state = whole && lstm ? source.elements({B, H}) : Tensor(),
                                      .reverse = reverse,
                                      .precision = kind.precision};
  return {forward, backward, present};
}

RecurrentArgs on_reference(const RecurrentArgs& args) {
  RecurrentArgs copy = args;
  for (Tensor RecurrentArgs::*field : {&RecurrentArgs::x_gates, &RecurrentArgs::weight, &RecurrentArgs::bias,
                                       &RecurrentArgs::initial_state, &RecurrentArgs::initial_cell_state,
                                       &RecurrentArgs::states, &RecurrentArgs::cell_states, &RecurrentArgs::saved}) {
    copy.*field = on_reference(args.*field);
  }
  return copy;
}

RecurrentGradArgs on_reference(const RecurrentGradArgs& args) {
  RecurrentGradArgs copy = args;
  for (Tensor RecurrentGradArgs::*field :
       {&RecurrentGradArgs::weight, &RecurrentGradArgs::states, &RecurrentGradArgs::cell_states,
        &RecurrentGradArgs::saved, &RecurrentGradArgs::dstates, &RecurrentGradArgs::dfinal_cell_state,
        &RecurrentGradArgs::dx_gates, &RecurrentGradArgs::dh_gates, &RecurrentGradArgs::dinitial_state,
        &RecurrentGradArgs::dinitial_cell_state}) {
    copy.*field = on_reference(args.*field);
  }
  if (args.dx_gates.raw() == args.dh_gates.raw()) copy.dx_gates = copy.dh_gates;
  return copy;
}

void expect_forward_agrees(const Layer& layer, const Kind& kind) {
  const RecurrentArgs expected = on_reference(layer.forward);
  kernels(kCpu).recurrent(stream(kCpu), layer.forward);
  kernels(kReference).recurrent(stream(kReference), expected);
  expect_near("states", layer.forward.states, expected.states, kind.tolerance());
  if (expected.cell_states)
    expect_near("cell_states", layer.forward.cell_states, expected.cell_states, 2 * kind.tolerance());
  if (expected.saved) expect_near("saved", layer.forward.saved, expected.saved, 2 * kind.tolerance(), layer.present);
}

// Backward starts from the CPU's own forward pass, so that only its own errors are compared.
void expect_backward_agrees(const Layer& layer, const Kind& kind) {
  const RecurrentGradArgs expected = on_reference(layer.backward);
  kernels(kCpu).recurrent_grad(stream(kCpu), layer.backward);
  kernels(kReference).recurrent_grad(stream(kReference), expected);
  expect_near("dh_gates", layer.backward.dh_gates, expected.dh_gates, kind.tolerance());
  expect_near("dx_gates", layer.backward.dx_gates, expected.dx_gates, kind.tolerance());
  if (expected.dinitial_state) {
    expect_near("dinitial_state", layer.backward.dinitial_state, expected.dinitial_state, kind.tolerance());
  }
  if (expected.dinitial_cell_state) {
    expect_near("dinitial_cell_state", layer.backward.dinitial_cell_state, expected.dinitial_cell_state,
                kind.tolerance());
  }
}

class RecurrentKernel : public testing::TestWithParam<Kind> {};

TEST_P(RecurrentKernel, AgreesWithTheReference) {
  for (const LayerShape& shape : layer_shapes()) {
    SCOPED_TRACE(
        fmt::format("T {} B {} H {} reverse {} whole {}", shape.T, shape.B, shape.H, shape.reverse, shape.whole));
    const Layer layer = make_layer(GetParam(), shape);
    expect_forward_agrees(layer, GetParam());
    expect_backward_agrees(layer, GetParam());
  }
}

TEST_P(RecurrentKernel, TheGatesOfTanhAndLstmMayShareOneGradient) {
  if (GetParam().cell == Cell::kGru) return;  // the two gradients of gru differ
  const Layer layer = make_layer(GetParam(), {.T = 4, .B = 5, .H = 19, .reverse = true, .whole = true}, true);
  kernels(kCpu).recurrent(stream(kCpu), layer.forward);
  expect_backward_agrees(layer, GetParam());
}

TEST_P(RecurrentKernel, StatesDoNotDependOnWhatIsSaved) {
  const Layer layer = make_layer(GetParam(), {.T = 4, .B = 5, .H = 19, .reverse = false, .whole = true});
  kernels(kCpu).recurrent(stream(kCpu), layer.forward);
  RecurrentArgs unsaved = layer.forward;
  unsaved.saved = {};
  unsaved.states = empty_like(layer.forward.states);
  kernels(kCpu).recurrent(stream(kCpu), unsaved);
  expect_same_bits("states", unsaved.states, layer.forward.states);
}

TEST_P(RecurrentKernel, RepacksAWeightThatHasChanged) {
  const LayerShape shape = {.T = 2, .B = 4, .H = 40, .reverse = false, .whole = false};
  const Layer layer = make_layer(GetParam(), shape);
  expect_forward_agrees(layer, GetParam());
  expect_backward_agrees(layer, GetParam());
  float* weight = layer.forward.weight.data<float>();
  for (int64_t i = 0; i < layer.forward.weight.size(); ++i) weight[i] *= -0.5f;
  layer.forward.weight.contents_changed();
  expect_forward_agrees(layer, GetParam());
  expect_backward_agrees(layer, GetParam());
}

TEST_P(RecurrentKernel, TakesAWeightInAnArena) {
  Arena arena(kCpu);
  const ArenaScope scope(&arena);
  for (int pass = 0; pass < 2; ++pass) {
    arena.rewind();
    const Layer layer = make_layer(GetParam(), {.T = 3, .B = 4, .H = 45, .reverse = false, .whole = true});
    ASSERT_EQ(layer.forward.weight.buffer(), nullptr);
    expect_forward_agrees(layer, GetParam());
    expect_backward_agrees(layer, GetParam());
  }
}

TEST_P(RecurrentKernel, RunsOnEveryInstructionSetAndBf16Kernel) {
  const LayerShape shape = {.T = 3, .B = 18, .H = 45, .reverse = true, .whole = true};
  on_every_target([&] {
    const Layer layer = make_layer(GetParam(), shape);
    expect_forward_agrees(layer, GetParam());
    expect_backward_agrees(layer, GetParam());
  });
  const cpu::Bf16Kernel before = cpu::bf16_kernel();
  for (const auto kernel : {cpu::Bf16Kernel::kNone, cpu::Bf16Kernel::kEmulated, cpu::Bf16Kernel::kAvx512}) {
    if (!cpu::available(kernel)) continue;
    SCOPED_TRACE(cpu::name_of(kernel));
    cpu::set_bf16_kernel(kernel);
    const Layer layer = make_layer(GetParam(), shape);
    expect_forward_agrees(layer, GetParam());
    expect_backward_agrees(layer, GetParam());
  }
  cpu::set_bf16_kernel(before);
}

TEST_P(RecurrentKernel, BitsDoNotDependOnTheNumberOfThreads) {
  const int before = thread_count();
  for (const LayerShape& shape : {LayerShape{4, 13, 75, false, true}, LayerShape{3, 64, 256, true, true}}) {
    std::vector<Layer> runs;
    for (const int threads : {1, 2, 3, 7}) {
      set_thread_count(threads);
      const Layer layer = make_layer(GetParam(), shape);
      kernels(kCpu).recurrent(stream(kCpu), layer.forward);
      kernels(kCpu).recurrent_grad(stream(kCpu), layer.backward);
      runs.push_back(layer);
    }
    for (const Layer& run : runs) {
      expect_same_bits("states", run.forward.states, runs[0].forward.states);
      expect_same_bits("cell_states", run.forward.cell_states, runs[0].forward.cell_states);
      expect_same_bits("saved", run.forward.saved, runs[0].forward.saved);
      expect_same_bits("dx_gates", run.backward.dx_gates, runs[0].backward.dx_gates);
      expect_same_bits("dh_gates", run.backward.dh_gates, runs[0].backward.dh_gates);
      expect_same_bits("dinitial_state", run.backward.dinitial_state, runs[0].backward.dinitial_state);
      expect_same_bits("dinitial_cell_state", run.backward.dinitial_cell_state, runs[0].backward.dinitial_cell_state);
    }
  }
  set_thread_count(before);
}

INSTANTIATE_TEST_SUITE_P(All, RecurrentKernel, testing::ValuesIn(kinds()), name_of);

}  // namespace
}  // namespace fovea
