// The building blocks of all CUDA kernels: launches, loads and stores of elements, random numbers and reductions over
// the threads that share a row. Everything here is deterministic: the order of a sum depends on the sizes alone. No
// kernel function synchronises with the device, allocates or reads device memory on the host, so that all can be
// captured in a graph.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cfloat>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "base/random.h"
#include "kernels/kernels.h"
#include "tensor/cuda.h"

namespace fovea::cuda {

constexpr int kWarp = 32;
constexpr int kBlock = 256;  // default number of threads in a block

// ---- launching ---------------------------------------------------------------------------------

struct Grid {
  dim3 blocks, threads;
  int shared = 0;  // bytes of dynamic shared memory per block
};

inline cudaStream_t queue_of(const Stream& stream) { return static_cast<cudaStream_t>(stream.handle); }

template <class... Parameters, class... Arguments>
void launch(Stream& stream, void (*kernel)(Parameters...), const Grid& grid, Arguments&&... arguments) {
  if (grid.blocks.x == 0 || grid.blocks.y == 0 || grid.blocks.z == 0) return;
#if defined(__CUDACC__)
  use(stream.device);
  constexpr int kGranted = 48 << 10;  // more than this requires an attribute of the kernel
  if (grid.shared > kGranted) {
    require(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, grid.shared),
            "granting shared memory");
  }
  kernel<<<grid.blocks, grid.threads, static_cast<size_t>(grid.shared), queue_of(stream)>>>(
      static_cast<Parameters>(arguments)...);
  require(cudaGetLastError(), "launching a kernel");
#else
  static_cast<void>(stream);
  emulated::run(grid.blocks, grid.threads, [&] { kernel(static_cast<Parameters>(arguments)...); });
#endif
}

// Returns the dynamic shared memory of the block (Grid::shared).
template <class T> __device__ T* shared_memory() {
#if defined(__CUDACC__)
  extern __shared__ uint4 memory[];
  return reinterpret_cast<T*>(memory);
#else
  return reinterpret_cast<T*>(emulated::shared_memory());
#endif
}

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline unsigned to_unsigned(int64_t x) { return static_cast<unsigned>(x); }

// A grid with one thread per element; with very many elements each thread loops with the stride of the grid.
inline Grid elements_grid(int64_t count) {
  constexpr int64_t kMaxBlocks = int64_t{1} << 16;
  return {dim3(to_unsigned(std::min(ceil_div(count, kBlock), kMaxBlocks))), dim3(kBlock)};
}
__device__ inline int64_t first_element() { return int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ inline int64_t element_stride() { return int64_t{gridDim.x} * blockDim.x; }

// ---- elements ----------------------------------------------------------------------------------

// Calls body(T{}) with the type of the tensor's elements: float or bf16.
template <class Body> void with_type_of(const Tensor& x, Body&& body) {
  if (x.dtype() == DType::kBF16) return body(bf16{});
  fovea::check(x.dtype() == DType::kF32, "cuda: expected elements of f32 or bf16, got {}", x.dtype());
  body(float{});
}

__device__ inline float load(const float* x) { return *x; }
__device__ inline float load(const bf16* x) { return static_cast<float>(*x); }
__device__ inline float load(const int32_t* x) { return static_cast<float>(*x); }
__device__ inline void store(float* x, float value) { *x = value; }
__device__ inline void store(bf16* x, float value) {
#if defined(__CUDA_ARCH__)
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(x->bits) : "f"(value));
#else
  *x = bf16(value);
#endif
}
__device__ inline void store(int32_t* x, float value) { *x = static_cast<int32_t>(value); }
template <class T> __device__ void add(T* x, float value) { store(x, load(x) + value); }

// Elements that a thread loads and stores together, in units of 16 bytes.
constexpr int kPack = 8;
template <class T, int kCount = kPack> struct alignas(kCount == 1 ? alignof(T) : 16) Pack { T x[kCount]; };
template <int kCount = kPack, class T> __device__ Pack<T, kCount> load_pack(const T* x) {
  return *reinterpret_cast<const Pack<T, kCount>*>(x);
}
template <class T, int kCount> __device__ void store_pack(T* x, const Pack<T, kCount>& pack) {
  *reinterpret_cast<Pack<T, kCount>*>(x) = pack;
}
inline bool is_packed(const void* x) { return reinterpret_cast<uintptr_t>(x) % 16 == 0; }
// Calls body with the number of elements that a thread processes together, as an integral constant: kPack if all these
// addresses are multiples of 16 bytes and `count` is a multiple of kPack, else 1.
template <class Body> void with_pack(int64_t count, std::initializer_list<const void*> all, Body&& body) {
  const bool packs = count % kPack == 0 && std::all_of(all.begin(), all.end(), is_packed);
  if (packs) return body(std::integral_constant<int, kPack>());
  body(std::integral_constant<int, 1>());
}

constexpr float kInfinity = __builtin_huge_valf();

// ---- random numbers ----------------------------------------------------------------------------

// A RandomStream as a kernel parameter. The kernel reads the step, so that each launch of a graph draws new numbers.
struct RandomSource {
  uint64_t seed;
  uint32_t op_index;
  const int32_t* step;

  explicit RandomSource(const RandomStream& random)
      : seed(random.seed), op_index(random.op_index), step(random.step.data<int32_t>()) {}
  __device__ uint64_t stream() const {
    return step == nullptr ? 0 : uint64_t{static_cast<uint32_t>(*step)} << 32 | op_index;
  }
};

// ---- teams: the threads that share a row -------------------------------------------------------

template <class V> __device__ V from_lane(V x, int other) { return __shfl_xor_sync(0xFFFFFFFFu, x, other); }

struct Sum {
  template <class V> __device__ V operator()(V a, V b) const { return a + b; }
};
struct Largest {
  template <class V> __device__ V operator()(V a, V b) const { return a < b ? b : a; }
};

// Reduces the values of all lanes of a warp. `op` must be commutative, so that every lane gets the same bits.
template <class V, class Op> __device__ V over_warp(V x, Op op) {
  for (int other = kWarp / 2; other > 0; other /= 2) x = op(x, from_lane(x, other));
  return x;
}

// The kThreads threads along x that share a row: one warp, or the whole block (then threadIdx.y is 0, and all threads
// must call).
template <int kThreads> struct Team {
  static_assert(kThreads == kWarp || kThreads == kBlock);

  template <class V, class Op> __device__ static V all(V x, Op op) {
    x = over_warp(x, op);
    if constexpr (kThreads > kWarp) {
      __shared__ V parts[kThreads / kWarp];
      __syncthreads();  // the reads of the previous call are finished
      if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = x;
      __syncthreads();
      x = parts[0];
      for (int i = 1; i < kThreads / kWarp; ++i) x = op(x, parts[i]);
    }
    return x;
  }
  template <class V> __device__ static V sum(V x) { return all(x, Sum()); }
  template <class V> __device__ static V largest(V x) { return all(x, Largest()); }
};

constexpr int kRowsOfWarps = 4;  // rows per block when each row has a warp
template <int kThreads> Grid rows_grid(int64_t rows) {
  if (kThreads == kWarp) return {dim3(to_unsigned(ceil_div(rows, kRowsOfWarps))), dim3(kWarp, kRowsOfWarps)};
  return {dim3(to_unsigned(rows)), dim3(kBlock)};
}
__device__ inline int64_t team_row() { return int64_t{blockIdx.x} * blockDim.y + threadIdx.y; }

// Calls body with the team size for rows of this width, as an integral constant.
template <class Body> void with_team(int64_t width, Body&& body) {
  if (width <= 1024) return body(std::integral_constant<int, kWarp>());
  body(std::integral_constant<int, kBlock>());
}

}  // namespace fovea::cuda
