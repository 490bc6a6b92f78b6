// Copies of a weight in the layouts products want. They hang on the weight's buffer (Buffer::derived)
// and are filled anew, in place, when its contents have changed; several threads may share them.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>

#include "kernels/kernels.h"

namespace fovea::cpu {

// One copy; what it holds is known to whoever made it.
class Pack {
 public:
  virtual ~Pack() = default;

 private:
  friend class Packs;
  uint64_t version_ = 0;  // of the buffer it was filled from; a buffer's first is 1
};

struct PackKey {
  enum class Layout : uint8_t { kF32, kBF16, kPanels, kInt8 };

  Layout layout;
  bool transposed;
  DType dtype;
  int64_t offset;  // of the matrix in the buffer, in bytes
  int64_t row_stride, n, k;

  PackKey(Layout wanted, const Matrix& matrix, int64_t columns, int64_t depth);
  friend bool operator==(const PackKey&, const PackKey&) = default;
};

}  // namespace fovea::cpu

template <> struct std::hash<fovea::cpu::PackKey> { size_t operator()(const fovea::cpu::PackKey& key) const; };

namespace fovea::cpu {

class Packs : public Derived {
 public:
  // Whether copies of the matrix may be kept.
  static bool may_keep(const Matrix& matrix) { return matrix.weight && matrix.tensor.buffer() != nullptr; }

  // The copy `key` names of a matrix that may be kept. make() gives a new std::unique_ptr<P> and fill(P&)
  // sets its contents; both are called only where needed. The copy lives as long as the buffer.
  template <class P, class Make, class Fill>
  static const P& get(const Matrix& matrix, const PackKey& key, Make&& make, Fill&& fill) {
    Buffer& buffer = *matrix.tensor.buffer();
    const std::lock_guard lock(buffer.derived_mutex);
    std::unique_ptr<Pack>& pack = of(buffer).packs_[key];
    if (!pack) pack = make();
    P& found = static_cast<P&>(*pack);
    const uint64_t version = buffer.version();
    if (pack->version_ != version) {
      fill(found);
      pack->version_ = version;
    }
    return found;
  }

 private:
  static Packs& of(Buffer& buffer);

  std::unordered_map<PackKey, std::unique_ptr<Pack>> packs_;
};

}  // namespace fovea::cpu
