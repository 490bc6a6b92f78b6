// Layer norm (Ba, Kiros & Hinton 2016). Each team of threads processes one row.
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/functions.h"
#include "kernels/cuda/pointwise/dropout.h"
#include "kernels/cuda/reduce/deterministic_sums.h"
#include "kernels/unfused.h"

namespace fovea::cuda {

namespace {

template <int kTeam, class T>
__global__ void layer_norm_kernel(const T* x, const float* gamma, const float* beta, T* y, float* mean, float* rstd,
                                  int64_t rows, int64_t width, float epsilon) {
  const int64_t row = team_row();
  if (row >= rows) return;
  x += row * width;
  y += row * width;
  float sum = 0.0f, squares = 0.0f;
  for (int64_t i = threadIdx.x; i < width; i += kTeam) sum += load(x + i);
  const float middle = Team<kTeam>::sum(sum) / static_cast<float>(width);
  for (int64_t i = threadIdx.x; i < width; i += kTeam) {
    const float distance = load(x + i) - middle;
    squares += distance * distance;
  }
  const float scale = 1.0f / sqrtf(Team<kTeam>::sum(squares) / static_cast<float>(width) + epsilon);
  for (int64_t i = threadIdx.x; i < width; i += kTeam) {
    store(y + i, (load(x + i) - middle) * scale * gamma[i] + beta[i]);
  }
  if (threadIdx.x == 0) {
    mean[row] = middle;
    rstd[row] = scale;
  }
}

// With the normalised row z and g = dy gamma: dx = rstd (g - mean(g) - z mean(g z)).
template <int kTeam, class T>
__global__ void layer_norm_grad_kernel(const T* x, const float* gamma, const float* mean, const float* rstd,
                                       const T* dy, T* dx, int64_t rows, int64_t width, bool accumulate) {
  const int64_t row = team_row();
  if (row >= rows) return;
  x += row * width;
  dy += row * width;
  dx += row * width;
  const float middle = mean[row], scale = rstd[row];
  float sum_g = 0.0f, sum_gz = 0.0f;
  for (int64_t i = threadIdx.x; i < width; i += kTeam) {
    const float g = load(dy + i) * gamma[i];
    sum_g += g;
    sum_gz += g * (load(x + i) - middle) * scale;
  }
  const float mean_g = Team<kTeam>::sum(sum_g) / static_cast<float>(width);
  const float mean_gz = Team<kTeam>::sum(sum_gz) / static_cast<float>(width);
  for (int64_t i = threadIdx.x; i < width; i += kTeam) {
    const float z = (load(x + i) - middle) * scale;
    const float d = scale * (load(dy + i) * gamma[i] - mean_g - z * mean_gz);
    store(dx + i, accumulate ? load(dx + i) + d : d);
  }
}

// Aligned rows of at most kMaxPacks packs per lane are kept in the registers of a warp, so that they are read once.
constexpr int kMaxPacks = 4, kNormWarps = 8;
constexpr int64_t kNormBlocks = 396;

template <int kPacks, class T> struct RegisterRow {
  Pack<T> pack[kPacks];

  __device__ RegisterRow(const T* row, int64_t width) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      pack[p] = {};
      if (column(p) < width) pack[p] = load_pack(row + column(p));
    }
  }
  __device__ static int64_t column(int p) { return (int64_t{p} * kWarp + threadIdx.x) * kPack; }
  __device__ float operator()(int p, int k) const { return load(pack[p].x + k); }
};

// Nothing is added if residual is null.
template <class T> struct ResidualInput {
  const T* residual;
  T* sum;
  DropoutMask dropout;
};

template <int kPacks, class T>
__global__ void packed_norm_kernel(const T* x, const __grid_constant__ ResidualInput<T> added, const float* gamma,
                                   const float* beta, T* y, float* mean, float* rstd, int64_t rows, int64_t width,
                                   float epsilon) {
  const int64_t row = team_row();
  if (row >= rows) return;
  RegisterRow<kPacks, T> own(x + row * width, width);
  if (added.residual != nullptr) {
    const RegisterRow<kPacks, T> residual(added.residual + row * width, width);
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int64_t at = row * width + own.column(p);
      if (own.column(p) >= width) continue;
      float factors[kPack];
      added.dropout.get_factors(factors, at);
#pragma unroll
      for (int k = 0; k < kPack; ++k) store(own.pack[p].x + k, own(p, k) + apply_dropout(residual(p, k), factors[k]));
      store_pack(added.sum + at, own.pack[p]);
    }
  }
  float sum = 0.0f, squares = 0.0f;
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
#pragma unroll
    for (int k = 0; k < kPack; ++k) sum += own(p, k);  // packs past the end of the row are zero
  }
  const float middle = over_warp(sum, Sum()) / static_cast<float>(width);
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    if (own.column(p) >= width) continue;
#pragma unroll
    for (int k = 0; k < kPack; ++k) squares += (own(p, k) - middle) * (own(p, k) - middle);
  }
  const float scale = 1.0f / sqrtf(over_warp(squares, Sum()) / static_cast<float>(width) + epsilon);
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int64_t column = own.column(p);
    if (column >= width) continue;
    const Pack<float> g = load_pack(gamma + column), b = load_pack(beta + column);
#pragma unroll
    for (int k = 0; k < kPack; ++k) store(own.pack[p].x + k, (own(p, k) - middle) * scale * g.x[k] + b.x[k]);
    store_pack(y + row * width + column, own.pack[p]);
  }
  if (threadIdx.x == 0) {
    mean[row] = middle;
    rstd[row] = scale;
  }
}

// Each warp accumulates dgamma and dbeta over its rows; the block writes the sums of its warps to a row of
// parts [blocks,2,width].
template <class T> struct ResidualGrad {
  T* dresidual;
  bool accumulate;
  DropoutMask dropout;
};

template <int kPacks, class T>
__global__ void packed_norm_grad_kernel(const T* x, const float* gamma, const float* mean, const float* rstd,
                                        const T* dy, T* dx, const __grid_constant__ ResidualGrad<T> dropped,
                                        float* parts, int64_t rows, int64_t width, bool accumulate) {
  __shared__ float sums[kNormWarps][kPacks * kWarp * kPack];
  float dgamma[kPacks][kPack] = {}, dbeta[kPacks][kPack] = {};
  for (int64_t row = team_row(); row < rows; row += int64_t{gridDim.x} * kNormWarps) {
    const RegisterRow<kPacks, T> own(x + row * width, width), from(dy + row * width, width);
    const float middle = mean[row], scale = rstd[row];
    float sum_g = 0.0f, sum_gz = 0.0f;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      if (own.column(p) >= width) continue;
      const Pack<float> gammas = load_pack(gamma + own.column(p));
#pragma unroll
      for (int k = 0; k < kPack; ++k) {
        const float z = (own(p, k) - middle) * scale, g = from(p, k) * gammas.x[k];
        sum_g += g;
        sum_gz += g * z;
        dgamma[p][k] += from(p, k) * z;
        dbeta[p][k] += from(p, k);
      }
    }
    const float mean_g = over_warp(sum_g, Sum()) / static_cast<float>(width);
    const float mean_gz = over_warp(sum_gz, Sum()) / static_cast<float>(width);
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int64_t column = own.column(p);
      if (column >= width || dx == nullptr) continue;
      const Pack<float> gammas = load_pack(gamma + column);
      Pack<T> to = {};
      if (accumulate) to = load_pack(dx + row * width + column);
#pragma unroll
      for (int k = 0; k < kPack; ++k) {
        const float z = (own(p, k) - middle) * scale;
        const float d = scale * (from(p, k) * gammas.x[k] - mean_g - z * mean_gz);
        store(to.x + k, accumulate ? load(to.x + k) + d : d);
      }
      store_pack(dx + row * width + column, to);
      if (dropped.dresidual == nullptr) continue;
      float factors[kPack];
      dropped.dropout.get_factors(factors, row * width + column);
      Pack<T> residual = {};
      if (dropped.accumulate) residual = load_pack(dropped.dresidual + row * width + column);
#pragma unroll
      for (int k = 0; k < kPack; ++k)
        store(residual.x + k, load(residual.x + k) + apply_dropout(load(to.x + k), factors[k]));
      store_pack(dropped.dresidual + row * width + column, residual);
    }
  }
  for (int which = 0; which < 2; ++which) {
    __syncthreads();
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
#pragma unroll
      for (int k = 0; k < kPack; ++k) {
        sums[threadIdx.y][(p * kWarp + threadIdx.x) * kPack + k] = which == 0 ? dgamma[p][k] : dbeta[p][k];
      }
    }
    __syncthreads();
    for (int64_t i = threadIdx.y * kWarp + threadIdx.x; i < width; i += kNormWarps * kWarp) {
      float sum = 0.0f;
      for (int w = 0; w < kNormWarps; ++w) sum += sums[w][i];
      parts[(int64_t{blockIdx.x} * 2 + which) * width + i] = sum;
    }
  }
}

struct NormGradOutput {
  float *dgamma, *dbeta;
  int64_t width;
  __device__ void put(int64_t i, float sum) const {
    float* to = i < width ? dgamma : dbeta;
    if (to != nullptr) to[i % width] += sum;
  }
};

// Calls body with the number of packs per lane, as an integral constant. Returns false if the rows are not aligned or
// too wide.
template <class Body> bool with_packs(int64_t width, std::initializer_list<const void*> all, Body&& body) {
  const int64_t each = ceil_div(width, kWarp * kPack);
  if (width % kPack != 0 || each > kMaxPacks || !std::all_of(all.begin(), all.end(), is_packed)) return false;
  each == 1   ? body(std::integral_constant<int, 1>())
  : each == 2 ? body(std::integral_constant<int, 2>())
              : body(std::integral_constant<int, kMaxPacks>());
  return true;
}

template <class T> struct GradOfGamma {
  const T *x, *dy;
  const float *mean, *rstd;
  int64_t width;
  __device__ float operator()(int64_t row, int64_t i) const {
    const int64_t at = row * width + i;
    return load(dy + at) * (load(x + at) - mean[row]) * rstd[row];
  }
};
template <class T> struct GradOfBeta {
  const T* dy;
  int64_t width;
  __device__ float operator()(int64_t row, int64_t i) const { return load(dy + row * width + i); }
};

}  // namespace

void layer_norm(Stream& stream, const LayerNormArgs& given) {
  const int64_t rows = given.mean.size(), width = given.gamma.size();
  with_type_of(given.x, [&]<class T>(T) {
    const bool done = with_packs(
        width,
        {given.x.raw(), given.gamma.raw(), given.beta.raw(), given.y.raw(), given.residual.raw(), given.sum.raw()},
        [&](auto n) {
          launch(stream, packed_norm_kernel<decltype(n)::value, T>, rows_grid<kWarp>(rows), given.x.data<T>(),
                 ResidualInput<T>{given.residual.data<T>(), given.sum.data<T>(), DropoutMask(given.rate, given.random)},
                 given.gamma.data<float>(), given.beta.data<float>(), given.y.data<T>(), given.mean.data<float>(),
                 given.rstd.data<float>(), rows, width, given.epsilon);
        });
    if (done) return;
    const LayerNormArgs args = add_residual(cuda_kernels(), stream, given);
    with_team(width, [&](auto team) {
      constexpr int kTeam = decltype(team)::value;
      launch(stream, layer_norm_kernel<kTeam, T>, rows_grid<kTeam>(rows), args.x.data<T>(), args.gamma.data<float>(),
             args.beta.data<float>(), args.y.data<T>(), args.mean.data<float>(), args.rstd.data<float>(), rows, width,
             args.epsilon);
    });
  });
}

void layer_norm_grad(Stream& stream, const LayerNormGradArgs& args) {
  const int64_t rows = args.mean.size(), width = args.gamma.size();
  const float *mean = args.mean.data<float>(), *rstd = args.rstd.data<float>();
  with_type_of(args.x, [&]<class T>(T) {
    const T *x = args.x.data<T>(), *dy = args.dy.data<T>();
    const bool done = with_packs(width, {x, dy, args.dx.raw(), args.gamma.raw(), args.dresidual.raw()}, [&](auto n) {
      const int64_t blocks = std::min(ceil_div(rows, kNormWarps), kNormBlocks);
      Workspace workspace(stream);
      float* parts = workspace.allocate<float>(blocks * 2 * width);
      launch(stream, packed_norm_grad_kernel<decltype(n)::value, T>,
             Grid{dim3(to_unsigned(blocks)), dim3(kWarp, kNormWarps)}, x, args.gamma.data<float>(), mean, rstd, dy,
             args.dx.data<T>(),
             ResidualGrad<T>{args.dresidual.data<T>(), args.accumulate_residual, DropoutMask(args.rate, args.random)},
             parts, rows, width, args.accumulate);
      column_sums(stream, 1, blocks, 2 * width, ReadColumns{parts, 2 * width},
                  NormGradOutput{args.dgamma.data<float>(), args.dbeta.data<float>(), width});
    });
    if (done) return;
    if (args.dx) {
      with_team(width, [&](auto team) {
        constexpr int kTeam = decltype(team)::value;
        launch(stream, layer_norm_grad_kernel<kTeam, T>, rows_grid<kTeam>(rows), x, args.gamma.data<float>(), mean,
               rstd, dy, args.dx.data<T>(), rows, width, args.accumulate);
      });
    }
    if (args.dgamma) {
      column_sums(stream, 1, rows, width, GradOfGamma<T>{x, dy, mean, rstd, width},
                  SumTo<float>{args.dgamma.data<float>()});
    }
    if (args.dbeta) {
      column_sums(stream, 1, rows, width, GradOfBeta<T>{dy, width}, SumTo<float>{args.dbeta.data<float>()});
    }
    residual_grad(cuda_kernels(), stream, args);
  });
}

}  // namespace fovea::cuda
