// Memory of one pass: handed out by moving a pointer, taken back all at once. After a first pass has
// shown how much is needed, the next ones get the same addresses and the heap is not asked again.
// What is known to be of no more use can be given back before that and is handed out again. A tensor made
// in an arena is gone when its memory is given back or the arena rewound; AddressSanitizer builds catch
// its use.
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
  // More than this is OutOfMemory, as if there were no more; 0 for no limit.
  void set_limit(size_t bytes) { limit_ = bytes; }
  void give_back(std::byte* data, size_t bytes);  // as they were asked for
  void rewind();
  size_t used() const { return used_; }
  size_t peak() const { return peak_; }
  // Changes whenever more memory was taken: what was made before, in the same order, may then get other addresses.
  uint64_t generation() const { return generation_; }

  // The arena that `empty` takes from on this thread, if any.
  static Arena* current();

 private:
  friend class ArenaScope;
  struct Chunk {
    std::byte* data;
    size_t bytes;
  };
  void add_chunk(size_t bytes);
  void add_chunk(size_t wanted, size_t needed);  // less than wanted, where there is not so much
  std::byte* reuse(size_t bytes);

  Device device_;
  std::vector<Chunk> chunks_;  // the last one is being filled
  std::vector<Chunk> free_;    // given back
  size_t offset_ = 0;          // in the last chunk
  size_t used_ = 0, peak_ = 0, limit_ = 0;
  uint64_t generation_ = 0;
};

// While it lives, tensors made on this thread on the arena's device come from the arena. A null arena
// sends them to the heap again, for what must outlive a pass.
class ArenaScope {
 public:
  explicit ArenaScope(Arena* arena);
  ~ArenaScope();
  ArenaScope(const ArenaScope&) = delete;
  ArenaScope& operator=(const ArenaScope&) = delete;

 private:
  Arena* before_;
};

}  // namespace fovea
