// Kernels whose blocks wait for one another. All blocks must be on the card at once, else those that wait would keep
// out those that are waited for: launch_together has CUDA see to that, and it is an Error when they do not fit.
// Blocks that follow one another along x may form clusters, which read one another's shared memory.
#pragma once

#include "kernels/cuda/common/device_primitives.h"

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

struct Clusters {
  int size = 1;  // blocks in one

#if defined(__CUDACC__)
  // The attributes live as long as this does.
  cudaLaunchConfig_t config(const Stream& stream, const Grid& grid) {
    attributes[0].id = cudaLaunchAttributeCooperative;
    attributes[0].val.cooperative = 1;
    attributes[1].id = cudaLaunchAttributeClusterDimension;
    attributes[1].val.clusterDim = {to_unsigned(size), 1, 1};
    cudaLaunchConfig_t made = {};
    made.gridDim = grid.blocks;
    made.blockDim = grid.threads;
    made.dynamicSmemBytes = static_cast<size_t>(grid.shared);
    made.stream = queue_of(stream);
    made.attrs = attributes;
    made.numAttrs = size > 1 ? 2 : 1;
    return made;
  }
  cudaLaunchAttribute attributes[2] = {};
#endif
};

// How many of these blocks the card holds at once.
template <class... Parameters>
int64_t blocks_at_once(const Stream& stream, void (*kernel)(Parameters...), const Grid& grid, Clusters clusters) {
#if defined(__CUDACC__)
  use(stream.device);
  require(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, grid.shared), "shared memory");
  int count = 0;
  if (clusters.size > 1) {
    const cudaLaunchConfig_t config = clusters.config(stream, grid);
    require(cudaOccupancyMaxActiveClusters(&count, kernel, &config), "asking how many clusters fit");
    return int64_t{count} * clusters.size;
  }
  require(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, kernel, static_cast<int>(grid.threads.x),
                                                        static_cast<size_t>(grid.shared)),
          "asking how many blocks fit");
  return count * card_of(stream).processors;
#else
  static_cast<void>(kernel), static_cast<void>(grid), static_cast<void>(clusters);
  return card_of(stream).processors;
#endif
}

// After blocks_at_once of the same, which grants the kernel its memory.
template <class Parameter>
void launch_together(Stream& stream, void (*kernel)(Parameter), const Grid& grid, Clusters clusters,
                     std::remove_const_t<Parameter> x) {
#if defined(__CUDACC__)
  use(stream.device);
  const cudaLaunchConfig_t config = clusters.config(stream, grid);
  require(cudaLaunchKernelEx(&config, kernel, x), "a kernel of blocks that wait for one another");
#else
  static_cast<void>(stream);
  emulated::run_together(grid.blocks, grid.threads, to_unsigned(clusters.size), [&] { kernel(x); });
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

// All threads of a cluster; what they wrote to shared memory can be read by all.
__device__ inline void meet_cluster() {
#if defined(__CUDACC__)
  asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
#else
  emulated::meet_cluster();
#endif
}
// Where the cluster's block of this rank has what this one has at `own`, in shared memory.
template <class T> __device__ const T* of_peer(const T* own, int rank) {
#if defined(__CUDACC__)
  uint64_t there;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(own), "r"(rank));
  return reinterpret_cast<const T*>(there);
#else
  const auto* bytes = reinterpret_cast<const std::byte*>(own);
  return reinterpret_cast<const T*>(emulated::shared_memory_of(to_unsigned(rank)) +
                                    (bytes - emulated::shared_memory()));
#endif
}

}  // namespace fovea::cuda
