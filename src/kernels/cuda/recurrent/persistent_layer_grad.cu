// The gradient of persistent_layer.cu, its steps the other way round. A block has some hidden units, with their
// columns of the weight, and some sentences. Each step it multiplies these sentences' gradients of all gates, which
// the step after left behind, with its columns, adds what else its units' states are asked for, takes the cell's
// gradient, writes that of its units' gates and meets the blocks that have the same sentences. There are more gates
// than units, so that reading them is most of the work: blocks of a cluster each read a part and share the sums.
#include "kernels/cuda/recurrent/cell_math.h"
#include "kernels/cuda/recurrent/persistent_layer.h"

namespace fovea::cuda {

namespace {

struct LayerGrad {
  const bf16 *weight, *states, *memories, *saved, *dstates, *dfinal_memory;
  const int32_t* lengths;
  bf16 *dx_gates, *dh_gates, *dinitial_state, *dinitial_memory;  // dx_gates null when it is dh_gates
  bool reverse;
};
struct LayersGrad {
  LayerGrad each[kMostLayers];
  int steps, batch, hidden, tiles, buffers;
  unsigned* meetings;
};

template <Cell kCell, int kUnits, int kRows, int kCluster> class BlockGrad {
  static constexpr int kGates = static_cast<int>(gates_of(kCell)), kSaved = static_cast<int>(saved_of(kCell));
  static constexpr bool kMemory = kCell == Cell::kLstm;
  static constexpr int kColumns = kCluster * kUnits;  // of the cluster
  using Product = AtOnceProduct<kRows, kColumns>;
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
      const bool given = kMemory && layer_.dfinal_memory != nullptr;
      carried_state(tile, item) = {};
      if constexpr (kMemory) {
        carried_memory(tile, item) =
            given ? two_of(load_pair(layer_.dfinal_memory + own_.at(tile, item))) : Two{0.0f, 0.0f};
      }
    });
    for (int k = x_.steps - 1; k >= 0; --k) {
      for (int tile = 0; tile < x_.tiles && own_.rows_of(tile) > 0; ++tile) step(k, tile);
    }
    if (layer_.dinitial_state != nullptr) finish_states();
    if (kMemory && layer_.dinitial_memory != nullptr) {
      for_items([&](int tile, int item) {
        add_pair(layer_.dinitial_memory + own_.at(tile, item), carried_memory(tile, item));
      });
    }
    if constexpr (kCluster > 1) meet_cluster();  // nobody leaves while others read what lies with him
  }

 private:
  struct Item {  // of what a step reads for a pair of units
    uint32_t saved[kSaved + 1], dstate;
    uint32_t dx[kGates];  // and then what it makes of it
    uint32_t past[2];     // tanh: the new state; gru: the old one; lstm: the old memory and the new one
    bool there, within;   // there is such a sentence; it has not ended
  };

  __device__ static Two two_of(uint32_t pair) { return {low_of(pair), high_of(pair)}; }
  __device__ static void add_pair(bf16* to, const Two& x) {
    const uint32_t old = load_pair(to);
    store_pair(to, pack(low_of(old) + x.x, high_of(old) + x.y));
  }
  __device__ int depth() const { return kGates * x_.hidden; }
  __device__ int64_t state_size() const { return int64_t{x_.batch} * x_.hidden; }

  // Gradients of the state and of the memory a step leaves to the one before it, but for the weight's part.
  __device__ Two& carried(int which, int tile, int item) {
    return carried_[((which * x_.tiles + tile) * Own::kItems + item) * kAtOnceThreads + static_cast<int>(threadIdx.x)];
  }
  __device__ Two& carried_state(int tile, int item) { return carried(0, tile, item); }
  __device__ Two& carried_memory(int tile, int item) { return carried(1, tile, item); }

  template <class Body> __device__ void for_items(Body&& body) {
    for (int tile = 0; tile < x_.tiles; ++tile) {
      for (int item = 0; item < Own::kItems; ++item) {
        if (own_.has(tile, item)) body(tile, item);
      }
    }
  }

  // The weight lies with its columns side by side, and a lane wants eight of one column: eight by eight are turned.
  __device__ void load_weight() {
    const int chunks = own_chunks<kCluster>(depth(), rank_);
    for (int i = static_cast<int>(threadIdx.x); i < chunks * (kColumns / 8) * 4; i += kAtOnceThreads) {
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

  // What comes to the states before step k through the weight.
  __device__ void multiply(int k, int tile) {
    const bf16* gates = layer_.dh_gates + steps_.time(k) * kGates * state_size();
    Product sums;
    sums.template multiply<kCluster>(gates + own_.first_sentence(tile) * depth(), own_.rows_of(tile), depth(), weight_,
                                     rank_);
    if constexpr (kCluster > 1) {
      if (x_.tiles > 1) meet_cluster();  // the others have read the last ones; of a single tile all blocks have met
    }
    sums.gather(parts_, x_.buffers);
    if constexpr (kCluster > 1) meet_cluster();
  }
  __device__ Two product_at(int item) const {
    const int column = rank_ * kUnits + own_.column();
    Two total = {0.0f, 0.0f};
#pragma unroll
    for (int rank = 0; rank < kCluster; ++rank) {
      const Two* parts = kCluster > 1 ? of_peer(parts_, rank) : parts_;
      const Two sum = Product::sum(parts, x_.buffers, own_.row(item), column / 8, column % 8);
      total = {total.x + sum.x, total.y + sum.y};
    }
    return total;
  }

  __device__ void step(int k, int tile) {
    const int64_t t = steps_.time(k);
    Item items[Own::kItems];
#pragma unroll
    for (int i = 0; i < Own::kItems; ++i) items[i] = read(t, tile, i);  // while the others are waited for
    const int after = x_.steps - 1 - k;
    const Meeting meeting = own_meeting(x_.meetings, x_.tiles, tile);
    const bool product = after > 0;
    if (product) {
      meeting.wait(static_cast<unsigned>(after));
      multiply(k + 1, tile);
    }
#pragma unroll
    for (int i = 0; i < Own::kItems; ++i) {
      if (!items[i].there) continue;
      const Two carried = carried_state(tile, i), from_weight = product ? product_at(i) : Two{0.0f, 0.0f};
      const float dnew[2] = {low_of(items[i].dstate) + carried.x + from_weight.x,
                             high_of(items[i].dstate) + carried.y + from_weight.y};
      finish(t, tile, i, items[i], dnew);
    }
    if (k > 0 || layer_.dinitial_state != nullptr) meeting.come();
    if (layer_.dx_gates == nullptr) return;
#pragma unroll
    for (int i = 0; i < Own::kItems; ++i) {  // what nobody waits for
      if (!items[i].there || !items[i].within) continue;
      bf16* dx = layer_.dx_gates + t * kGates * state_size() + own_.at(tile, i, kGates);
#pragma unroll
      for (int g = 0; g < kGates; ++g) store_pair(dx + g * x_.hidden, items[i].dx[g]);
    }
  }

  __device__ Item read(int64_t t, int tile, int item) const {
    Item x = {.there = own_.has(tile, item), .within = false};
    if (!x.there) return x;
    x.within = layer_.lengths == nullptr || t < layer_.lengths[own_.sentence(tile, item)];
    const int64_t at = own_.at(tile, item), now = t * state_size() + at;
    if (layer_.dstates != nullptr) x.dstate = load_pair(layer_.dstates + now);
    if (!x.within) return x;
    const int64_t before = steps_.before(t) * state_size() + at, after = steps_.after(t) * state_size() + at;
    if constexpr (kCell == Cell::kTanh) x.past[0] = load_pair(layer_.states + after);
    if constexpr (kCell == Cell::kGru) x.past[0] = load_pair(layer_.states + before);
    if constexpr (kMemory) {
      x.past[0] = load_pair(layer_.memories + before);
      x.past[1] = load_pair(layer_.memories + after);
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
    if (!x.within) {  // the state went through as it was
#pragma unroll
      for (int g = 0; g < kGates; ++g) store_pair(dh + g * x_.hidden, 0);
      carried_state(tile, item) = {dnew[0], dnew[1]};
      return;
    }
    const Two dmemory = kMemory ? carried_memory(tile, item) : Two{0.0f, 0.0f};
    CellGradient<kCell> d[2];
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      CellPast past = {};
      if constexpr (kCell == Cell::kTanh) past.new_state = half_of(x.past[0], e);
      if constexpr (kCell == Cell::kGru) past.state = half_of(x.past[0], e);
      if constexpr (kMemory) {
        past.memory = half_of(x.past[0], e);
        past.new_memory = half_of(x.past[1], e);
      }
#pragma unroll
      for (int s = 0; s < kSaved; ++s) past.saved[s] = half_of(x.saved[s], e);
      d[e] = step_back_values<kCell>(past, dnew[e], e == 0 ? dmemory.x : dmemory.y);
    }
#pragma unroll
    for (int g = 0; g < kGates; ++g) {
      store_pair(dh + g * x_.hidden, pack(d[0].dh[g], d[1].dh[g]));
      x.dx[g] = pack(low_of(x.dx[g]) + d[0].dx[g], high_of(x.dx[g]) + d[1].dx[g]);
    }
    carried_state(tile, item) = {d[0].dstate, d[1].dstate};
    if constexpr (kMemory) carried_memory(tile, item) = {d[0].dmemory, d[1].dmemory};
  }

  __device__ void finish_states() {
    for (int tile = 0; tile < x_.tiles && own_.rows_of(tile) > 0; ++tile) {
      own_meeting(x_.meetings, x_.tiles, tile).wait(static_cast<unsigned>(x_.steps));
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
  int rank_;  // in the cluster
  Pairs* weight_;
  Two *parts_, *carried_;
};

template <Cell kCell, int kUnits, int kRows, int kCluster>
__global__ __launch_bounds__(kAtOnceThreads, 1) void layers_grad_kernel(const __grid_constant__ LayersGrad x) {
  BlockGrad<kCell, kUnits, kRows, kCluster>(x).run();
}

// False where it does not fit.
bool launched(Stream& stream, Cell kind, const AtOncePlan& plan, const LayersGrad& x) {
  bool fits = false;
  with_cell(kind, [&](auto cell) {
    with_block(plan, [&](auto units, auto rows) {
      const auto with_cluster = [&](auto cluster) {
        fits = launch_at_once(stream, layers_grad_kernel<cell(), units(), rows(), cluster()>, plan, x);
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

bool suits(const RecurrentGradArgs& args, const RecurrentGradArgs& first) {
  if (args.states.dtype() != DType::kBF16 || args.precision != Precision::kBF16) return false;
  if (args.cell != first.cell || args.states.shape() != first.states.shape()) return false;
  return are_packed({args.states.raw(), args.memories.raw(), args.saved.raw(), args.dstates.raw(),
                     args.dfinal_memory.raw(), args.dx_gates.raw(), args.dh_gates.raw(), args.dinitial_state.raw(),
                     args.dinitial_memory.raw()});
}

}  // namespace

bool layers_at_once_grad(Stream& stream, std::span<const RecurrentGradArgs> all) {
  if (all.empty() || all.size() > kMostLayers) return false;
  const RecurrentGradArgs& first = all.front();
  if (!std::ranges::all_of(all, [&](const RecurrentGradArgs& args) { return suits(args, first); })) return false;
  const int64_t T = first.states.dim(0) - 1, B = first.states.dim(1), H = first.states.dim(2);
  const std::vector<AtOncePlan> plans = plans_of(stream, T,
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
                 .memories = args.memories.data<bf16>(),
                 .saved = args.saved.data<bf16>(),
                 .dstates = args.dstates.data<bf16>(),
                 .dfinal_memory = args.dfinal_memory.data<bf16>(),
                 .lengths = args.lengths.data<int32_t>(),
                 .dx_gates = shared ? nullptr : args.dx_gates.data<bf16>(),
                 .dh_gates = args.dh_gates.data<bf16>(),
                 .dinitial_state = args.dinitial_state.data<bf16>(),
                 .dinitial_memory = args.dinitial_memory.data<bf16>(),
                 .reverse = args.reverse};
  }
  return std::ranges::any_of(plans, [&](const AtOncePlan& plan) { return launched(stream, first.cell, plan, x); });
}

}  // namespace fovea::cuda
