// Kernels whose blocks wait for one another. All blocks must be on the card at once, else those that wait would keep
// out those that are waited for: launch_together has CUDA see to that, and it is an Error when they do not fit.
#pragma once

#include "kernels/cuda/device.h"

namespace fovea::cuda {

// ---- launching ---------------------------------------------------------------------------------

struct Card {
  int64_t processors, shared;  // how many, and bytes of memory the threads of one may share
};
inline Card card_of(const Stream& stream) {
#if defined(__CUDACC__)
  int processors = 0, shared = 0;
  const auto ask = [&](int& value, cudaDeviceAttr what) {
    require(cudaDeviceGetAttribute(&value, what, stream.device.index), "asking the card");
  };
  ask(processors, cudaDevAttrMultiProcessorCount);
  ask(shared, cudaDevAttrMaxSharedMemoryPerBlockOptin);
  return {processors, shared};
#else
  static_cast<void>(stream);
  return {132, 227 << 10};
#endif
}

// How many of these blocks each processor holds at once.
template <class... Parameters>
int64_t blocks_at_once(const Stream& stream, void (*kernel)(Parameters...), const Grid& grid) {
#if defined(__CUDACC__)
  use(stream.device);
  require(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, grid.shared), "shared memory");
  int blocks = 0;
  require(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, static_cast<int>(grid.threads.x),
                                                        static_cast<size_t>(grid.shared)),
          "asking how many blocks fit");
  return blocks;
#else
  static_cast<void>(stream), static_cast<void>(kernel), static_cast<void>(grid);
  return 1;
#endif
}

// After blocks_at_once of the same, which grants the kernel its memory.
template <class Parameter>
void launch_together(Stream& stream, void (*kernel)(Parameter), const Grid& grid, std::remove_const_t<Parameter> x) {
#if defined(__CUDACC__)
  use(stream.device);
  void* arguments[] = {&x};
  require(cudaLaunchCooperativeKernel(kernel, grid.blocks, grid.threads, arguments, static_cast<size_t>(grid.shared),
                                      queue_of(stream)),
          "a kernel of blocks that wait for one another");
#else
  static_cast<void>(stream);
  emulated::run_together(grid.blocks, grid.threads, [&] { kernel(x); });
#endif
}

// ---- meeting -----------------------------------------------------------------------------------

// Where some blocks meet again and again: a count in memory that was zero when the kernel began. What a block wrote
// before it came can be read by those that waited for it.
struct Meeting {
  static constexpr int kApart = 32;  // counts, so that no two share a line of the cache

  unsigned* count;
  unsigned everyone;

  __device__ void come() const {
    __syncthreads();
    if (threadIdx.x != 0) return;
#if defined(__CUDACC__)
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(count) : "memory");
#else
    ++*count;
#endif
  }
  // For all to have come this many times.
  __device__ void wait(unsigned times) const {
    if (threadIdx.x == 0) {
      while (seen() < times * everyone) {
#if !defined(__CUDACC__)
        emulated::pause();
#endif
      }
    }
    __syncthreads();
  }

 private:
  __device__ unsigned seen() const {
#if defined(__CUDACC__)
    unsigned value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(count) : "memory");
    return value;
#else
    return *count;
#endif
  }
};

}  // namespace fovea::cuda
