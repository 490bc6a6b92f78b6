// Products by the tensor cores, as a warp has them: c [16,8] += a [16,16] b [16,8], bf16 by bf16 into f32, and what
// brings their pieces from memory. A lane has, of a: four pairs of neighbours in a row; of b: two pairs in a column;
// of c: the pairs at row lane / 4, and 8 further down, column 2 (lane % 4). Where the kernels are compiled for the
// host the lanes hand one another their pieces and compute the same.
#pragma once

#include "kernels/cuda/common/device_primitives.h"

namespace fovea::cuda {

constexpr int kPiece = 16;                       // rows, and columns, of a
constexpr int kVector = 16 / int{sizeof(bf16)};  // elements that are moved at a time

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

// 2^x to about 22 bits; 0 for -inf.
__device__ inline float power_of_two(float x) {
#if defined(__CUDACC__)
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return std::exp2(x);
#endif
}

// ---- pieces ------------------------------------------------------------------------------------

#if !defined(__CUDACC__)
namespace emulated {
inline uint32_t pair_at(const bf16* low, const bf16* high) { return uint32_t{high->bits} << 16 | low->bits; }
}  // namespace emulated
#endif

// Four blocks of 8 by 8; lane l names row l % 8 of block l / 8, and gets of each block the pair at row lane / 4,
// column 2 (lane % 4), of the block itself or of its transpose.
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
  const uint64_t* rows = emulated::meet_warp(reinterpret_cast<uint64_t>(row));
  const int along = emulated::lane() / 4, pair = emulated::lane() % 4 * 2;
  for (int i = 0; i < 4; ++i) {
    const auto of = [&](int r) { return reinterpret_cast<const bf16*>(rows[8 * i + r]); };
    blocks[i] = kTransposed ? emulated::pair_at(of(pair) + along, of(pair + 1) + along)
                            : emulated::pair_at(of(along) + pair, of(along) + pair + 1);
  }
  emulated::meet_warp(0);  // nobody writes before all have read
#endif
}

__device__ inline int lane_of_thread() { return static_cast<int>(threadIdx.x) % kWarp; }

// The pieces of a and b out of a matrix whose rows are `stride` apart, from its element `from` on.
//  left: a [16,16] as it is stored;  left_turned: its transpose is stored;
//  right: b [16,16], two pieces, as it is stored;  right_turned: its transpose is stored.
__device__ inline void load_left(uint32_t (&a)[4], const bf16* from, int stride) {
  const int lane = lane_of_thread();
  load_blocks<false>(a, from + lane % 16 * stride + lane / 16 * 8);
}
__device__ inline void load_left_turned(uint32_t (&a)[4], const bf16* from, int stride) {
  const int lane = lane_of_thread();
  load_blocks<true>(a, from + (lane % 8 + lane / 16 * 8) * stride + lane / 8 % 2 * 8);
}
__device__ inline void load_right(uint32_t (&b)[4], const bf16* from, int stride) {
  const int lane = lane_of_thread();
  load_blocks<true>(b, from + lane % 16 * stride + lane / 16 * 8);
}
__device__ inline void load_right_turned(uint32_t (&b)[4], const bf16* from, int stride) {
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
  const emulated::Words* all = emulated::meet_warp({{both(a[0], a[1]), both(a[2], a[3]), both(b0, b1)}});
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

// 16 bytes into shared memory, or zeros, that will have come when copies_arrived says so.
__device__ inline void copy_later(bf16* to, const bf16* from, bool inside) {
#if defined(__CUDACC__)
  const auto at = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  const int bytes = inside ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes) : "memory");
#else
  for (int i = 0; i < kVector; ++i) to[i] = inside ? from[i] : bf16();
#endif
}
__device__ inline void end_of_copies() {
#if defined(__CUDACC__)
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits for the copies of this thread, but for those of the last kLeft groups.
template <int kLeft> __device__ void copies_arrived() {
#if defined(__CUDACC__)
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
#endif
}
// Brings what will be read soon nearer.
__device__ inline void fetch_ahead(const void* from) {
#if defined(__CUDACC__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
#else
  static_cast<void>(from);
#endif
}

}  // namespace fovea::cuda
