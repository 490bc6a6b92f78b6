// The tensor-core instruction mma.m16n8k16, c [16,8] += a [16,16] b [16,8] with bf16 factors and f32 sums, and the
// loads and copies of its fragments. A lane holds four pairs of row neighbours of a, two pairs of column neighbours of
// b, and the pairs of c at rows lane / 4 and lane / 4 + 8, column 2 (lane % 4). In the emulated build the lanes
// exchange their fragments and compute the same sums.
#pragma once

#include "kernels/cuda/common/device_primitives.h"

namespace fovea::cuda {

constexpr int kPiece = 16;                       // rows and columns of a
constexpr int kVector = 16 / int{sizeof(bf16)};  // elements of a 16-byte access

// ---- numbers -----------------------------------------------------------------------------------

__device__ inline uint32_t pack(float low, float high) {
#if defined(__CUDACC__)
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#else
  return uint32_t{bf16(high).bits} << 16 | bf16(low).bits;
#endif
}
__device__ inline float low_of(uint32_t pair) { return std::bit_cast<float>(pair << 16); }
__device__ inline float high_of(uint32_t pair) { return std::bit_cast<float>(pair & 0xFFFF0000u); }

// Returns 2^x with a precision of about 22 bits; 0 for -inf.
__device__ inline float fast_exp2(float x) {
#if defined(__CUDACC__)
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return std::exp2(x);
#endif
}

// ---- fragments ---------------------------------------------------------------------------------

#if !defined(__CUDACC__)
namespace emulated {
inline uint32_t pair_at(const bf16* low, const bf16* high) { return uint32_t{high->bits} << 16 | low->bits; }
}  // namespace emulated
#endif

// Loads four 8x8 blocks (ldmatrix.x4). Lane l passes the address of row l % 8 of block l / 8 and receives from each
// block the pair at row lane / 4, column 2 (lane % 4), of the block or of its transpose.
template <bool kTransposed> __device__ void load_blocks(uint32_t (&blocks)[4], const bf16* row) {
#if defined(__CUDACC__)
  const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (kTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(blocks[0]), "=r"(blocks[1]), "=r"(blocks[2]), "=r"(blocks[3])
                 : "r"(at)
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(blocks[0]), "=r"(blocks[1]), "=r"(blocks[2]), "=r"(blocks[3])
                 : "r"(at)
                 : "memory");
  }
#else
  const uint64_t* rows = emulated::exchange_in_warp(reinterpret_cast<uint64_t>(row));
  const int along = emulated::lane() / 4, pair = emulated::lane() % 4 * 2;
  for (int i = 0; i < 4; ++i) {
    const auto of = [&](int r) { return reinterpret_cast<const bf16*>(rows[8 * i + r]); };
    blocks[i] = kTransposed ? emulated::pair_at(of(pair) + along, of(pair + 1) + along)
                            : emulated::pair_at(of(along) + pair, of(along) + pair + 1);
  }
  emulated::exchange_in_warp(0);  // all lanes have read before any of them writes
#endif
}

__device__ inline int lane_of_thread() { return static_cast<int>(threadIdx.x) % kWarp; }

// Load the fragments of a or b from a matrix whose rows are `stride` apart, starting at element `from`.
//  left: a [16,16] as stored;  left_transposed: the stored matrix is its transpose;
//  right: b [16,16], two fragments, as stored;  right_transposed: the stored matrix is its transpose.
__device__ inline void load_left(uint32_t (&a)[4], const bf16* from, int stride) {
  const int lane = lane_of_thread();
  load_blocks<false>(a, from + lane % 16 * stride + lane / 16 * 8);
}
__device__ inline void load_left_transposed(uint32_t (&a)[4], const bf16* from, int stride) {
  const int lane = lane_of_thread();
  load_blocks<true>(a, from + (lane % 8 + lane / 16 * 8) * stride + lane / 8 % 2 * 8);
}
__device__ inline void load_right(uint32_t (&b)[4], const bf16* from, int stride) {
  const int lane = lane_of_thread();
  load_blocks<true>(b, from + lane % 16 * stride + lane / 16 * 8);
}
__device__ inline void load_right_transposed(uint32_t (&b)[4], const bf16* from, int stride) {
  const int lane = lane_of_thread();
  load_blocks<false>(b, from + (lane % 8 + lane / 16 * 8) * stride + lane / 8 % 2 * 8);
}

__device__ inline void multiply_add(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
#if defined(__CUDACC__)
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
  const auto both = [](uint32_t x, uint32_t y) { return uint64_t{y} << 32 | x; };
  const emulated::Words* all = emulated::exchange_in_warp({{both(a[0], a[1]), both(a[2], a[3]), both(b0, b1)}});
  const auto half = [](uint64_t words, int which, int odd) {
    const auto pair = static_cast<uint32_t>(words >> 32 * which);
    return odd != 0 ? high_of(pair) : low_of(pair);
  };
  const int own = emulated::lane();
  for (int i = 0; i < 4; ++i) {
    const int row = own / 4, lower = i / 2, column = own % 4 * 2 + i % 2;
    for (int k = 0; k < kPiece; ++k) {
      const float x = half(all[row * 4 + k % 8 / 2].word[k / 8], lower, k % 2);
      c[i] += x * half(all[column * 4 + k % 8 / 2].word[2], k / 8, k % 2);
    }
  }
#endif
}

// ---- copies ------------------------------------------------------------------------------------

// Starts a copy of 16 bytes (zeros if not `inside`) to shared memory, which wait_for_copies completes.
__device__ inline void copy_async(bf16* to, const bf16* from, bool inside) {
#if defined(__CUDACC__)
  const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  const int bytes = inside ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes) : "memory");
#else
  for (int i = 0; i < kVector; ++i) to[i] = inside ? from[i] : bf16();
#endif
}
__device__ inline void commit_copies() {
#if defined(__CUDACC__)
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits for the copies of this thread, except those of the last kPending groups.
template <int kPending> __device__ void wait_for_copies() {
#if defined(__CUDACC__)
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
#endif
}
// Prefetches an address into the L2 cache.
__device__ inline void prefetch(const void* from) {
#if defined(__CUDACC__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
#else
  static_cast<void>(from);
#endif
}

}  // namespace fovea::cuda
