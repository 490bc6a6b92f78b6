// The memory of one pass. Allocation advances a pointer and rewind() frees everything at once. After the first pass the
// arena is large enough, so that later passes get the same addresses without heap allocations. Memory that is no longer
// needed can be released earlier and is then reused. A tensor in an arena is invalid once its memory is released or the
// arena is rewound; AddressSanitizer builds detect its use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensor/device.h"

namespace fovea {

class Arena {
 public:
  explicit Arena(Device device, size_t first_chunk = size_t{1} << 20);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  Device device() const { return device_; }
  std::byte* allocate(size_t bytes);
  // Allocations beyond the limit throw OutOfMemory; 0 means no limit.
  void set_limit(size_t bytes) { limit_ = bytes; }
  void release(std::byte* data, size_t bytes);  // `bytes` as passed to allocate
  void rewind();
  size_t used() const { return used_; }
  size_t peak() const { return peak_; }
  // Changes whenever the arena grows: repeating the same allocations may then return other addresses.
  uint64_t generation() const { return generation_; }

  // Returns the arena that `empty` allocates from on this thread, or null.
  static Arena* current();

 private:
  friend class ArenaScope;
  struct Chunk {
    std::byte* data;
    size_t bytes;
  };
  void add_chunk(size_t bytes);
  void add_chunk(size_t wanted, size_t needed);  // falls back to `needed` bytes when `wanted` are not available
  std::byte* reuse(size_t bytes);

  Device device_;
  std::vector<Chunk> chunks_;  // allocations come from the last one
  std::vector<Chunk> free_;    // released
  size_t offset_ = 0;          // in the last chunk
  size_t used_ = 0, peak_ = 0, limit_ = 0;
  uint64_t generation_ = 0;
};

// Within the scope, tensors on the arena's device that this thread creates are allocated in the arena. A null arena
// selects the heap again, for tensors that must outlive the pass.
class ArenaScope {
 public:
  explicit ArenaScope(Arena* arena);
  ~ArenaScope();
  ArenaScope(const ArenaScope&) = delete;
  ArenaScope& operator=(const ArenaScope&) = delete;

 private:
  Arena* previous_;
};

}  // namespace fovea
