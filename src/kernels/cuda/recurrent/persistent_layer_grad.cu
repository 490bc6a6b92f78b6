// The gradient of persistent_layer.cu, with the steps in reverse order. Each block has some hidden units, with their
// columns of the weight, and some sentences. In each step it multiplies the gate gradients of its sentences, which the
// following step has written, by its columns, adds the other gradients of its states, computes the gradient of the
// cell, writes the gate gradients of its units and synchronises with the blocks that have the same sentences. There are
// more gates than units, so that reading the gate gradients dominates: the blocks of a cluster each read a part of them
// and share the sums.
#include "kernels/cuda/recurrent/cell_math.h"
#include "kernels/cuda/recurrent/persistent_layer.h"

namespace fovea::cuda {

namespace {

struct LayerGrad {
  const bf16 *weight, *states, *cell_states, *saved, *dstates, *dfinal_cell_state;
  const int32_t* lengths;
  bf16 *dx_gates, *dh_gates, *dinitial_state,
      *dinitial_cell_state;  // dx_gates is null if it is the same tensor as dh_gates
  bool reverse;
};
struct LayersGrad {
  LayerGrad each[kMaxLayers];
  int steps, batch, hidden, tiles, buffers;
  unsigned* barriers;
};

template <Cell kCell, int kUnits, int kRows, int kCluster> class BlockGrad {
  static constexpr int kGates = static_cast<int>(gates_of(kCell)), kSaved = static_cast<int>(saved_of(kCell));
  static constexpr bool kHasCellState = kCell == Cell::kLstm;
  static constexpr int kColumns = kCluster * kUnits;  // columns of the whole cluster
  using Product = PersistentGemm<kRows, kColumns>;
  using Own = Share<kUnits, kRows>;

 public:
  __device__ explicit BlockGrad(const LayersGrad& x)
      : x_(x),
        layer_(x.each[blockIdx.z]),
        steps_{x.steps, layer_.reverse},
        own_{x.batch, x.hidden, x.tiles},
        rank_(static_cast<int>(blockIdx.x) % kCluster),
        weight_(shared_memory<Pairs>()),
        parts_(reinterpret_cast<Two*>(weight_at<kColumns>(weight_, own_chunks<kCluster>(depth(), 0), 0, 0))),
        carried_(parts_ + x.buffers * Product::kPart) {}

  __device__ void run() {
    load_weight();
    for_items([&](int tile, int item) {
      const bool given = kHasCellState && layer_.dfinal_cell_state != nullptr;
      carried_state(tile, item) = {};
      if constexpr (kHasCellState) {
        carried_cell_state(tile, item) =
            given ? two_of(load_pair(layer_.dfinal_cell_state + own_.at(tile, item))) : Two{0.0f, 0.0f};
      }
    });
    for (int k = x_.steps - 1; k >= 0; --k) {
      for (int tile = 0; tile < x_.tiles && own_.rows_of(tile) > 0; ++tile) step(k, tile);
    }
    if (layer_.dinitial_state != nullptr) finish_states();
    if (kHasCellState && layer_.dinitial_cell_state != nullptr) {
      for_items([&](int tile, int item) {
        add_pair(layer_.dinitial_cell_state + own_.at(tile, item), carried_cell_state(tile, item));
      });
    }
    if constexpr (kCluster > 1) sync_cluster();  // shared memory must stay valid until the other blocks have read it
  }

 private:
  struct Item {  // the inputs of a step for a pair of units
    uint32_t saved[kSaved + 1], dstate;
    uint32_t dx[kGates];  // accumulated in place
    uint32_t past[2];     // new state for tanh; old state for gru; old and new cell state for lstm
    bool exists, active;  // whether the sentence exists, and whether it has not ended
  };

  __device__ static Two two_of(uint32_t pair) { return {low_of(pair), high_of(pair)}; }
  __device__ static void add_pair(bf16* to, const Two& x) {
    const uint32_t old = load_pair(to);
    store_pair(to, pack(low_of(old) + x.x, high_of(old) + x.y));
  }
  __device__ int depth() const { return kGates * x_.hidden; }
  __device__ int64_t state_size() const { return int64_t{x_.batch} * x_.hidden; }

  // The gradients of the state and cell state that a step passes to the previous step, without the contribution through
  // the weight.
  __device__ Two& carried(int which, int tile, int item) {
    return carried_[((which * x_.tiles + tile) * Own::kItems + item) * kPersistentThreads +
                    static_cast<int>(threadIdx.x)];
  }
  __device__ Two& carried_state(int tile, int item) { return carried(0, tile, item); }
  __device__ Two& carried_cell_state(int tile, int item) { return carried(1, tile, item); }

  template <class Body> __device__ void for_items(Body&& body) {
    for (int tile = 0; tile < x_.tiles; ++tile) {
      for (int item = 0; item < Own::kItems; ++item) {
        if (own_.has(tile, item)) body(tile, item);
      }
    }
  }

  // The weight is stored by rows, but a lane needs eight elements of one column, so blocks of 8x8 are transposed.
  __device__ void load_weight() {
    const int chunks = own_chunks<kCluster>(depth(), rank_);
    for (int i = static_cast<int>(threadIdx.x); i < chunks * (kColumns / 8) * 4; i += kPersistentThreads) {
      const int quarter = i % 4, piece = i / 4 % (kColumns / 8), chunk = i / 4 / (kColumns / 8);
      const int k = (chunk * kCluster + rank_) * kChunk + quarter * kVector;
      const int unit = own_.first_unit() - rank_ * kUnits + piece * 8;
      const bool inside = k < depth() && unit < x_.hidden;
      Pairs rows[kVector];
#pragma unroll
      for (int r = 0; r < kVector; ++r) {
        rows[r] = inside ? load_pairs(layer_.weight + int64_t{k + r} * x_.hidden + unit) : Pairs{};
      }
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        Pairs column;
#pragma unroll
        for (int p = 0; p < 4; ++p) {
          const auto of = [&](int r) { return rows[r].pair[n / 2] >> (n % 2 * 16) & 0xFFFFu; };
          column.pair[p] = of(2 * p) | of(2 * p + 1) << 16;
        }
        *weight_at<kColumns>(weight_, chunk, piece, n * 4 + quarter) = column;
      }
    }
  }

  // Computes the gradient of the states before step k through the weight.
  __device__ void multiply(int k, int tile) {
    const bf16* gates = layer_.dh_gates + steps_.time(k) * kGates * state_size();
    Product sums;
    sums.template multiply<kCluster>(gates + own_.first_sentence(tile) * depth(), own_.rows_of(tile), depth(), weight_,
                                     rank_);
    if constexpr (kCluster > 1) {
      if (x_.tiles > 1)
        sync_cluster();  // the other blocks have read the previous sums; with a single tile, the barrier of the step
                         // ensures it
    }
    sums.gather(parts_, x_.buffers);
    if constexpr (kCluster > 1) sync_cluster();
  }
  __device__ Two product_at(int item) const {
    const int column = rank_ * kUnits + own_.column();
    Two total = {0.0f, 0.0f};
#pragma unroll
    for (int rank = 0; rank < kCluster; ++rank) {
      const Two* parts = kCluster > 1 ? peer_address(parts_, rank) : parts_;
      const Two sum = Product::sum(parts, x_.buffers, own_.row(item), column / 8, column % 8);
      total = {total.x + sum.x, total.y + sum.y};
    }
    return total;
  }

  __device__ void step(int k, int tile) {
    const int64_t t = steps_.time(k);
    Item items[Own::kItems];
#pragma unroll
    for (int i = 0; i < Own::kItems; ++i) items[i] = read(t, tile, i);  // overlaps with waiting for the other blocks
    const int after = x_.steps - 1 - k;
    const BlockBarrier barrier = own_barrier(x_.barriers, x_.tiles, tile);
    const bool product = after > 0;
    if (product) {
      barrier.wait(static_cast<unsigned>(after));
      multiply(k + 1, tile);
    }
#pragma unroll
    for (int i = 0; i < Own::kItems; ++i) {
      if (!items[i].exists) continue;
      const Two carried = carried_state(tile, i), from_weight = product ? product_at(i) : Two{0.0f, 0.0f};
      const float dnew[2] = {low_of(items[i].dstate) + carried.x + from_weight.x,
                             high_of(items[i].dstate) + carried.y + from_weight.y};
      finish(t, tile, i, items[i], dnew);
    }
    if (k > 0 || layer_.dinitial_state != nullptr) barrier.arrive();
    if (layer_.dx_gates == nullptr) return;
#pragma unroll
    for (int i = 0; i < Own::kItems; ++i) {  // after the barrier, because no other block reads these values
      if (!items[i].exists || !items[i].active) continue;
      bf16* dx = layer_.dx_gates + t * kGates * state_size() + own_.at(tile, i, kGates);
#pragma unroll
      for (int g = 0; g < kGates; ++g) store_pair(dx + g * x_.hidden, items[i].dx[g]);
    }
  }

  __device__ Item read(int64_t t, int tile, int item) const {
    Item x = {.exists = own_.has(tile, item), .active = false};
    if (!x.exists) return x;
    x.active = layer_.lengths == nullptr || t < layer_.lengths[own_.sentence(tile, item)];
    const int64_t at = own_.at(tile, item), now = t * state_size() + at;
    if (layer_.dstates != nullptr) x.dstate = load_pair(layer_.dstates + now);
    if (!x.active) return x;
    const int64_t before = steps_.before(t) * state_size() + at, after = steps_.after(t) * state_size() + at;
    if constexpr (kCell == Cell::kTanh) x.past[0] = load_pair(layer_.states + after);
    if constexpr (kCell == Cell::kGru) x.past[0] = load_pair(layer_.states + before);
    if constexpr (kHasCellState) {
      x.past[0] = load_pair(layer_.cell_states + before);
      x.past[1] = load_pair(layer_.cell_states + after);
    }
    const bf16* saved = layer_.saved + t * kSaved * state_size() + own_.at(tile, item, kSaved);
#pragma unroll
    for (int s = 0; s < kSaved; ++s) x.saved[s] = load_pair(saved + s * x_.hidden);
    if (layer_.dx_gates == nullptr) return x;
    const bf16* dx = layer_.dx_gates + t * kGates * state_size() + own_.at(tile, item, kGates);
#pragma unroll
    for (int g = 0; g < kGates; ++g) x.dx[g] = load_pair(dx + g * x_.hidden);
    return x;
  }

  __device__ void finish(int64_t t, int tile, int item, Item& x, const float (&dnew)[2]) {
    bf16* dh = layer_.dh_gates + t * kGates * state_size() + own_.at(tile, item, kGates);
    if (!x.active) {  // the step copied the state
#pragma unroll
      for (int g = 0; g < kGates; ++g) store_pair(dh + g * x_.hidden, 0);
      carried_state(tile, item) = {dnew[0], dnew[1]};
      return;
    }
    const Two dcell_state = kHasCellState ? carried_cell_state(tile, item) : Two{0.0f, 0.0f};
    CellGradient<kCell> d[2];
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      CellPast past = {};
      if constexpr (kCell == Cell::kTanh) past.new_state = half_of(x.past[0], e);
      if constexpr (kCell == Cell::kGru) past.state = half_of(x.past[0], e);
      if constexpr (kHasCellState) {
        past.cell_state = half_of(x.past[0], e);
        past.new_cell_state = half_of(x.past[1], e);
      }
#pragma unroll
      for (int s = 0; s < kSaved; ++s) past.saved[s] = half_of(x.saved[s], e);
      d[e] = step_back_values<kCell>(past, dnew[e], e == 0 ? dcell_state.x : dcell_state.y);
    }
#pragma unroll
    for (int g = 0; g < kGates; ++g) {
      store_pair(dh + g * x_.hidden, pack(d[0].dh[g], d[1].dh[g]));
      x.dx[g] = pack(low_of(x.dx[g]) + d[0].dx[g], high_of(x.dx[g]) + d[1].dx[g]);
    }
    carried_state(tile, item) = {d[0].dstate, d[1].dstate};
    if constexpr (kHasCellState) carried_cell_state(tile, item) = {d[0].dcell_state, d[1].dcell_state};
  }

  __device__ void finish_states() {
    for (int tile = 0; tile < x_.tiles && own_.rows_of(tile) > 0; ++tile) {
      own_barrier(x_.barriers, x_.tiles, tile).wait(static_cast<unsigned>(x_.steps));
      multiply(0, tile);
      for (int i = 0; i < Own::kItems; ++i) {
        if (!own_.has(tile, i)) continue;
        const Two carried = carried_state(tile, i), from_weight = product_at(i);
        add_pair(layer_.dinitial_state + own_.at(tile, i), {carried.x + from_weight.x, carried.y + from_weight.y});
      }
    }
  }

  const LayersGrad& x_;
  const LayerGrad& layer_;
  Steps steps_;
  Own own_;
  int rank_;  // of this block in the cluster
  Pairs* weight_;
  Two *parts_, *carried_;
};

template <Cell kCell, int kUnits, int kRows, int kCluster>
__global__ __launch_bounds__(kPersistentThreads, 1) void layers_grad_kernel(const __grid_constant__ LayersGrad x) {
  BlockGrad<kCell, kUnits, kRows, kCluster>(x).run();
}

// Returns false if the kernel does not fit.
bool try_launch(Stream& stream, Cell kind, const PersistentPlan& plan, const LayersGrad& x) {
  bool fits = false;
  with_cell(kind, [&](auto cell) {
    with_block(plan, [&](auto units, auto rows) {
      const auto with_cluster = [&](auto cluster) {
        fits = launch_persistent(stream, layers_grad_kernel<cell(), units(), rows(), cluster()>, plan, x);
      };
      if (plan.cluster == 1) return with_cluster(Number<1>());
      if constexpr (units() == 32) {
        if (plan.cluster == 2) return with_cluster(Number<2>());
        with_cluster(Number<4>());
      }
    });
  });
  return fits;
}

bool supports(const RecurrentGradArgs& args, const RecurrentGradArgs& first) {
  if (args.states.dtype() != DType::kBF16 || args.precision != Precision::kBF16) return false;
  if (args.cell != first.cell || args.states.shape() != first.states.shape()) return false;
  return are_packed({args.states.raw(), args.cell_states.raw(), args.saved.raw(), args.dstates.raw(),
                     args.dfinal_cell_state.raw(), args.dx_gates.raw(), args.dh_gates.raw(), args.dinitial_state.raw(),
                     args.dinitial_cell_state.raw()});
}

}  // namespace

bool persistent_layers_grad(Stream& stream, std::span<const RecurrentGradArgs> all) {
  if (all.empty() || all.size() > kMaxLayers) return false;
  const RecurrentGradArgs& first = all.front();
  if (!std::ranges::all_of(all, [&](const RecurrentGradArgs& args) { return supports(args, first); })) return false;
  const int64_t T = first.states.dim(0) - 1, B = first.states.dim(1), H = first.states.dim(2);
  const std::vector<PersistentPlan> plans = plans_of(stream, T,
                                                     {.layers = static_cast<int64_t>(all.size()),
                                                      .batch = B,
                                                      .hidden = H,
                                                      .depth = gates_of(first.cell) * H,
                                                      .width = 1,
                                                      .carried = first.cell == Cell::kLstm ? 2 : 1,
                                                      .clusters = 4});
  if (plans.empty()) return false;

  LayersGrad x = {.steps = static_cast<int>(T), .batch = static_cast<int>(B), .hidden = static_cast<int>(H)};
  for (size_t i = 0; i < all.size(); ++i) {
    const RecurrentGradArgs& args = all[i];
    const Factor weight = weight_factor(args.weight, DType::kBF16, args.precision);
    if (weight.dtype != DType::kBF16 || !is_packed(weight.data)) return false;
    const bool shared = args.dx_gates.raw() == args.dh_gates.raw();
    x.each[i] = {.weight = static_cast<const bf16*>(weight.data),
                 .states = args.states.data<bf16>(),
                 .cell_states = args.cell_states.data<bf16>(),
                 .saved = args.saved.data<bf16>(),
                 .dstates = args.dstates.data<bf16>(),
                 .dfinal_cell_state = args.dfinal_cell_state.data<bf16>(),
                 .lengths = args.lengths.data<int32_t>(),
                 .dx_gates = shared ? nullptr : args.dx_gates.data<bf16>(),
                 .dh_gates = args.dh_gates.data<bf16>(),
                 .dinitial_state = args.dinitial_state.data<bf16>(),
                 .dinitial_cell_state = args.dinitial_cell_state.data<bf16>(),
                 .reverse = args.reverse};
  }
  return std::ranges::any_of(plans,
                             [&](const PersistentPlan& plan) { return try_launch(stream, first.cell, plan, x); });
}

}  // namespace fovea::cuda
