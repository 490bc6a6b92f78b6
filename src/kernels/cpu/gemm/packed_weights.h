// Packed copies of a weight in the layouts that the GEMM kernels read. The buffer of the weight owns them
// (Buffer::derived); they are updated in place when its contents have changed, and threads may share them.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "kernels/kernels.h"

namespace fovea::cpu {

// Memory of the packed copies of one buffer, all freed together. It is allocated in pieces that are large enough for
// huge pages: a model that has just been loaded packs every weight, and much of its first sentence's time would go into
// page faults.
class PackedMemory {
 public:
  // `weights` is the size of the buffer, in bytes.
  explicit PackedMemory(size_t weights);
  // Returns `count` elements, aligned to kAlignment.
  template <class T> T* get(size_t count) { return reinterpret_cast<T*>(allocate(count * sizeof(T))); }

 private:
  std::byte* allocate(size_t bytes);

  size_t piece_, left_ = 0;
  std::byte* next_ = nullptr;
  std::vector<std::unique_ptr<Buffer>> pieces_;
};

// One packed copy. Its creator knows the derived type.
class PackedCopy {
 public:
  virtual ~PackedCopy() = default;

 private:
  friend class PackedWeights;
  uint64_t version_ = 0;  // version of the buffer that it was filled from; a buffer starts with 1
};

struct PackedWeightKey {
  enum class Layout : uint8_t { kBF16, kPanels, kInt8, kWinograd };

  Layout layout;
  bool transposed;
  DType dtype;
  int64_t offset;  // of the matrix in the buffer, in bytes
  int64_t row_stride, n, k;

  PackedWeightKey(Layout wanted, const Matrix& matrix, int64_t columns, int64_t depth);
  friend bool operator==(const PackedWeightKey&, const PackedWeightKey&) = default;
};

}  // namespace fovea::cpu

template <> struct std::hash<fovea::cpu::PackedWeightKey> {
  size_t operator()(const fovea::cpu::PackedWeightKey& key) const;
};

namespace fovea::cpu {

class PackedWeights : public Derived {
 public:
  // Returns whether copies of the matrix can be cached.
  static bool can_cache(const Matrix& matrix) { return matrix.weight && matrix.tensor.buffer() != nullptr; }

  // Returns the copy of a cacheable matrix for `key`. make(PackedMemory&) returns a new std::unique_ptr<P> with
  // memory from there and fill(P&) sets its contents; each is called only if needed. The copy lives as long as the
  // buffer.
  template <class P, class Make, class Fill>
  static const P& get(const Matrix& matrix, const PackedWeightKey& key, Make&& make, Fill&& fill) {
    Buffer& buffer = *matrix.tensor.buffer();
    const std::lock_guard lock(buffer.derived_mutex);
    PackedWeights& weights = of(buffer);
    std::unique_ptr<PackedCopy>& pack = weights.packs_[key];
    if (!pack) pack = make(weights.memory_);
    P& found = static_cast<P&>(*pack);
    const uint64_t version = buffer.version();
    if (pack->version_ != version) {
      fill(found);
      pack->version_ = version;
    }
    return found;
  }

 private:
  explicit PackedWeights(size_t weights) : memory_(weights) {}
  static PackedWeights& of(Buffer& buffer);

  PackedMemory memory_;
  std::unordered_map<PackedWeightKey, std::unique_ptr<PackedCopy>> packs_;
};

}  // namespace fovea::cpu
