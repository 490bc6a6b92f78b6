#include "kernels/cuda/common/workspace.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "tensor/cuda.h"

namespace fovea::cuda {

namespace {

constexpr size_t kFirst = size_t{64} << 20, kAlign = 256;

struct Memory {
  struct Block {
    std::byte* data;
    size_t bytes;
  };
  Device device;
  std::vector<Block> blocks;
  size_t block = 0, offset = 0;  // what comes next

  ~Memory() {
    for (const Block& each : blocks) release(device, each.data);
  }
};

Memory& memory_of(Device device) {
  thread_local std::map<std::pair<int, bool>, Memory> all;
  Memory& memory = all[{device.index, on_branch()}];
  memory.device = device;
  return memory;
}

}  // namespace

Scratch::Scratch(const Stream& stream)
    : device_(stream.device), block_(memory_of(device_).block), offset_(memory_of(device_).offset) {}

Scratch::~Scratch() {
  Memory& memory = memory_of(device_);
  memory.block = block_;
  memory.offset = offset_;
}

std::byte* Scratch::bytes(size_t count) {
  Memory& memory = memory_of(device_);
  const size_t rounded = (count + kAlign - 1) / kAlign * kAlign;
  while (memory.block < memory.blocks.size() && memory.offset + rounded > memory.blocks[memory.block].bytes) {
    ++memory.block;
    memory.offset = 0;
  }
  if (memory.block == memory.blocks.size()) {
    const size_t size = std::max(memory.blocks.empty() ? kFirst : 2 * memory.blocks.back().bytes, rounded);
    memory.blocks.push_back({allocate(device_, size), size});
    memory.offset = 0;
  }
  std::byte* data = memory.blocks[memory.block].data + memory.offset;
  memory.offset += rounded;
  return data;
}

}  // namespace fovea::cuda
