// Cooperative kernels, whose blocks wait for one another. All blocks must be resident on the device at the same time,
// otherwise waiting blocks would prevent others from starting: launch_cooperative makes CUDA guarantee it and throws
// Error if they do not fit. Consecutive blocks along x may form clusters, which can read each other's shared memory.
#pragma once

#include "kernels/cuda/common/device_primitives.h"

namespace fovea::cuda {

// ---- launching ---------------------------------------------------------------------------------

struct Card {
  int64_t processors;  // number of streaming multiprocessors
  int64_t shared;      // bytes of shared memory that a block may use
};
inline Card card_of(const Stream& stream) {
#if defined(__CUDACC__)
  int processors = 0, shared = 0;
  const auto query = [&](int& value, cudaDeviceAttr attribute) {
    require(cudaDeviceGetAttribute(&value, attribute, stream.device.index), "querying the GPU");
  };
  query(processors, cudaDevAttrMultiProcessorCount);
  query(shared, cudaDevAttrMaxSharedMemoryPerBlockOptin);
  return {processors, shared};
#else
  static_cast<void>(stream);
  return {132, 227 << 10};
#endif
}

struct Clusters {
  int size = 1;  // blocks per cluster

#if defined(__CUDACC__)
  // The returned configuration refers to the attributes of this object.
  cudaLaunchConfig_t config(const Stream& stream, const Grid& grid) {
    attributes[0].id = cudaLaunchAttributeCooperative;
    attributes[0].val.cooperative = 1;
    attributes[1].id = cudaLaunchAttributeClusterDimension;
    attributes[1].val.clusterDim = {to_unsigned(size), 1, 1};
    cudaLaunchConfig_t launch = {};
    launch.gridDim = grid.blocks;
    launch.blockDim = grid.threads;
    launch.dynamicSmemBytes = static_cast<size_t>(grid.shared);
    launch.stream = queue_of(stream);
    launch.attrs = attributes;
    launch.numAttrs = size > 1 ? 2 : 1;
    return launch;
  }
  cudaLaunchAttribute attributes[2] = {};
#endif
};

// Returns how many of these blocks can be resident on the device at the same time. Also grants the kernel its dynamic
// shared memory.
template <class... Parameters>
int64_t max_resident_blocks(const Stream& stream, void (*kernel)(Parameters...), const Grid& grid, Clusters clusters) {
#if defined(__CUDACC__)
  use(stream.device);
  require(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, grid.shared), "shared memory");
  int count = 0;
  if (clusters.size > 1) {
    const cudaLaunchConfig_t config = clusters.config(stream, grid);
    require(cudaOccupancyMaxActiveClusters(&count, kernel, &config), "querying the occupancy");
    return int64_t{count} * clusters.size;
  }
  require(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, kernel, static_cast<int>(grid.threads.x),
                                                        static_cast<size_t>(grid.shared)),
          "querying the occupancy");
  return count * card_of(stream).processors;
#else
  static_cast<void>(kernel), static_cast<void>(grid), static_cast<void>(clusters);
  return card_of(stream).processors;
#endif
}

// Requires a preceding call of max_resident_blocks for the same kernel and grid.
template <class Parameter>
void launch_cooperative(Stream& stream, void (*kernel)(Parameter), const Grid& grid, Clusters clusters,
                        std::remove_const_t<Parameter> x) {
#if defined(__CUDACC__)
  use(stream.device);
  const cudaLaunchConfig_t config = clusters.config(stream, grid);
  require(cudaLaunchKernelEx(&config, kernel, x), "launching a cooperative kernel");
#else
  static_cast<void>(stream);
  emulated::run_cooperative(grid.blocks, grid.threads, to_unsigned(clusters.size), [&] { kernel(x); });
#endif
}

// ---- synchronisation ---------------------------------------------------------------------------

// A reusable barrier among several blocks: a counter in global memory that is zero when the kernel starts. Writes of a
// block before arrive() are visible to the blocks that have waited for it.
struct BlockBarrier {
  static constexpr int kStride = 32;  // distance between counters, so that no two share a cache line

  unsigned* count;
  unsigned blocks;  // number of blocks that arrive

  __device__ void arrive() const {
    __syncthreads();
    if (threadIdx.x != 0) return;
#if defined(__CUDACC__)
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(count) : "memory");
#else
    ++*count;
#endif
  }
  // Waits until all blocks have arrived this many times.
  __device__ void wait(unsigned times) const {
    if (threadIdx.x == 0) {
      while (arrivals() < times * blocks) {
#if !defined(__CUDACC__)
        emulated::pause();
#endif
      }
    }
    __syncthreads();
  }

 private:
  __device__ unsigned arrivals() const {
#if defined(__CUDACC__)
    unsigned value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(count) : "memory");
    return value;
#else
    return *count;
#endif
  }
};

// Synchronises all threads of a cluster. Afterwards each can read what the others wrote to shared memory.
__device__ inline void sync_cluster() {
#if defined(__CUDACC__)
  asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
#else
  emulated::sync_cluster();
#endif
}
// Returns the address, in the shared memory of the block with this rank in the cluster, that corresponds to `own`.
template <class T> __device__ const T* peer_address(const T* own, int rank) {
#if defined(__CUDACC__)
  uint64_t address;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(address) : "l"(own), "r"(rank));
  return reinterpret_cast<const T*>(address);
#else
  const auto* bytes = reinterpret_cast<const std::byte*>(own);
  return reinterpret_cast<const T*>(emulated::shared_memory_of(to_unsigned(rank)) +
                                    (bytes - emulated::shared_memory()));
#endif
}

}  // namespace fovea::cuda
