#include "tensor/arena.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/error.h"
#include "tensor/memory.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define FOVEA_POISON(data, bytes) ASAN_POISON_MEMORY_REGION(data, bytes)
#define FOVEA_UNPOISON(data, bytes) ASAN_UNPOISON_MEMORY_REGION(data, bytes)
#else
#define FOVEA_POISON(data, bytes) static_cast<void>(0)
#define FOVEA_UNPOISON(data, bytes) static_cast<void>(0)
#endif

namespace fovea {

namespace {

thread_local Arena* current_arena = nullptr;

constexpr size_t kPage = size_t{1} << 16, kHugePage = size_t{1} << 21;

size_t rounded_up(size_t bytes, size_t multiple = kAlignment) { return (bytes + multiple - 1) / multiple * multiple; }

// Chunks on the host go back to the system when they are freed: the heap would keep the pages of a chunk beside
// those of the larger one that replaces it.
#if defined(__EMSCRIPTEN__)
bool is_mapped(Device, size_t) { return false; }  // a part of a mapping cannot be returned there
#else
bool is_mapped(Device device, size_t bytes) { return device.on_host() && bytes >= kHugePage / 2; }
#endif
bool has_huge_pages(size_t bytes) { return bytes >= 2 * kHugePage; }
size_t mapped_size(size_t bytes) { return rounded_up(bytes, has_huge_pages(bytes) ? kHugePage : kPage); }

std::byte* allocate_chunk(Device device, size_t bytes) {
  if (!is_mapped(device, bytes)) return allocate_memory(device, bytes);
  const size_t size = mapped_size(bytes);
  // With room for the alignment, which is returned.
  void* mapped = ::mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    throw OutOfMemory(
        fmt::format("out of memory: cannot allocate {} bytes on {}; try a smaller batch or model", bytes, device));
  }
  const auto at = reinterpret_cast<uintptr_t>(mapped);
  const size_t before = rounded_up(at, kHugePage) - at;
  auto* begin = static_cast<std::byte*>(mapped) + before;
  if (before > 0) ::munmap(mapped, before);
  ::munmap(begin + size, kHugePage - before);
#if defined(MADV_HUGEPAGE)
  // With small pages, TLB misses would take much of the time of a pass.
  if (has_huge_pages(bytes)) ::madvise(begin, size, MADV_HUGEPAGE);
#endif
  return begin;
}

void free_chunk(Device device, std::byte* data, size_t bytes) noexcept {
  if (!is_mapped(device, bytes)) return free_memory(device, data);
  ::munmap(data, mapped_size(bytes));
}

}  // namespace

Arena::Arena(Device device, size_t first_chunk) : device_(device) { add_chunk(first_chunk); }

Arena::~Arena() {
  for (const Chunk& chunk : chunks_) {
    FOVEA_UNPOISON(chunk.data, chunk.bytes);
    free_chunk(device_, chunk.data, chunk.bytes);
  }
}

void Arena::add_chunk(size_t bytes) {
  std::byte* data = allocate_chunk(device_, bytes);
  chunks_.push_back({data, bytes});
  ++generation_;
  offset_ = 0;
  if (device_.on_host()) FOVEA_POISON(data, bytes);
}

void Arena::add_chunk(size_t wanted, size_t needed) {
  try {
    add_chunk(wanted);
  } catch (const OutOfMemory&) {
    add_chunk(needed);
  }
}

void Arena::release(std::byte* data, size_t bytes) {
  if (bytes == 0) return;
  Chunk piece{data, rounded_up(bytes)};
  // Joined with the free pieces before and after it, so that larger tensors fit as well. Not on a card, where no copy
  // may reach from one chunk into another that happens to be adjacent.
  for (size_t i = 0; device_.on_host() && i < free_.size();) {
    const Chunk& other = free_[i];
    const bool before = other.data + other.bytes == piece.data, after = piece.data + piece.bytes == other.data;
    if (!before && !after) {
      ++i;
      continue;
    }
    piece = {before ? other.data : piece.data, piece.bytes + other.bytes};
    free_[i] = free_.back();
    free_.pop_back();
  }
  free_.push_back(piece);
  if (device_.on_host()) FOVEA_POISON(data, bytes);
}

// Takes the smallest free piece that is large enough; the remainder of the piece stays free.
std::byte* Arena::reuse(size_t bytes) {
  auto best = free_.end();
  for (auto piece = free_.begin(); piece != free_.end(); ++piece) {
    if (piece->bytes >= bytes && (best == free_.end() || piece->bytes < best->bytes)) best = piece;
  }
  if (best == free_.end()) return nullptr;
  std::byte* data = best->data;
  best->data += bytes;
  best->bytes -= bytes;
  if (best->bytes == 0) {
    *best = free_.back();
    free_.pop_back();
  }
  return data;
}

std::byte* Arena::allocate(size_t bytes) {
  const size_t rounded = rounded_up(bytes);
  if (std::byte* reused = rounded > 0 ? reuse(rounded) : nullptr) {
    if (device_.on_host()) FOVEA_UNPOISON(reused, bytes);
    return reused;
  }
  if (limit_ > 0 && used_ + rounded > limit_) {
    throw OutOfMemory(fmt::format("out of memory: {} bytes requested on {} with {} in use; the limit is {}", rounded,
                                  device_, used_, limit_));
  }
  if (offset_ + rounded > chunks_.back().bytes) add_chunk(std::max(rounded, 2 * chunks_.back().bytes), rounded);
  std::byte* data = chunks_.back().data + offset_;
  offset_ += rounded;
  used_ += rounded;
  peak_ = std::max(peak_, used_);
  if (device_.on_host()) FOVEA_UNPOISON(data, bytes);
  return data;
}

void Arena::rewind() {
  if (chunks_.size() > 1) {
    // All chunks are replaced by one that is large enough, so that later passes get repeating addresses.
    for (const Chunk& chunk : chunks_) {
      if (device_.on_host()) FOVEA_UNPOISON(chunk.data, chunk.bytes);
      free_chunk(device_, chunk.data, chunk.bytes);
    }
    chunks_.clear();
    add_chunk(peak_ + peak_ / 8, peak_);
  } else if (device_.on_host()) {
    FOVEA_POISON(chunks_.back().data, chunks_.back().bytes);
  }
  free_.clear();
  offset_ = 0;
  used_ = 0;
}

Arena* Arena::current() { return current_arena; }

ArenaScope::ArenaScope(Arena* arena) : previous_(current_arena) { current_arena = arena; }
ArenaScope::~ArenaScope() { current_arena = previous_; }

}  // namespace fovea
