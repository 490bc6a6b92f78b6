// The bf16 GEMM on tiles emulated in plain C++, with simple packing. It specifies the fast kernels, and tests compare
// them with it; it runs on every machine.
#include <cassert>
#include <cstring>

#include "kernels/cpu/gemm/gemm_bf16_tiles.h"

namespace fovea::cpu {

namespace {

// The tiles as the processor manual describes them. Using a tile with a wrong shape faults on the processor and fails
// an assertion here.
class EmulatedTiles {
 public:
  void configure(const TileShapes& shapes) {
    shapes_ = shapes;
    for (int i = 0; i < 8; ++i) assert(shapes.rows[i] <= 16 && shapes.row_bytes[i] <= 64);
    configured_ = true;
  }
  void release() { configured_ = false; }
  template <int kIndex> void zero() {
    assert(configured_ && shapes_.rows[kIndex] > 0);
    std::memset(tiles_[kIndex], 0, sizeof tiles_[kIndex]);
  }
  template <int kIndex> void load(const bf16* from, int64_t row_bytes) {
    zero<kIndex>();
    const auto* row = reinterpret_cast<const std::byte*>(from);
    for (int i = 0; i < shapes_.rows[kIndex]; ++i, row += row_bytes) {
      std::memcpy(tiles_[kIndex][i], row, shapes_.row_bytes[kIndex]);
    }
  }
  template <int kIndex> void store(float* to, int64_t row_bytes) {
    assert(configured_ && shapes_.rows[kIndex] > 0);
    auto* row = reinterpret_cast<std::byte*>(to);
    for (int i = 0; i < shapes_.rows[kIndex]; ++i, row += row_bytes) {
      std::memcpy(row, tiles_[kIndex][i], shapes_.row_bytes[kIndex]);
    }
  }
  // sum[m][n] += left[m][2k] right[k][2n] + left[m][2k+1] right[k][2n+1].
  template <int kSum, int kLeft, int kRight> void multiply() {
    static_assert(kSum != kLeft && kSum != kRight && kLeft != kRight);
    assert(configured_ && shapes_.rows[kLeft] == shapes_.rows[kSum] &&
           shapes_.row_bytes[kSum] == shapes_.row_bytes[kRight] &&
           shapes_.row_bytes[kLeft] == 4 * shapes_.rows[kRight]);
    for (int m = 0; m < shapes_.rows[kSum]; ++m) {
      for (int k = 0; k < shapes_.rows[kRight]; ++k) {
        for (int n = 0; n < shapes_.row_bytes[kSum] / 4; ++n) {
          float sum = at<float>(kSum, m, n);
          sum += at<bf16>(kLeft, m, 2 * k) * at<bf16>(kRight, k, 2 * n);
          sum += at<bf16>(kLeft, m, 2 * k + 1) * at<bf16>(kRight, k, 2 * n + 1);
          std::memcpy(tiles_[kSum][m] + n * sizeof sum, &sum, sizeof sum);
        }
      }
    }
  }

 private:
  template <class T> float at(int tile, int row, int column) const {
    T value;
    std::memcpy(&value, tiles_[tile][row] + static_cast<size_t>(column) * sizeof value, sizeof value);
    return static_cast<float>(value);
  }

  TileShapes shapes_;
  bool configured_ = false;
  std::byte tiles_[8][16][64];
};

// Returns element (row, k) of a factor; 0 outside the region.
template <class T> bf16 element(const Region& region, int64_t row, int64_t k) {
  if (row >= region.row + region.rows || k >= region.k + region.depth) return bf16(0.0f);
  const auto* data = static_cast<const T*>(region.data);
  return bf16(static_cast<float>(region.along ? data[row * region.stride + k] : data[k * region.stride + row]));
}
bf16 element_of(const Region& region, int64_t row, int64_t k) {
  return region.dtype == DType::kBF16 ? element<bf16>(region, row, k) : element<float>(region, row, k);
}

void pack_rows_emulated(const Region& region, bf16* to) {
  for (int64_t block = region.k; block < region.k + region.depth; block += kDepth) {
    for (int64_t row = 0; row < region.rows; ++row) {
      for (int64_t k = 0; k < kDepth; ++k) *to++ = element_of(region, region.row + row, block + k);
    }
  }
}

void pack_panel_emulated(const Region& region, bf16* to) {
  for (int64_t block = region.k; block < region.k + region.depth; block += kDepth) {
    for (int64_t n = region.row; n < region.row + kPanel; n += kTile) {
      for (int64_t k = block; k < block + kDepth; k += 2) {
        for (int64_t column = n; column < n + kTile; ++column) {
          *to++ = element_of(region, column, k);
          *to++ = element_of(region, column, k + 1);
        }
      }
    }
  }
}

template <class T> void finish(const Sums& sums, const Output& out) {
  for (int64_t row = 0; row < sums.rows; ++row) {
    T* c = static_cast<T*>(out.data) + row * out.row_stride;
    for (int64_t column = 0; column < sums.columns; ++column) {
      float x = out.alpha * sums.data[row * sums.stride + column];
      if (out.bias) x += out.bias[column];
      if (out.accumulate) x += static_cast<float>(c[column]);
      c[column] = T(x);
    }
  }
}

void finish_emulated(const Sums& sums, const Output& out) {
  out.dtype == DType::kBF16 ? finish<bf16>(sums, out) : finish<float>(sums, out);
}

void strip_emulated(const Strip& strip) { strip_on_tiles<EmulatedTiles>(strip, finish_emulated); }

}  // namespace

const Bf16Kernels& emulated_kernels() {
  static constexpr Bf16Kernels kKernels = {
      .height = 2 * kTile, .strip = strip_emulated, .pack_rows = pack_rows_emulated, .pack_panel = pack_panel_emulated};
  return kKernels;
}

}  // namespace fovea::cpu
