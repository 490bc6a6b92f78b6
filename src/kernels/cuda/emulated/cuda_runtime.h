// Stands in for NVIDIA's header where the kernels of the card are compiled for the host, so that a machine without
// one can check what they compute: the threads of a block become fibres that take turns where they meet. Slow, and
// of no use but for tests. What CUDA does beyond C++ is kept to what stands here (and `launch` in device.h).
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

#define __global__
#define __device__
#define __shared__ [[maybe_unused]] static
#define __grid_constant__
#define __launch_bounds__(...)

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}  // NOLINT(google-explicit-constructor)
};
using cudaStream_t = void*;

namespace fovea::cuda::emulated {

// Where the running thread is.
extern dim3 thread_index, block_index, block_size, grid_size;

void run(const dim3& blocks, const dim3& threads, const std::function<void()>& kernel);
// The same with all blocks alive at once, so that they may wait for one another; `cluster` of them along x a cluster.
void run_together(const dim3& blocks, const dim3& threads, unsigned cluster, const std::function<void()>& kernel);
void meet_block();
void meet_cluster();
void pause();  // lets the others go on, while something they will do is waited for
// Leaves 8 bytes, waits for the warp, and returns those of all its lanes.
const uint64_t* meet_warp(uint64_t own);
// The same with 24 bytes.
struct Words {
  uint64_t word[3];
};
const Words* meet_warp(const Words& own);
int lane();
std::byte* shared_memory_of(unsigned rank);  // of a block of the cluster
std::byte* shared_memory();  // what a block shares beyond the variables of its kernel, full of NaN when it begins

template <class V> V exchanged(V x, int other) {
  static_assert(sizeof(V) <= sizeof(uint64_t));
  uint64_t own = 0;
  std::memcpy(&own, &x, sizeof x);
  const uint64_t theirs = meet_warp(own)[other];
  std::memcpy(&x, &theirs, sizeof x);
  return x;
}

}  // namespace fovea::cuda::emulated

#define threadIdx fovea::cuda::emulated::thread_index
#define blockIdx fovea::cuda::emulated::block_index
#define blockDim fovea::cuda::emulated::block_size
#define gridDim fovea::cuda::emulated::grid_size

inline void __syncthreads() { fovea::cuda::emulated::meet_block(); }
inline void __syncwarp() { fovea::cuda::emulated::meet_warp(0); }
template <class V> V __shfl_xor_sync(unsigned, V x, int mask) {
  return fovea::cuda::emulated::exchanged(x, fovea::cuda::emulated::lane() ^ mask);
}
template <class V> V __shfl_up_sync(unsigned, V x, int distance) {
  const int lane = fovea::cuda::emulated::lane();
  return fovea::cuda::emulated::exchanged(x, lane < distance ? lane : lane - distance);
}
inline unsigned __ballot_sync(unsigned, bool vote) {
  const uint64_t* votes = fovea::cuda::emulated::meet_warp(vote ? 1 : 0);
  unsigned word = 0;
  for (unsigned i = 0; i < 32; ++i) word |= static_cast<unsigned>(votes[i]) << i;
  return word;
}
inline int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1; }
inline int __popc(unsigned x) { return std::popcount(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __fdividef(float a, float b) { return a / b; }
