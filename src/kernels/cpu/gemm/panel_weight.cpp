// Packs weights into the panels of panel_gemm.h.
#include <algorithm>

#include "base/threads.h"
#include "kernels/cpu/gemm/packed_weights.h"
#include "kernels/cpu/gemm/panel_gemm.h"

namespace fovea::cpu {

namespace {

struct F32Panels : PackedCopy {
  F32Panels(PackedMemory& memory, size_t count) : data(memory.get<float>(count)) {}
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

// Packs a weight whose rows are stored in 8 bits, without the f32 elements of the whole.
void pack_quantised(const Matrix& weight, int64_t n, int64_t k, float* to) {
  parallel_for((n + kPanel - 1) / kPanel, 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t column = panel * kPanel, columns = std::min(kPanel, n - column);
      float* packed = to + panel * k * kPanel;
      if (columns < kPanel) std::fill_n(packed, k * kPanel, 0.0f);
      for (int64_t j = 0; j < columns; ++j) {
        const QuantisedRow row = weight.tensor.quantised_row(weight.offset + (column + j) * weight.row_stride, k);
        for (int64_t i = 0; i < k; ++i) packed[i * kPanel + j] = row.scale * static_cast<float>(row.values[i]);
      }
    }
  });
}

bool is_quantised(const Matrix& weight, int64_t n, int64_t k) {
  for (int64_t row = 0; row < n; ++row) {
    if (!weight.tensor.quantised_row(weight.offset + row * weight.row_stride, k)) return false;
  }
  return weight.transposed;
}

// Packs in the order in which the weight is stored.
void pack_whole(const Matrix& weight, int64_t n, int64_t k, float* to) {
  is_quantised(weight, n, k) ? pack_quantised(weight, n, k, to) : void(pack_panels(view_of(weight), n, k, to));
}

}  // namespace

PanelWeight pack_panels(const MatrixView& from, int64_t n, int64_t k, float* to) {
  const Packing packing = {.from = static_cast<const float*>(from.data),
                           .n = n,
                           .k = k,
                           .stride = from.row_stride,
                           .transposed = from.transposed,
                           .to = to};
  constexpr int64_t kFewest = 1 << 14;  // elements for another thread
  const PanelWeight packed = {.n = n, .k = k, .whole = to, .rounded = {}};
  parallel_for(packed.panels(), kFewest / (k * kPanel), [&](int64_t begin, int64_t end) {
    const int64_t blocks = packing.blocks(), panels = end - begin;
    for (int64_t i = 0; i < panels * blocks; ++i) {
      if (packing.transposed) {
        packing.pack(begin + i / blocks, i % blocks);
      } else {
        packing.pack(begin + i % panels, i / panels);
      }
    }
  });
  return packed;
}

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
        weight, {PackedWeightKey::Layout::kPanels, weight, n, k},
        [&](PackedMemory& memory) { return std::make_unique<F32Panels>(memory, count); },
        [&](F32Panels& stale) { pack_whole(weight, n, k, stale.data); });
    panels.whole = pack.data;
  } else {
    float* data = buffer.get<float>(count);
    pack_whole(weight, n, k, data);
    panels.whole = data;
  }
  return panels;
}

}  // namespace fovea::cpu
