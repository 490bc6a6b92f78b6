// One or several recurrent layers in one persistent kernel for all steps. Each block has some hidden units, with the
// columns of the weight for all gates of these units, and some sentences. In each step it multiplies the states of its
// sentences by its columns, applies the cell, writes the new states of its units and synchronises with the blocks that
// have the same sentences.
#include "kernels/cuda/recurrent/cell_math.h"
#include "kernels/cuda/recurrent/persistent_layer.h"

namespace fovea::cuda {

namespace {

struct Layer {
  const bf16 *x_gates, *weight, *initial_state, *initial_cell_state;
  const float* bias;
  const int32_t* lengths;
  bf16 *states, *cell_states, *saved;
  bool reverse;
};
struct Layers {
  Layer each[kMaxLayers];
  int steps, batch, hidden, tiles, buffers;
  unsigned* barriers;  // one for each layer and tile of sentences
};

template <Cell kCell, int kUnits, int kRows> class Block {
  static constexpr int kGates = static_cast<int>(gates_of(kCell)), kSaved = static_cast<int>(saved_of(kCell));
  static constexpr bool kHasCellState = kCell == Cell::kLstm;
  static constexpr int kColumns = kGates * kUnits;
  using Product = PersistentGemm<kRows, kColumns>;
  using Own = Share<kUnits, kRows>;

 public:
  __device__ explicit Block(const Layers& x)
      : x_(x),
        layer_(x.each[blockIdx.z]),
        steps_{x.steps, layer_.reverse},
        own_{x.batch, x.hidden, x.tiles},
        weight_(shared_memory<Pairs>()),
        parts_(reinterpret_cast<Two*>(weight_at<kColumns>(weight_, (x.hidden + kChunk - 1) / kChunk, 0, 0))) {}

  __device__ void run() {
    load_weight();
    load_bias();
    begin();
    __syncthreads();
    for (int k = 0; k < x_.steps; ++k) {
      for (int tile = 0; tile < x_.tiles && own_.rows_of(tile) > 0; ++tile) step(k, tile);
    }
  }

 private:
  struct Item {  // the inputs of a step for a pair of units, then its outputs
    uint32_t in[kGates], state, cell_state, saved[kSaved + 1];
    bool exists, active;  // whether the sentence exists, and whether it has not ended
  };

  __device__ int64_t state_size() const { return int64_t{x_.batch} * x_.hidden; }

  // The columns are ordered by gate, then by unit of the block.
  __device__ void load_weight() {
    const int chunks = (x_.hidden + kChunk - 1) / kChunk;
    for (int i = static_cast<int>(threadIdx.x); i < chunks * (kColumns / 8) * kWarp; i += kPersistentThreads) {
      const int lane = i % kWarp, piece = i / kWarp % (kColumns / 8), chunk = i / kWarp / (kColumns / 8);
      const int gate = piece / (kUnits / 8), unit = own_.first_unit() + piece % (kUnits / 8) * 8 + lane / 4;
      const int k = chunk * kChunk + lane % 4 * kVector;
      const bool inside = unit < x_.hidden && k < x_.hidden;
      weight_[i] = inside ? load_pairs(layer_.weight + (int64_t{gate} * x_.hidden + unit) * x_.hidden + k) : Pairs{};
    }
  }
  __device__ void load_bias() {
#pragma unroll
    for (int i = 0; i < 2 * kGates; ++i) {
      const bool inside = layer_.bias != nullptr && own_.unit() < x_.hidden;
      bias_[i / 2][i % 2] = inside ? layer_.bias[int64_t{i / 2} * x_.hidden + own_.unit() + i % 2] : 0.0f;
    }
  }
  // Writes the states before the first step.
  __device__ void begin() {
    const auto copy = [&](const bf16* from, bf16* to, int64_t at) {
      store_pair(to + steps_.first() * state_size() + at, from != nullptr ? load_pair(from + at) : 0);
    };
    for (int tile = 0; tile < x_.tiles; ++tile) {
      for (int item = 0; item < Own::kItems; ++item) {
        if (!own_.has(tile, item)) continue;
        copy(layer_.initial_state, layer_.states, own_.at(tile, item));
        if constexpr (kHasCellState) copy(layer_.initial_cell_state, layer_.cell_states, own_.at(tile, item));
      }
    }
  }

  __device__ void step(int k, int tile) {
    const int64_t t = steps_.time(k);
    Item items[Own::kItems];
#pragma unroll
    for (int i = 0; i < Own::kItems; ++i) items[i] = read(t, tile, i);  // overlaps with waiting for the other blocks
    const BlockBarrier barrier = own_barrier(x_.barriers, x_.tiles, tile);
    if (k > 0) barrier.wait(static_cast<unsigned>(k));
    const bool product = k > 0 || layer_.initial_state != nullptr;
    if (product) {
      // Before the first step there is no barrier, so the initial states are read from their source, not from the
      // copies.
      const bf16* states = k > 0 ? layer_.states + steps_.before(t) * state_size() : layer_.initial_state;
      Product sums;
      sums.multiply(states + own_.first_sentence(tile) * x_.hidden, own_.rows_of(tile), x_.hidden, weight_);
      sums.gather(parts_, x_.buffers);
    }
#pragma unroll
    for (int i = 0; i < Own::kItems; ++i) finish(t, tile, i, items[i], product);
    if (k + 1 < x_.steps) barrier.arrive();
#pragma unroll
    for (int i = 0; i < Own::kItems; ++i)
      write_saved(t, tile, i, items[i]);  // after the barrier, because no other block reads these values
  }

  __device__ Item read(int64_t t, int tile, int item) const {
    Item x = {.exists = own_.has(tile, item), .active = false};
    if (!x.exists) return x;
    const int64_t b = own_.sentence(tile, item), at = steps_.before(t) * state_size() + own_.at(tile, item);
    x.active = layer_.lengths == nullptr || t < layer_.lengths[b];
    x.state = load_pair(layer_.states + at);
    if constexpr (kHasCellState) x.cell_state = load_pair(layer_.cell_states + at);
    const bf16* in = layer_.x_gates + t * kGates * state_size() + own_.at(tile, item, kGates);
#pragma unroll
    for (int g = 0; g < kGates; ++g) x.in[g] = load_pair(in + g * x_.hidden);
    return x;
  }

  __device__ void finish(int64_t t, int tile, int item, Item& x, bool product) {
    if (!x.exists) return;
    const int64_t at = steps_.after(t) * state_size() + own_.at(tile, item);
    if (!x.active) return store_pair(layer_.states + at, x.state);
    const int row = own_.row(item), column = own_.column();
    Two own[kGates];
#pragma unroll
    for (int g = 0; g < kGates; ++g) {
      own[g] = {};
      if (product) own[g] = Product::sum(parts_, x_.buffers, row, g * (kUnits / 8) + column / 8, column % 8);
    }
    CellResult y[2];
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      float in[kGates], mine[kGates];
#pragma unroll
      for (int g = 0; g < kGates; ++g) {
        in[g] = half_of(x.in[g], e);
        mine[g] = (e == 0 ? own[g].x : own[g].y) + bias_[g][e];
      }
      y[e] = step_values<kCell>(in, mine, half_of(x.state, e), kHasCellState ? half_of(x.cell_state, e) : 0.0f);
    }
    store_pair(layer_.states + at, pack(y[0].state, y[1].state));
    if constexpr (kHasCellState) x.cell_state = pack(y[0].cell_state, y[1].cell_state);
#pragma unroll
    for (int s = 0; s < kSaved; ++s) x.saved[s] = pack(y[0].saved[s], y[1].saved[s]);
  }

  __device__ void write_saved(int64_t t, int tile, int item, const Item& x) {
    if (!x.exists) return;
    if constexpr (kHasCellState)
      store_pair(layer_.cell_states + steps_.after(t) * state_size() + own_.at(tile, item), x.cell_state);
    if (kSaved == 0 || layer_.saved == nullptr || !x.active) return;
    bf16* saved = layer_.saved + t * kSaved * state_size() + own_.at(tile, item, kSaved);
#pragma unroll
    for (int s = 0; s < kSaved; ++s) store_pair(saved + s * x_.hidden, x.saved[s]);
  }

  const Layers& x_;
  const Layer& layer_;
  Steps steps_;
  Own own_;
  Pairs* weight_;
  Two* parts_;
  float bias_[kGates][2];
};

template <Cell kCell, int kUnits, int kRows>
__global__ __launch_bounds__(kPersistentThreads, 1) void layers_kernel(const __grid_constant__ Layers x) {
  Block<kCell, kUnits, kRows>(x).run();
}

bool supports(const RecurrentArgs& args, const RecurrentArgs& first) {
  if (args.states.dtype() != DType::kBF16 || args.precision != Precision::kBF16) return false;
  if (args.cell != first.cell || args.states.shape() != first.states.shape()) return false;
  return are_packed({args.x_gates.raw(), args.initial_state.raw(), args.initial_cell_state.raw(), args.states.raw(),
                     args.cell_states.raw(), args.saved.raw()});
}

}  // namespace

bool persistent_layers(Stream& stream, std::span<const RecurrentArgs> all) {
  if (all.empty() || all.size() > kMaxLayers) return false;
  const RecurrentArgs& first = all.front();
  if (!std::ranges::all_of(all, [&](const RecurrentArgs& args) { return supports(args, first); })) return false;
  const int64_t T = first.states.dim(0) - 1, B = first.states.dim(1), H = first.states.dim(2);
  const std::vector<PersistentPlan> plans = plans_of(stream, T,
                                                     {.layers = static_cast<int64_t>(all.size()),
                                                      .batch = B,
                                                      .hidden = H,
                                                      .depth = H,
                                                      .width = gates_of(first.cell),
                                                      .carried = 0});
  if (plans.empty()) return false;

  Layers x = {.steps = static_cast<int>(T), .batch = static_cast<int>(B), .hidden = static_cast<int>(H)};
  for (size_t i = 0; i < all.size(); ++i) {
    const RecurrentArgs& args = all[i];
    const Factor weight = weight_factor(args.weight, DType::kBF16, args.precision);
    if (weight.dtype != DType::kBF16 || !is_packed(weight.data)) return false;
    x.each[i] = {.x_gates = args.x_gates.data<bf16>(),
                 .weight = static_cast<const bf16*>(weight.data),
                 .initial_state = args.initial_state.data<bf16>(),
                 .initial_cell_state = args.initial_cell_state.data<bf16>(),
                 .bias = args.bias.data<float>(),
                 .lengths = args.lengths.data<int32_t>(),
                 .states = args.states.data<bf16>(),
                 .cell_states = args.cell_states.data<bf16>(),
                 .saved = args.saved.data<bf16>(),
                 .reverse = args.reverse};
  }
  return std::ranges::any_of(plans, [&](const PersistentPlan& plan) {
    bool fits = false;
    with_cell(first.cell, [&](auto cell) {
      with_block(plan, [&](auto units, auto rows) {
        fits = launch_persistent(stream, layers_kernel<cell(), units(), rows()>, plan, x);
      });
    });
    return fits;
  });
}

}  // namespace fovea::cuda
