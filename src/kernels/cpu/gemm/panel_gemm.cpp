// The f32 kernel keeps sums of up to 12 rows by two registers: for each k it loads two registers of the panel and
// broadcasts one value of each row. One or two rows have too few sums to hide the latency of an addition, so that they
// use more registers: the whole panel, and for one row several panels at once. A panel is 32 columns wide for every
// instruction set, so that packed copies and bits do not depend on it.
#include "kernels/cpu/gemm/panel_gemm.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/cpu/common/convert_bf16.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm/panel_gemm.cpp"
#include "kernels/cpu/common/simd.h"

#ifndef FOVEA_KERNELS_CPU_PANELS_CPP_
#define FOVEA_KERNELS_CPU_PANELS_CPP_

namespace fovea::cpu {

// `rows` rows by the first `columns` of one panel.
struct PanelTile {
  const float *a, *b;
  int64_t a_stride, depth;
  int64_t rows, columns;
  PanelOutput out;       // starts at the first element of the tile
  int64_t panel_stride;  // elements from one panel to the next, for several of them
};

}  // namespace fovea::cpu

#endif

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {

// The number of rows whose sums, two registers each, fit into the 32 or 16 registers.
constexpr int kRegisters = HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM ? 32 : 16;
constexpr int kHeight = kRegisters == 32 ? 12 : 6;
static_assert(kPanel % (2 * kLanes) == 0);
// The registers of sums of a row: the whole panel for two rows, if there are enough.
constexpr int vectors_of(int rows) { return rows <= 2 ? static_cast<int>(std::min<int64_t>(4, kPanel / kLanes)) : 2; }

template <class Lanes>
HWY_INLINE void finish(Floats sum, int64_t column, float* c, const PanelOutput& out, Lanes lanes) {
  if (out.bias) sum += load(out.bias + column, lanes);
  if (out.accumulate) sum += load(c + column, lanes);
  store(sum, c + column, lanes);
}
// Writes the sums of columns [column, column + kLanes), as far as the tile has them.
HWY_INLINE void finish(Floats sum, int64_t column, float* c, const PanelTile& tile) {
  const int64_t left = tile.columns - column;
  if (left >= kLanes) {
    finish(sum, column, c, tile.out, AllLanes{});
  } else if (left > 0) {
    finish(sum, column, c, tile.out, FirstLanes{left});
  }
}

// kRows rows by columns [column, column + kVectors kLanes) of the panel.
template <int kRows> void multiply_tile(const PanelTile& tile, int64_t column) {
  constexpr int kVectors = vectors_of(kRows);
  Floats sum[kRows][kVectors];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[r][v] = Floats(0);
  }
  const float* b = tile.b + column;
  for (int64_t k = 0; k < tile.depth; ++k, b += kPanel) {
    Floats columns[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) columns[v] = load(b + v * kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const Floats a(tile.a[r * tile.a_stride + k]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] = mul_add(a, columns[v], sum[r][v]);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
    float* c = tile.out.data + r * tile.out.row_stride;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) finish(sum[r][v], column + v * kLanes, c, tile);
  }
}

// One row by kPanels panels, which are read side by side.
template <int kPanels> void multiply_row(const PanelTile& tile) {
  constexpr int kVectors = static_cast<int>(kPanel / kLanes);
  constexpr int64_t kAhead = 16 * kPanel;  // prefetch distance, in elements
  Floats sum[kPanels][kVectors];
#pragma GCC unroll 8
  for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sum[p][v] = Floats(0);
  }
  const float* b = tile.b;
  for (int64_t k = 0; k < tile.depth; ++k, b += kPanel) {
    const Floats a(tile.a[k]);
#pragma GCC unroll 8
    for (int p = 0; p < kPanels; ++p) {
      const float* columns = b + p * tile.panel_stride;
      __builtin_prefetch(columns + kAhead);
      __builtin_prefetch(columns + kAhead + kPanel / 2);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sum[p][v] = mul_add(a, load(columns + v * kLanes), sum[p][v]);
    }
  }
#pragma GCC unroll 8
  for (int p = 0; p < kPanels; ++p) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) finish(sum[p][v], p * kPanel + v * kLanes, tile.out.data, tile);
  }
}

using MultiplyTile = void (*)(const PanelTile&, int64_t);
template <size_t... kRow> constexpr auto tiles_by_rows(std::index_sequence<kRow...>) {
  return std::array<MultiplyTile, sizeof...(kRow)>{multiply_tile<kRow + 1>...};
}

// Splits any number of rows into tiles of nearly equal height.
void multiply_panel(const PanelTile& panel) {
  static constexpr auto kTiles = tiles_by_rows(std::make_index_sequence<kHeight>());
  const int64_t parts = (panel.rows + kHeight - 1) / kHeight;
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t row = panel.rows * part / parts, rows = panel.rows * (part + 1) / parts - row;
    PanelTile tile = panel;
    tile.a += row * panel.a_stride;
    tile.out.data += row * panel.out.row_stride;
    const int64_t width = kLanes * vectors_of(static_cast<int>(rows));
    for (int64_t column = 0; column < panel.columns; column += width)
      kTiles[static_cast<size_t>(rows - 1)](tile, column);
  }
}

// One row by any number of panels: as many at once as have eight registers of sums.
void multiply_one_row(const PanelTile& whole) {
  constexpr int64_t kAtOnce = std::max<int64_t>(1, 8 * kLanes / kPanel);
  const int64_t panels = (whole.columns + kPanel - 1) / kPanel;
  PanelTile tile = whole;
  for (int64_t panel = 0; panel < panels;) {
    const int64_t count = panels - panel >= kAtOnce ? kAtOnce : 1;
    tile.columns = whole.columns - panel * kPanel;
    count == 1 ? multiply_row<1>(tile) : multiply_row<static_cast<int>(kAtOnce)>(tile);
    tile.b += count * tile.panel_stride;
    tile.out.data += count * kPanel;
    if (tile.out.bias) tile.out.bias += count * kPanel;
    panel += count;
  }
}

}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {

HWY_EXPORT(multiply_panel);
HWY_EXPORT(multiply_one_row);

PanelRows panel_rows(const Rows& rows, const PanelWeight& weight) {
  if (!weight.whole) {
    bf16* to = workspace<bf16, struct RoundedRows>(static_cast<size_t>(packed_rows_size(rows.m, weight.k)));
    pack_rows(rows, weight.k, to);
    return {.rounded = to, .m = rows.m};
  }
  if (rows.view.dtype == DType::kF32) {
    return {.whole = static_cast<const float*>(rows.view.data), .stride = rows.view.row_stride, .m = rows.m};
  }
  float* to = workspace<float, struct WidenedRows>(static_cast<size_t>(rows.m * weight.k));
  convert(static_cast<const bf16*>(rows.view.data), to, {rows.m, weight.k, rows.view.row_stride, weight.k});
  return {.whole = to, .stride = weight.k, .m = rows.m};
}

void multiply(const PanelRows& rows, const PanelWeight& weight, int64_t begin, int64_t end, const PanelOutput& out) {
  if (!weight.whole) {
    return multiply_packed(
        rows.rounded, rows.m, weight.rounded, begin, end,
        {.data = out.data, .row_stride = out.row_stride, .bias = out.bias, .accumulate = out.accumulate});
  }
  // k is split so that a panel and the rows stay in the L2 cache; partial sums are accumulated in c.
  constexpr int64_t kMaxDepth = 1024;
  const int64_t parts = (weight.k + kMaxDepth - 1) / kMaxDepth;
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t k = weight.k * part / parts, depth = weight.k * (part + 1) / parts - k;
    if (rows.m == 1) {
      const int64_t column = begin * kPanel;
      HWY_DYNAMIC_DISPATCH(multiply_one_row)
      ({.a = rows.whole + k,
        .b = weight.whole + (begin * weight.k + k) * kPanel,
        .a_stride = rows.stride,
        .depth = depth,
        .rows = 1,
        .columns = std::min(end * kPanel, weight.n) - column,
        .out = {.data = out.data + column,
                .row_stride = out.row_stride,
                .bias = out.bias && part == 0 ? out.bias + column : nullptr,
                .accumulate = out.accumulate || part > 0},
        .panel_stride = weight.k * kPanel});
      continue;
    }
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t column = panel * kPanel;
      HWY_DYNAMIC_DISPATCH(multiply_panel)
      ({.a = rows.whole + k,
        .b = weight.whole + (panel * weight.k + k) * kPanel,
        .a_stride = rows.stride,
        .depth = depth,
        .rows = rows.m,
        .columns = std::min(kPanel, weight.n - column),
        .out = {.data = out.data + column,
                .row_stride = out.row_stride,
                .bias = out.bias && part == 0 ? out.bias + column : nullptr,
                .accumulate = out.accumulate || part > 0}});
    }
  }
}

}  // namespace fovea::cpu
#endif  // HWY_ONCE
