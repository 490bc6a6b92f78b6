#include "kernels/cuda/common/workspace.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "tensor/cuda.h"

namespace fovea::cuda {

namespace {

constexpr size_t kFirstBlock = size_t{64} << 20, kAlign = 256;

struct Pool {
  struct Block {
    std::byte* data;
    size_t bytes;
  };
  Device device;
  std::vector<Block> blocks;
  size_t block = 0, offset = 0;  // position of the next allocation

  ~Pool() {
    for (const Block& each : blocks) release(device, each.data);
  }
};

Pool& pool_of(Device device) {
  thread_local std::map<std::pair<int, bool>, Pool> all;
  Pool& pool = all[{device.index, on_side_stream()}];
  pool.device = device;
  return pool;
}

}  // namespace

Workspace::Workspace(const Stream& stream)
    : device_(stream.device), block_(pool_of(device_).block), offset_(pool_of(device_).offset) {}

Workspace::~Workspace() {
  Pool& pool = pool_of(device_);
  pool.block = block_;
  pool.offset = offset_;
}

std::byte* Workspace::allocate_bytes(size_t bytes) {
  Pool& pool = pool_of(device_);
  const size_t rounded = (bytes + kAlign - 1) / kAlign * kAlign;
  while (pool.block < pool.blocks.size() && pool.offset + rounded > pool.blocks[pool.block].bytes) {
    ++pool.block;
    pool.offset = 0;
  }
  if (pool.block == pool.blocks.size()) {
    const size_t size = std::max(pool.blocks.empty() ? kFirstBlock : 2 * pool.blocks.back().bytes, rounded);
    pool.blocks.push_back({cuda::allocate(device_, size), size});
    pool.offset = 0;
  }
  std::byte* data = pool.blocks[pool.block].data + pool.offset;
  pool.offset += rounded;
  return data;
}

}  // namespace fovea::cuda
