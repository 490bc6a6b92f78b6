// The bf16 GEMM on tiles emulated in plain C++, with simple packing. It specifies the fast kernels, and tests compare
// them with it; it runs on every machine.
#include "kernels/cpu/gemm/gemm_bf16_tiles.h"

namespace fovea::cpu {

namespace {

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
