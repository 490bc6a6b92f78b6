// The f32 kernel keeps sums of up to 12 rows by two registers: for each k it loads two registers of the panel and
// broadcasts one value of each row. One or two rows have too few sums to hide the latency of an addition, so that they
// use more registers: the whole panel, and for one row several panels at once. A panel is 32 columns wide for every
// instruction set, so that packed copies and bits do not depend on it.
#include "kernels/cpu/gemm/panel_gemm.h"

#include <algorithm>
#include <utility>

#include "kernels/cpu/common/convert_bf16.h"
#include "kernels/cpu/common/parallel_blocks.h"

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
  bool a_transposed;
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

// Finishes and writes the sums of rows by registers of columns. All of them pass a stage before the next one begins, so
// that each stage is asked for once. `out` starts at the first sum.
template <int kRows, int kVectors, class Lanes>
HWY_INLINE void finish(Floats (&sum)[kRows][kVectors], const PanelOutput& out, Lanes lanes) {
  const auto each = [&](auto&& stage) __attribute__((always_inline)) {
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) stage(sum[r][v], r * out.row_stride + v * kLanes, v * kLanes);
    }
  };
  if (out.alpha != 1.0f) each([&](Floats& s, int64_t, int64_t) { s *= Floats(out.alpha); });
  if (out.bias) each([&](Floats& s, int64_t, int64_t column) { s += load(out.bias + column, lanes); });
  if (out.accumulate) each([&](Floats& s, int64_t i, int64_t) { s += load(out.data + i, lanes); });
  if (out.residual) each([&](Floats& s, int64_t i, int64_t) { s += load(out.residual + i, lanes); });
  if (out.relu) each([&](Floats& s, int64_t, int64_t) { s = maximum(s, Floats(0)); });
  each([&](Floats& s, int64_t i, int64_t) { store(s, out.data + i, lanes); });
}
// The same where only the first `columns` exist.
template <int kRows, int kVectors>
HWY_INLINE void finish(Floats (&sum)[kRows][kVectors], const PanelOutput& out, int64_t columns) {
  if (columns >= kVectors * kLanes) return finish(sum, out, AllLanes{});
  for (int v = 0; v * kLanes < columns; ++v) {
    Floats one[kRows][1];
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) one[r][0] = sum[r][v];
    const int64_t left = columns - v * kLanes;
    const PanelOutput at = out.at(0, v * kLanes);
    left >= kLanes ? finish(one, at, AllLanes{}) : finish(one, at, FirstLanes{left});
  }
}

// Rows [row, row + kRows) by columns [column, column + kVectors kLanes) of the panel.
template <int kRows, int kVectors, bool kTransposed>
void multiply_tile(const PanelTile& tile, int64_t row, int64_t column) {
  Floats sum[kRows][kVectors];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[r][v] = Floats(0);
  }
  const float *a = tile.a + row * (kTransposed ? 1 : tile.a_stride), *b = tile.b + column;
  for (int64_t k = 0; k < tile.depth; ++k, a += kTransposed ? tile.a_stride : 1, b += kPanel) {
    Floats columns[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) columns[v] = load(b + v * kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const Floats factor(kTransposed ? a[r] : a[r * tile.a_stride]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] = mul_add(factor, columns[v], sum[r][v]);
    }
  }
  finish(sum, tile.out.at(row, column), tile.columns - column);
}

// One row by kPanels panels, which are read side by side.
template <int kPanels> void multiply_row(const PanelTile& tile) {
  constexpr int kVectors = static_cast<int>(kPanel / kLanes);
  constexpr int64_t kAhead = 16 * kPanel;  // prefetch distance, in elements
  Floats sum[1][kPanels * kVectors];
#pragma GCC unroll 8
  for (Floats& s : sum[0]) s = Floats(0);
  const float* b = tile.b;
  for (int64_t k = 0; k < tile.depth; ++k, b += kPanel) {
    const Floats a(tile.a[k]);
#pragma GCC unroll 8
    for (int p = 0; p < kPanels; ++p) {
      const float* columns = b + p * tile.panel_stride;
      __builtin_prefetch(columns + kAhead);
      __builtin_prefetch(columns + kAhead + kPanel / 2);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        Floats& s = sum[0][p * kVectors + v];
        s = mul_add(a, load(columns + v * kLanes), s);
      }
    }
  }
  finish(sum, tile.out, tile.columns);
}

// Tiles of each height, of one register of columns or several.
using MultiplyTile = void (*)(const PanelTile&, int64_t row, int64_t column);
struct Tiles {
  MultiplyTile narrow[kHeight], wide[kHeight];
};
template <bool kTransposed, size_t... kRow> constexpr Tiles tiles_by_rows(std::index_sequence<kRow...>) {
  return {{multiply_tile<kRow + 1, 1, kTransposed>...},
          {multiply_tile<kRow + 1, vectors_of(kRow + 1), kTransposed>...}};
}

// Splits any number of rows into tiles of nearly equal height.
void multiply_panel(const PanelTile& panel) {
  constexpr auto kRows = std::make_index_sequence<kHeight>();
  static constexpr Tiles kTiles = tiles_by_rows<false>(kRows), kTransposedTiles = tiles_by_rows<true>(kRows);
  const Tiles& tiles = panel.a_transposed ? kTransposedTiles : kTiles;
  const int64_t parts = divide_up(panel.rows, kHeight);
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t row = panel.rows * part / parts, rows = panel.rows * (part + 1) / parts - row;
    const int64_t width = kLanes * vectors_of(static_cast<int>(rows));
    for (int64_t column = 0; column < panel.columns; column += width) {
      const bool narrow = panel.columns - column <= kLanes;
      (narrow ? tiles.narrow : tiles.wide)[rows - 1](panel, row, column);
    }
  }
}

// One row by any number of panels: as many at once as have eight registers of sums.
void multiply_one_row(const PanelTile& whole) {
  constexpr int64_t kAtOnce = std::max<int64_t>(1, 8 * kLanes / kPanel);
  const int64_t panels = divide_up(whole.columns, kPanel);
  PanelTile tile = whole;
  for (int64_t panel = 0; panel < panels;) {
    const int64_t count = panels - panel >= kAtOnce ? kAtOnce : 1;
    tile.columns = whole.columns - panel * kPanel;
    count == 1 ? multiply_row<1>(tile) : multiply_row<static_cast<int>(kAtOnce)>(tile);
    tile.b += count * tile.panel_stride;
    tile.out = tile.out.at(0, count * kPanel);
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

namespace {

// k is split so that a panel and a block of rows stay in the L2 cache; partial sums are accumulated in c.
constexpr int64_t kMaxDepth = 512;
constexpr int64_t kBlockElements = 1 << 16;  // of rows

// What happens to the sums of part `part` of k.
PanelOutput output_of(PanelOutput out, int64_t part, int64_t parts) {
  if (part > 0) {
    out.bias = nullptr;
    out.accumulate = true;
  }
  if (part + 1 < parts) {
    out.residual = nullptr;
    out.relu = false;
  }
  return out;
}

// Copies rows [begin, end) of transposed rows, of which each value of k is a row, so that they are adjacent.
PanelRows adjacent(const PanelRows& rows, int64_t begin, int64_t end, int64_t k, int64_t depth) {
  const int64_t count = end - begin;
  float* to = workspace<float, struct AdjacentRows>(static_cast<size_t>(depth * count));
  for (int64_t l = 0; l < depth; ++l) std::copy_n(rows.whole + (k + l) * rows.stride + begin, count, to + l * count);
  return {.whole = to, .stride = count, .m = count, .transposed = true};
}

// Rows [row_begin, row_end) by panels [begin, end).
void multiply_block(const PanelRows& rows, int64_t row_begin, int64_t row_end, const PanelWeight& weight, int64_t begin,
                    int64_t end, const PanelOutput& out) {
  const int64_t parts = divide_up(weight.k, kMaxDepth);
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t k = weight.k * part / parts, depth = weight.k * (part + 1) / parts - k;
    const PanelOutput sums = output_of(out, part, parts);
    const int64_t blocks = divide_up((row_end - row_begin) * depth, kBlockElements);
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t from = row_begin + (row_end - row_begin) * block / blocks;
      const int64_t to = row_begin + (row_end - row_begin) * (block + 1) / blocks;
      PanelTile tile = {.a = rows.whole + from * rows.stride + k,
                        .b = nullptr,
                        .a_stride = rows.stride,
                        .depth = depth,
                        .a_transposed = rows.transposed,
                        .rows = to - from,
                        .columns = 0,
                        .out = {},
                        .panel_stride = weight.k * kPanel};
      if (rows.transposed) {
        const PanelRows copy = adjacent(rows, from, to, k, depth);
        tile.a = copy.whole;
        tile.a_stride = copy.stride;
      }
      const bool one = tile.rows == 1 && !rows.transposed;  // all panels at once
      for (int64_t panel = begin; panel < end; panel += one ? end - begin : 1) {
        const int64_t column = panel * kPanel;
        tile.b = weight.whole + (panel * weight.k + k) * kPanel;
        tile.columns = std::min((one ? end : panel + 1) * kPanel, weight.n) - column;
        tile.out = sums.at(from, column);
        one ? HWY_DYNAMIC_DISPATCH(multiply_one_row)(tile) : HWY_DYNAMIC_DISPATCH(multiply_panel)(tile);
      }
    }
  }
}

}  // namespace

void multiply(const PanelRows& rows, const PanelWeight& weight, int64_t begin, int64_t end, const PanelOutput& out) {
  if (!weight.whole) {
    return multiply_packed(rows.rounded, rows.m, weight.rounded, begin, end,
                           {.data = out.data,
                            .row_stride = out.row_stride,
                            .bias = out.bias,
                            .alpha = out.alpha,
                            .accumulate = out.accumulate});
  }
  multiply_block(rows, 0, rows.m, weight, begin, end, out);
}

void multiply(const PanelRows& rows, const PanelWeight& weight, const PanelOutput& out) {
  for_cells(rows.m, weight, [&](Range height, Range panels) {
    multiply_block(rows, height.begin, height.end, weight, panels.begin, panels.end, out);
  });
}

}  // namespace fovea::cpu
#endif  // HWY_ONCE
