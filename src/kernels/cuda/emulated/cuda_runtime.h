// Replaces NVIDIA's header in the emulated build, which compiles the CUDA kernels for the host, so that a machine
// without a GPU can test them. The threads of a block become fibres that switch at barriers. It is slow and serves
// tests only. Kernels use no CUDA features other than those declared here and `launch` in device_primitives.h.
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

// The index of the running thread.
extern dim3 thread_index, block_index, block_size, grid_size;

void run(const dim3& blocks, const dim3& threads, const std::function<void()>& kernel);
// Runs all blocks concurrently, so that they can wait for one another; `cluster` consecutive blocks along x form a
// cluster.
void run_cooperative(const dim3& blocks, const dim3& threads, unsigned cluster, const std::function<void()>& kernel);
void sync_block();
void sync_cluster();
void pause();  // yields to the other threads while polling
// Passes 8 bytes to the warp, waits for all its lanes and returns the bytes of all lanes.
const uint64_t* exchange_in_warp(uint64_t own);
// Does the same with 24 bytes.
struct Words {
  uint64_t word[3];
};
const Words* exchange_in_warp(const Words& own);
int lane();
std::byte* shared_memory_of(unsigned rank);  // of another block of the cluster
std::byte* shared_memory();                  // dynamic shared memory of the block, filled with NaN at the start

template <class V> V exchanged(V x, int other) {
  static_assert(sizeof(V) <= sizeof(uint64_t));
  uint64_t own = 0;
  std::memcpy(&own, &x, sizeof x);
  const uint64_t theirs = exchange_in_warp(own)[other];
  std::memcpy(&x, &theirs, sizeof x);
  return x;
}

}  // namespace fovea::cuda::emulated

#define threadIdx fovea::cuda::emulated::thread_index
#define blockIdx fovea::cuda::emulated::block_index
#define blockDim fovea::cuda::emulated::block_size
#define gridDim fovea::cuda::emulated::grid_size

inline void __syncthreads() { fovea::cuda::emulated::sync_block(); }
inline void __syncwarp() { fovea::cuda::emulated::exchange_in_warp(0); }
template <class V> V __shfl_xor_sync(unsigned, V x, int mask) {
  return fovea::cuda::emulated::exchanged(x, fovea::cuda::emulated::lane() ^ mask);
}
template <class V> V __shfl_up_sync(unsigned, V x, int distance) {
  const int lane = fovea::cuda::emulated::lane();
  return fovea::cuda::emulated::exchanged(x, lane < distance ? lane : lane - distance);
}
inline unsigned __ballot_sync(unsigned, bool vote) {
  const uint64_t* votes = fovea::cuda::emulated::exchange_in_warp(vote ? 1 : 0);
  unsigned word = 0;
  for (unsigned i = 0; i < 32; ++i) word |= static_cast<unsigned>(votes[i]) << i;
  return word;
}
inline int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1; }
inline int __popc(unsigned x) { return std::popcount(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __fdividef(float a, float b) { return a / b; }
