// The f32 kernel keeps sums of up to 12 rows by two registers: for each k it loads two registers of the panel and
// broadcasts one value of each row. A panel is 32 columns wide for every instruction set, so that packed copies and
// bits do not depend on it.
#include "kernels/cpu/gemm/panel_gemm.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/threads.h"
#include "kernels/cpu/common/convert_bf16.h"
#include "kernels/cpu/gemm/packed_weights.h"

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
  PanelOutput out;  // starts at the first element of the tile
};

}  // namespace fovea::cpu

#endif

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {

// The number of rows whose sums, two registers each, fit into the 32 or 16 registers.
constexpr int kRegisters = HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM ? 32 : 16;
constexpr int kHeight = kRegisters == 32 ? 12 : 6;
constexpr int64_t kWidth = 2 * kLanes;
static_assert(kPanel % kWidth == 0);

template <class Lanes>
HWY_INLINE void finish(Floats sum, int64_t column, float* c, const PanelOutput& out, Lanes lanes) {
  if (out.bias) sum += load(out.bias + column, lanes);
  if (out.accumulate) sum += load(c + column, lanes);
  store(sum, c + column, lanes);
}

// kRows rows by columns [column, column + kWidth) of the panel.
template <int kRows> void multiply_tile(const PanelTile& tile, int64_t column) {
  Floats sum[kRows][2];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) sum[r][0] = sum[r][1] = Floats(0);
  const float* b = tile.b + column;
  for (int64_t k = 0; k < tile.depth; ++k, b += kPanel) {
    const Floats b0 = load(b), b1 = load(b + kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const Floats a(tile.a[r * tile.a_stride + k]);
      sum[r][0] = mul_add(a, b0, sum[r][0]);
      sum[r][1] = mul_add(a, b1, sum[r][1]);
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
    float* c = tile.out.data + r * tile.out.row_stride;
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      const int64_t at = column + v * kLanes, left = tile.columns - at;
      if (left >= kLanes) {
        finish(sum[r][v], at, c, tile.out, AllLanes{});
      } else if (left > 0) {
        finish(sum[r][v], at, c, tile.out, FirstLanes{left});
      }
    }
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
    for (int64_t column = 0; column < panel.columns; column += kWidth)
      kTiles[static_cast<size_t>(rows - 1)](tile, column);
  }
}

}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {

HWY_EXPORT(multiply_panel);

namespace {

struct F32Panels : PackedCopy {
  explicit F32Panels(size_t count) : data(memory.get<float>(count)) {}
  Workspace memory;
  float* data;
};

// A weight [k,n] (stored transposed: [n,k]) that is packed into panels.
struct Packing {
  const float* from;
  int64_t n, k, stride;
  bool transposed;
  float* to;

  // Packs 16 rows of a panel: one cache line of each stored row if it is transposed.
  static constexpr int64_t kRows = 16;
  int64_t blocks() const { return (k + kRows - 1) / kRows; }
  void pack(int64_t panel, int64_t block) const {
    const int64_t row = block * kRows, rows = std::min(kRows, k - row);
    const int64_t column = panel * kPanel, columns = std::min(kPanel, n - column);
    float* packed = to + (panel * k + row) * kPanel;
    if (columns < kPanel) std::fill_n(packed, rows * kPanel, 0.0f);
    if (transposed) {
      for (int64_t j = 0; j < columns; ++j) {
        for (int64_t i = 0; i < rows; ++i) packed[i * kPanel + j] = from[(column + j) * stride + row + i];
      }
    } else {
      for (int64_t i = 0; i < rows; ++i) std::copy_n(from + (row + i) * stride + column, columns, packed + i * kPanel);
    }
  }
};

// Packs in the order in which the weight is stored.
void pack_whole(const Matrix& weight, int64_t n, int64_t k, float* to) {
  const Packing packing = {.from = weight.tensor.data<float>() + weight.offset,
                           .n = n,
                           .k = k,
                           .stride = weight.row_stride,
                           .transposed = weight.transposed,
                           .to = to};
  parallel_for((n + kPanel - 1) / kPanel, 1, [&](int64_t begin, int64_t end) {
    const int64_t blocks = packing.blocks(), panels = end - begin;
    for (int64_t i = 0; i < panels * blocks; ++i) {
      if (packing.transposed) {
        packing.pack(begin + i / blocks, i % blocks);
      } else {
        packing.pack(begin + i % panels, i / panels);
      }
    }
  });
}

}  // namespace

PanelWeight panel_weight(const Matrix& weight, int64_t n, int64_t k, Precision precision, Workspace& buffer) {
  PanelWeight panels = {.n = n, .k = k};
  const bool kept = PackedWeights::can_cache(weight);
  if (precision != Precision::kF32 && bf16_kernel() != Bf16Kernel::kNone) {
    if (kept) {
      panels.rounded = packed_weight(weight, n, k);
    } else {
      panels.rounded = {.n = n, .k = k};
      bf16* data = buffer.get<bf16>(static_cast<size_t>(panels.rounded.size()));
      pack_columns(view_of(weight), panels.rounded, data);
      panels.rounded.data = data;
    }
    return panels;
  }
  const auto count = static_cast<size_t>(panels.panels() * k * kPanel);
  if (kept) {
    const auto& pack = PackedWeights::get<F32Panels>(
        weight, {PackedWeightKey::Layout::kPanels, weight, n, k}, [&] { return std::make_unique<F32Panels>(count); },
        [&](F32Panels& stale) { pack_whole(weight, n, k, stale.data); });
    panels.whole = pack.data;
  } else {
    float* data = buffer.get<float>(count);
    pack_whole(weight, n, k, data);
    panels.whole = data;
  }
  return panels;
}

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
