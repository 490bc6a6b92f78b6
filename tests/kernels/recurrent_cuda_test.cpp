// Recurrent layers in one persistent kernel: every size of block, sentences in several tiles and fewer than a tile,
// units that do not fill a slice, all optional tensors, and two concurrent layers.
#include "kernels/card.h"
#include "kernels/cuda/recurrent/recurrent_layer.h"

namespace fovea::testing {
namespace {

struct Form {
  Cell cell;
  int64_t T, B, H;
  bool reverse, lengths, initial, bias, shared;

  std::string name() const {
    return fmt::format("cell {} T{} B{} H{} reverse {} lengths {} initial {} bias {} shared {}", static_cast<int>(cell),
                       T, B, H, reverse, lengths, initial, bias, shared);
  }
};

RecurrentArgs make_forward(Maker& make, const Form& f) {
  const int64_t G = gates_of(f.cell), S = saved_of(f.cell);
  const bool lstm = f.cell == Cell::kLstm;
  std::vector<int32_t> ends(static_cast<size_t>(f.B));
  for (size_t b = 0; b < ends.size(); ++b) {
    ends[b] = static_cast<int32_t>(static_cast<int64_t>(b * 5 + 2) % (f.T + 1));
  }
  return {.cell = f.cell,
          .x_gates = make.elements({f.T, f.B, G * f.H}),
          .weight = make.parameter({G * f.H, f.H}, 1 / std::sqrt(static_cast<double>(f.H))),
          .bias = f.bias ? make.parameter({G * f.H}, 0.3) : Tensor(),
          .initial_state = f.initial ? make.elements({f.B, f.H}, 0.5) : Tensor(),
          .initial_cell_state = f.initial && lstm ? make.elements({f.B, f.H}, 0.5) : Tensor(),
          .lengths = f.lengths ? make.ints(ends) : Tensor(),
          .states = make.output({f.T + 1, f.B, f.H}),
          .cell_states = lstm ? make.output({f.T + 1, f.B, f.H}) : Tensor(),
          .saved = S > 0 ? make.output({f.T, f.B, S * f.H}) : Tensor(),
          .reverse = f.reverse,
          .precision = Precision::kBF16};
}
RecurrentGradArgs make_backward(Maker& make, const Form& f, const RecurrentArgs& x) {
  const int64_t G = gates_of(f.cell);
  const bool lstm = f.cell == Cell::kLstm;
  const Tensor dh_gates = make.output({f.T, f.B, G * f.H});
  return {.cell = f.cell,
          .weight = x.weight,
          .lengths = x.lengths,
          .states = x.states,
          .cell_states = x.cell_states,
          .saved = x.saved,
          .dstates = make.elements({f.T, f.B, f.H}),
          .dfinal_cell_state = f.bias && lstm ? make.elements({f.B, f.H}) : Tensor(),
          .dx_gates = f.shared && f.cell != Cell::kGru ? dh_gates : make.elements({f.T, f.B, G * f.H}),
          .dh_gates = dh_gates,
          .dinitial_state = f.initial ? make.elements({f.B, f.H}) : Tensor(),
          .dinitial_cell_state = f.initial && lstm ? make.elements({f.B, f.H}) : Tensor(),
          .reverse = f.reverse,
          .precision = Precision::kBF16};
}

// Independent layers, forward and backward, through the functions for several layers.
Problem side_by_side(const std::vector<Form>& forms) {
  return [forms](Maker& make) {
    std::vector<RecurrentArgs> x;
    for (const Form& form : forms) x.push_back(make_forward(make, form));
    if (make.on_card()) {
      cuda::layers(make.queue(), x);
    } else {
      for (const RecurrentArgs& args : x) make.table().recurrent(make.queue(), args);
    }
    std::vector<RecurrentGradArgs> d;
    for (size_t i = 0; i < forms.size(); ++i) d.push_back(make_backward(make, forms[i], x[i]));
    if (make.on_card()) {
      cuda::layers_grad(make.queue(), d);
    } else {
      for (const RecurrentGradArgs& args : d) make.table().recurrent_grad(make.queue(), args);
    }
    std::vector<Tensor> outputs;
    for (size_t i = 0; i < forms.size(); ++i) {
      for (const Tensor& y : {x[i].states, x[i].cell_states, d[i].dx_gates, d[i].dh_gates, d[i].dinitial_state,
                              d[i].dinitial_cell_state}) {
        outputs.push_back(y);
      }
    }
    return outputs;
  };
}

class PersistentLayer : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!available(Device::cuda())) GTEST_SKIP() << "no card here";
    cuda::persistent_limits = {.min_sentences = 1, .min_steps = 1};
  }
  void TearDown() override { cuda::persistent_limits = {}; }

  // Forward and backward take one launch each, in both runs on the device.
  static void expect_persistent(const std::vector<Form>& forms) {
    const int64_t before = cuda::persistent_launches;
    std::string name;
    for (const Form& form : forms) name += form.name() + "; ";
    name += fmt::format("blocks of {} by {}", cuda::persistent_limits.units, cuda::persistent_limits.rows);
    expect_right(name, DType::kBF16, 6 * kBf16, side_by_side(forms));
    EXPECT_EQ(cuda::persistent_launches - before, 4) << name;
  }
};

TEST_F(PersistentLayer, EverySizeOfBlockAgreesWithTheReference) {
  struct Size {
    int64_t T, B, H;
  };
  const Size sizes[] = {{1, 1, 16}, {2, 5, 32}, {3, 17, 48}, {7, 33, 64}, {4, 70, 40}, {5, 16, 24}, {2, 9, 8}};
  int n = 0;
  for (const auto& [T, B, H] : sizes) {
    for (int form = 0; form < 12; ++form, ++n) {
      cuda::persistent_limits.units = n % 2 != 0 ? 16 : 32;
      cuda::persistent_limits.rows = n / 2 % 2 != 0 ? 16 : 32;
      // The optional tensors in varying combinations.
      const int bits = (n * 7 + form) % 32;
      expect_persistent({{.cell = static_cast<Cell>(form % 3),
                          .T = T,
                          .B = B,
                          .H = H,
                          .reverse = (bits & 1) != 0,
                          .lengths = (bits & 2) != 0,
                          .initial = (bits & 4) != 0,
                          .bias = (bits & 8) != 0,
                          .shared = (bits & 16) != 0}});
    }
  }
}

TEST_F(PersistentLayer, FewBlocksTakeSeveralTiles) {
  for (const Cell cell : {Cell::kTanh, Cell::kGru, Cell::kLstm}) {
    cuda::persistent_limits.units = cuda::persistent_limits.rows = 16;
    cuda::persistent_limits.max_blocks = 7;
    // Five tiles for two blocks of three: the last block has nothing to do in its last tile.
    expect_persistent({{.cell = cell, .T = 4, .B = 70, .H = 48, .lengths = true, .initial = true, .bias = true}});
    cuda::persistent_limits.max_blocks = 3;
    expect_persistent({{.cell = cell, .T = 3, .B = 41, .H = 48, .reverse = true}});
  }
}

TEST_F(PersistentLayer, SumsFitIntoRemainingSharedMemory) {
  for (const Cell cell : {Cell::kTanh, Cell::kGru, Cell::kLstm}) {
    const int64_t G = gates_of(cell), H = 40;
    cuda::persistent_limits.units = cuda::persistent_limits.rows = 16;
    for (const int64_t parts : {1, 2, 4}) {
      const int64_t forward = 64 * G * 16 * 2 + parts * 16 * G * 16 * 4;
      const int64_t backward = (G * H + 31) / 32 * 32 * 16 * 2 + parts * 16 * 16 * 4 + 2 * 2048;
      cuda::persistent_limits.max_shared = std::max(forward, backward);
      expect_persistent({{.cell = cell, .T = 3, .B = 16, .H = H, .initial = true, .bias = true}});
    }
  }
}

TEST_F(PersistentLayer, ClustersShareTheirSums) {
  for (const Cell cell : {Cell::kTanh, Cell::kGru, Cell::kLstm}) {
    for (const int cluster : {2, 4}) {
      cuda::persistent_limits.units = 32;
      cuda::persistent_limits.cluster = cluster;
      cuda::persistent_limits.rows = 16;
      cuda::persistent_limits.max_blocks = 8;  // three tiles, two of them in one block
      expect_persistent({{.cell = cell, .T = 3, .B = 35, .H = 128, .lengths = true, .initial = true, .bias = true}});
      cuda::persistent_limits.rows = 32;
      expect_persistent({{.cell = cell, .T = 3, .B = 20, .H = 120, .reverse = true, .shared = true}});
    }
  }
}

TEST_F(PersistentLayer, ConcurrentLayers) {
  for (const Cell cell : {Cell::kTanh, Cell::kGru, Cell::kLstm}) {
    Form there = {.cell = cell, .T = 5, .B = 20, .H = 64, .lengths = true, .initial = true, .bias = true};
    Form back = {.cell = cell, .T = 5, .B = 20, .H = 64, .reverse = true, .lengths = true, .shared = true};
    expect_persistent({there, back});
    expect_persistent({there, back, there, back});
  }
}

TEST_F(PersistentLayer, WithoutSavedValues) {
  for (const Cell cell : {Cell::kGru, Cell::kLstm}) {
    const Form form = {.cell = cell, .T = 3, .B = 19, .H = 32, .initial = true, .bias = true};
    expect_right(form.name(), DType::kBF16, 6 * kBf16, [&](Maker& make) -> std::vector<Tensor> {
      RecurrentArgs x = make_forward(make, form);
      x.saved = {};
      make.table().recurrent(make.queue(), x);
      return {x.states, x.cell_states};
    });
  }
}

TEST_F(PersistentLayer, UnsupportedSizesFallBackToSteps) {
  const auto expect_steps = [](const std::vector<Form>& forms, DType elements) {
    const int64_t before = cuda::persistent_launches;
    expect_right(forms[0].name(), elements, 6 * kBf16, side_by_side(forms));
    EXPECT_EQ(cuda::persistent_launches, before);
  };
  expect_steps({{.cell = Cell::kGru, .T = 3, .B = 9, .H = 20}}, DType::kBF16);  // unaligned rows
  expect_steps({{.cell = Cell::kGru, .T = 3, .B = 9, .H = 16}}, DType::kF32);
  cuda::persistent_limits.max_blocks = 1;
  expect_steps({{.cell = Cell::kGru, .T = 3, .B = 9, .H = 64}}, DType::kBF16);  // more units than a block has
  cuda::persistent_limits = {};
  expect_steps({{.cell = Cell::kGru, .T = 1, .B = 9, .H = 16}}, DType::kBF16);
  expect_steps({{.cell = Cell::kGru, .T = 3, .B = 7, .H = 16}}, DType::kBF16);
  expect_steps({{.cell = Cell::kGru, .T = 0, .B = 9, .H = 16}}, DType::kBF16);
}

}  // namespace
}  // namespace fovea::testing
