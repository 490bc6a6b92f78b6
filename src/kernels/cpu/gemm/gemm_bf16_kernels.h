// The interface of a kernel for the bf16 GEMM, and common helpers. A GEMM is split into strips: at most `height` rows
// of the left factor by any number of panels of the right one.
#pragma once

#include "kernels/cpu/gemm/gemm_bf16.h"
#include "kernels/cpu/gemm/tiles.h"

namespace fovea::cpu {

constexpr int64_t kBlockSize = kDepth * kPanel;  // elements of a block of a panel
constexpr int64_t kTileSize = kDepth * kTile;    // elements of a tile of the right factor

// A strip: rows * panels of c. The rows are stored by blocks: a [blocks][rows][32].
struct Strip {
  const bf16* a = nullptr;
  const bf16* b = nullptr;
  int64_t rows = 0, panels = 0, blocks = 0;
  int64_t panel_stride = 0;  // elements from one panel of b to the next
  int64_t columns = 0;       // of c, at most 32 * panels
  Output out;                // starts at the first element of the strip
};

// A region of a factor to round and pack: `rows` along m or n, `depth` along k. k runs along the stored rows of a left
// factor and of a transposed right factor, else across them.
struct Region {
  const void* data = nullptr;
  DType dtype = DType::kF32;
  int64_t stride = 0;
  bool along = true;
  int64_t row = 0, rows = 0;
  int64_t k = 0, depth = 0;
};
inline Region region_of(const MatrixView& view, bool along) {
  return {.data = view.data, .dtype = view.dtype, .stride = view.row_stride, .along = along};
}

struct Bf16Kernels {
  int64_t height;
  void (*strip)(const Strip& strip);
  void (*pack_rows)(const Region& region, bf16* to);   // to [blocks][rows][32]
  void (*pack_panel)(const Region& region, bf16* to);  // rows <= 32; to [blocks][2][16][16][2]
};

const Bf16Kernels& emulated_kernels();
// On architectures other than x86 these are the emulated ones.
const Bf16Kernels& avx512_kernels();
const Bf16Kernels& amx_kernels();

// Writes sums [rows][stride] to the columns of `out`.
struct Sums {
  const float* data = nullptr;
  int64_t stride = 0;
  int64_t rows = 0, columns = 0;
};
void finish_avx512(const Sums& sums, const Output& out);
void pack_rows_avx512(const Region& region, bf16* to);
void pack_panel_avx512(const Region& region, bf16* to);

// Returns `out` shifted by rows and columns.
inline Output shifted(const Output& out, int64_t row, int64_t column) {
  Output moved = out;
  moved.data =
      static_cast<std::byte*>(out.data) + (row * out.row_stride + column) * static_cast<int64_t>(size_of(out.dtype));
  if (out.bias) moved.bias = out.bias + column;
  return moved;
}

}  // namespace fovea::cpu
