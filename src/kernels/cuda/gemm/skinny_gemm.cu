// Batched skinny GEMMs, which attention with one or a few queries needs: weights [m,S] times values, queries times
// keys, and the outer products of their gradients. Each element of the large factor is read once, 16 bytes at a time;
// the tiled kernels of cuBLASLt are several times slower for these shapes. The factors are bf16, the sums f32.
#include "kernels/cuda/common/device_primitives.h"
#include "kernels/cuda/gemm/gemm.h"

namespace fovea::cuda {

namespace {

constexpr int kWarps = 8;      // per block
constexpr int kMaxSkinny = 4;  // largest m, or largest k for outer products

struct SkinnyArgs {
  const bf16 *a, *b;
  bf16* c;
  int64_t a_row, a_batch, b_row, b_batch, c_row, c_batch;
  int64_t m, n, k;
  float alpha;
  bool accumulate, a_transposed;

  __device__ float at(int64_t g, int64_t i, int64_t l) const {
    return load(a + g * a_batch + (a_transposed ? l * a_row + i : i * a_row + l));
  }
};

// c [m,n] = a [m,k] b [k,n]. A block computes 32 packs of columns of one matrix; its warps split k.
template <int kRows> __global__ void weigh_rows_kernel(const __grid_constant__ SkinnyArgs x) {
  __shared__ float sums[kWarps][kRows][kWarp * kPack];
  const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
  const int64_t g = blockIdx.x, column = (int64_t{blockIdx.y} * kWarp + lane) * kPack;
  float sum[kRows][kPack] = {};
  if (column < x.n) {
    const bf16* b = x.b + g * x.b_batch + column;
#pragma unroll 4
    for (int64_t l = warp; l < x.k; l += kWarps) {
      const Pack<bf16> pack = load_pack(b + l * x.b_row);
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const float weight = i < x.m ? x.at(g, i, l) : 0.0f;
#pragma unroll
        for (int j = 0; j < kPack; ++j) sum[i][j] += weight * load(pack.x + j);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kPack; ++j) sums[warp][i][lane * kPack + j] = sum[i][j];
  }
  __syncthreads();
  const int first = (warp * kWarp + lane), width = kWarp * kPack;
  for (int e = first; e < kRows * width; e += kWarps * kWarp) {
    const int i = e / width, j = e % width;
    const int64_t at = int64_t{blockIdx.y} * width + j;
    if (i >= x.m || at >= x.n) continue;
    float total = 0.0f;
    for (int w = 0; w < kWarps; ++w) total += sums[w][i][j];
    bf16* to = x.c + g * x.c_batch + i * x.c_row + at;
    store(to, x.alpha * total + (x.accumulate ? load(to) : 0.0f));
  }
}

// c [m,n] = a [m,k] b^T with b stored [n,k]. Each warp computes a column of c.
template <int kRows> __global__ void dot_rows_kernel(const __grid_constant__ SkinnyArgs x) {
  const int lane = static_cast<int>(threadIdx.x);
  const int64_t g = blockIdx.x, column = int64_t{blockIdx.y} * kWarps + threadIdx.y;
  if (column >= x.n) return;
  const bf16 *a = x.a + g * x.a_batch, *b = x.b + g * x.b_batch + column * x.b_row;
  float sum[kRows] = {};
#pragma unroll 2
  for (int64_t l = int64_t{lane} * kPack; l < x.k; l += kWarp * kPack) {
    const Pack<bf16> pack = load_pack(b + l);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      if (i >= x.m) continue;
      const Pack<bf16> own = load_pack(a + i * x.a_row + l);
#pragma unroll
      for (int j = 0; j < kPack; ++j) sum[i] += load(own.x + j) * load(pack.x + j);
    }
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const float total = over_warp(sum[i], Sum());
    if (lane != i || i >= x.m) continue;
    bf16* to = x.c + g * x.c_batch + i * x.c_row + column;
    store(to, x.alpha * total + (x.accumulate ? load(to) : 0.0f));
  }
}

// c [m,n] (+)= a b with a small k. Each thread computes a pack of c.
__global__ void outer_kernel(const __grid_constant__ SkinnyArgs x, int64_t count) {
  const int64_t packs = x.n / kPack;
  for (int64_t e = first_element(); e < count; e += element_stride()) {
    const int64_t column = e % packs * kPack, i = e / packs % x.m, g = e / packs / x.m;
    bf16* to = x.c + g * x.c_batch + i * x.c_row + column;
    float sum[kPack] = {};
    for (int64_t l = 0; l < x.k; ++l) {
      const Pack<bf16> pack = load_pack(x.b + g * x.b_batch + l * x.b_row + column);
      const float weight = x.alpha * x.at(g, i, l);
#pragma unroll
      for (int j = 0; j < kPack; ++j) sum[j] += weight * load(pack.x + j);
    }
    Pack<bf16> pack = {};
    if (x.accumulate) pack = load_pack(to);
#pragma unroll
    for (int j = 0; j < kPack; ++j) store(pack.x + j, sum[j] + (x.accumulate ? load(pack.x + j) : 0.0f));
    store_pack(to, pack);
  }
}

bool is_packed_factor(const Factor& x) {
  return is_packed(x.data) && x.row_stride % kPack == 0 && x.batch_stride % kPack == 0;
}

}  // namespace

bool skinny_gemm(Stream& stream, const GemmArgs& x) {
  const bool narrow = x.a.dtype == DType::kBF16 && x.b.dtype == DType::kBF16 && x.c.dtype == DType::kBF16;
  if (!narrow || x.bias != nullptr || x.batch < 8 || x.precision == Precision::kF32 || !is_packed_factor(x.b))
    return false;
  const SkinnyArgs skinny = {.a = static_cast<const bf16*>(x.a.data),
                             .b = static_cast<const bf16*>(x.b.data),
                             .c = static_cast<bf16*>(const_cast<void*>(x.c.data)),
                             .a_row = x.a.row_stride,
                             .a_batch = x.a.batch_stride,
                             .b_row = x.b.row_stride,
                             .b_batch = x.b.batch_stride,
                             .c_row = x.c.row_stride,
                             .c_batch = x.c.batch_stride,
                             .m = x.m,
                             .n = x.n,
                             .k = x.k,
                             .alpha = x.alpha,
                             .accumulate = x.accumulate,
                             .a_transposed = x.a.transposed};
  const auto grid = [&](int64_t columns) {
    return Grid{dim3(to_unsigned(x.batch), to_unsigned(ceil_div(x.n, columns))), dim3(kWarp, kWarps)};
  };
  if (x.m <= kMaxSkinny && !x.b.transposed && x.n % kPack == 0) {
    const auto kernel = x.m == 1 ? weigh_rows_kernel<1> : weigh_rows_kernel<kMaxSkinny>;
    launch(stream, kernel, grid(kWarp * kPack), skinny);
  } else if (x.m <= kMaxSkinny && x.b.transposed && !x.a.transposed && x.k % kPack == 0 && is_packed_factor(x.a)) {
    const auto kernel = x.m == 1 ? dot_rows_kernel<1> : dot_rows_kernel<kMaxSkinny>;
    launch(stream, kernel, grid(kWarps), skinny);
  } else if (x.k <= kMaxSkinny && !x.b.transposed && x.n % kPack == 0 && is_packed_factor(x.c)) {
    const int64_t count = x.batch * x.m * (x.n / kPack);
    launch(stream, outer_kernel, elements_grid(count), skinny, count);
  } else {
    return false;
  }
  return true;
}

}  // namespace fovea::cuda
