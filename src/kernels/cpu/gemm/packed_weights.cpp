#include "kernels/cpu/gemm/packed_weights.h"

#include <algorithm>
#include <utility>

namespace fovea::cpu {

PackedWeightKey::PackedWeightKey(Layout wanted, const Matrix& matrix, int64_t columns, int64_t depth)
    : layout(wanted),
      transposed(matrix.transposed),
      dtype(matrix.tensor.dtype()),
      offset(matrix.tensor.address() - matrix.tensor.buffer()->data() +
             matrix.offset * static_cast<int64_t>(size_of(matrix.tensor.dtype()))),
      row_stride(matrix.row_stride),
      n(columns),
      k(depth) {}

// Copies in 8 bits of f32 weights take a quarter of their size and, for each row, a scale and a sum.
PackedMemory::PackedMemory(size_t weights) : piece_(std::min(weights / 4 + weights / 16, size_t{8} << 20)) {}

std::byte* PackedMemory::allocate(size_t bytes) {
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (bytes > left_) {
    const Buffer& piece = *pieces_.emplace_back(std::make_unique<Buffer>(Device::cpu(), std::max(bytes, piece_)));
    next_ = piece.data();
    left_ = piece.bytes();
  }
  left_ -= bytes;
  return std::exchange(next_, next_ + bytes);
}

PackedWeights& PackedWeights::of(Buffer& buffer) {
  if (!buffer.derived) buffer.derived.reset(new PackedWeights(buffer.bytes()));
  return static_cast<PackedWeights&>(*buffer.derived);
}

}  // namespace fovea::cpu

size_t std::hash<fovea::cpu::PackedWeightKey>::operator()(const fovea::cpu::PackedWeightKey& key) const {
  uint64_t h =
      static_cast<uint64_t>(key.layout) << 1 | static_cast<uint64_t>(key.dtype) << 4 | uint64_t{key.transposed};
  for (const int64_t part : {key.offset, key.row_stride, key.n, key.k}) {
    h = (h ^ static_cast<uint64_t>(part)) * 0x9E3779B97F4A7C15u;
    h ^= h >> 29;
  }
  return h;
}
