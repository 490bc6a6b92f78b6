// Sums, means and maxima over the middle of [outer, count, inner], and their gradients.
#include "kernels/cuda/functions.h"
#include "kernels/cuda/reduce/argmax.h"
#include "kernels/cuda/reduce/deterministic_sums.h"

namespace fovea::cuda {

namespace {

template <class T> struct Elements {
  const T* x;
  int64_t columns;
  __device__ float operator()(int64_t row, int64_t column) const { return load(x + row * columns + column); }
};

// Column sums of aligned rows: each warp sums 32 packs of columns over some rows, and the block adds up its warps and
// writes row `piece` of parts [outer,pieces,columns].
constexpr int kSumWarps = 8;

template <class T>
__global__ void packed_column_sums_kernel(const T* x, float* parts, int64_t rows, int64_t columns, int64_t piece) {
  __shared__ float sums[kSumWarps][kWarp * kPack];
  const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
  const int64_t column = (int64_t{blockIdx.x} * kWarp + lane) * kPack;
  x += int64_t{blockIdx.z} * rows * columns;
  const int64_t begin = int64_t{blockIdx.y} * piece, end = begin + piece < rows ? begin + piece : rows;
  float own[kPack] = {};
  if (column < columns) {
#pragma unroll 4
    for (int64_t row = begin + warp; row < end; row += kSumWarps) {
      const Pack<T> pack = load_pack(x + row * columns + column);
#pragma unroll
      for (int k = 0; k < kPack; ++k) own[k] += load(pack.x + k);
    }
  }
#pragma unroll
  for (int k = 0; k < kPack; ++k) sums[warp][lane * kPack + k] = own[k];
  __syncthreads();
  const int i = warp * kWarp + lane;
  const int64_t at = int64_t{blockIdx.x} * kWarp * kPack + i;
  if (at >= columns) return;
  float total = 0.0f;
  for (int w = 0; w < kSumWarps; ++w) total += sums[w][i];
  parts[(int64_t{blockIdx.z} * gridDim.y + blockIdx.y) * columns + at] = total;
}

template <class T, class Y> void packed_column_sums(Stream& stream, const ReduceArgs& args, const SumTo<Y>& to) {
  constexpr int64_t kEnoughBlocks = 528, kMinRows = 4 * kSumWarps;  // of a grid; of a block
  const int64_t across = ceil_div(args.inner, kWarp * kPack);
  const int64_t max_pieces = std::clamp<int64_t>(kEnoughBlocks / (across * args.outer), 1, kShortColumn);
  const int64_t pieces = std::clamp<int64_t>(args.count / kMinRows, 1, max_pieces);
  const int64_t piece = ceil_div(args.count, pieces), count = ceil_div(args.count, piece);
  Workspace workspace(stream);
  float* parts = workspace.allocate<float>(args.outer * count * args.inner);
  const Grid grid = {dim3(to_unsigned(across), to_unsigned(count), to_unsigned(args.outer)), dim3(kWarp, kSumWarps)};
  launch(stream, packed_column_sums_kernel<T>, grid, args.x.data<T>(), parts, args.count, args.inner, piece);
  column_sums(stream, args.outer, count, args.inner, ReadColumns{parts, args.inner}, to);
}

template <class T, class Y> void sums(Stream& stream, const ReduceArgs& args) {
  const bool mean = args.op == ReduceOp::kMean;
  const float scale = mean ? (args.count > 0 ? 1.0f / static_cast<float>(args.count) : 0.0f) : 1.0f;
  const SumTo<Y> to = {args.y.data<Y>(), args.accumulate, scale};
  constexpr int64_t kFewOuter = 8;
  if (args.outer <= kFewOuter && args.inner % kPack == 0 && args.count > 0 && is_packed(args.x.raw())) {
    packed_column_sums<T>(stream, args, to);
  } else if (args.inner == 1) {
    row_sums(stream, args.outer, args.count, Elements<T>{args.x.data<T>(), args.count}, to);
  } else {
    column_sums(stream, args.outer, args.count, args.inner, Elements<T>{args.x.data<T>(), args.inner}, to);
  }
}

template <class T> __device__ void store_argmax(ArgMax best, T* y, int32_t* index, int64_t at) {
  store(y + at, best.index < 0 ? -kInfinity : best.value);
  if (index != nullptr) index[at] = best.index;
}

// The maximum of each row, for inner = 1. Each team of threads processes one row.
template <int kTeam, class T>
__global__ void row_maximum_kernel(const T* x, T* y, int32_t* index, int64_t rows, int64_t count) {
  const int64_t row = team_row();
  if (row >= rows) return;
  ArgMax best = {0.0f, -1};
  for (int64_t j = threadIdx.x; j < count; j += kTeam) {
    best = LargerArgMax()(best, {load(x + row * count + j), static_cast<int32_t>(j)});
  }
  best = Team<kTeam>::all(best, LargerArgMax());
  if (threadIdx.x == 0) store_argmax(best, y, index, row);
}

// Each thread processes one column.
template <class T>
__global__ void column_maximum_kernel(const T* x, T* y, int32_t* index, int64_t outer, int64_t count, int64_t inner) {
  for (int64_t k = first_element(); k < outer * inner; k += element_stride()) {
    const int64_t o = k / inner, i = k % inner;
    ArgMax best = {0.0f, -1};
    for (int64_t j = 0; j < count; ++j) {
      best = LargerArgMax()(best, {load(x + (o * count + j) * inner + i), static_cast<int32_t>(j)});
    }
    store_argmax(best, y, index, k);
  }
}

template <class T>
__global__ void reduce_grad_kernel(const T* dy, const int32_t* index, T* dx, int64_t size, int64_t count, int64_t inner,
                                   float scale) {
  for (int64_t k = first_element(); k < size; k += element_stride()) {
    const int64_t i = k % inner, j = k / inner % count, o = k / inner / count;
    const int64_t from = o * inner + i;
    if (index != nullptr && index[from] != j) continue;
    add(dx + k, scale * load(dy + from));
  }
}

}  // namespace

void reduce(Stream& stream, const ReduceArgs& args) {
  with_type_of(args.x, [&]<class T>(T) {
    if (args.op != ReduceOp::kMaximum) {
      return args.y.dtype() == DType::kF32 ? sums<T, float>(stream, args) : sums<T, T>(stream, args);
    }
    const T* x = args.x.data<T>();
    T* y = args.y.data<T>();
    int32_t* index = args.index.data<int32_t>();
    if (args.inner != 1) {
      return launch(stream, column_maximum_kernel<T>, elements_grid(args.outer * args.inner), x, y, index, args.outer,
                    args.count, args.inner);
    }
    with_team(args.count, [&](auto team) {
      constexpr int kTeam = decltype(team)::value;
      launch(stream, row_maximum_kernel<kTeam, T>, rows_grid<kTeam>(args.outer), x, y, index, args.outer, args.count);
    });
  });
}

void reduce_grad(Stream& stream, const ReduceGradArgs& args) {
  if (!args.dx) return;
  const float scale = args.op == ReduceOp::kMean ? 1.0f / static_cast<float>(args.count) : 1.0f;
  with_type_of(args.dy, [&]<class T>(T) {
    launch(stream, reduce_grad_kernel<T>, elements_grid(args.dx.size()), args.dy.data<T>(), args.index.data<int32_t>(),
           args.dx.data<T>(), args.dx.size(), args.count, args.inner, scale);
  });
}

}  // namespace fovea::cuda
