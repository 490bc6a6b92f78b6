#include "kernels/cpu/gemm/gemm_bf16.h"

#include <algorithm>
#include <atomic>

#include "base/threads.h"
#include "kernels/cpu/common/processor.h"
#include "kernels/cpu/common/workspace.h"
#include "kernels/cpu/gemm/gemm_bf16_kernels.h"
#include "kernels/cpu/gemm/packed_weights.h"
#include "kernels/cpu/gemm/partition.h"

namespace fovea::cpu {

// ---- which kernel ------------------------------------------------------------------------------

namespace {

Bf16Kernel fastest_kernel() {
  for (const Bf16Kernel kernel : {Bf16Kernel::kAmx, Bf16Kernel::kAvx512}) {
    if (available(kernel)) return kernel;
  }
  return Bf16Kernel::kNone;
}

std::atomic<Bf16Kernel>& chosen_kernel() {
  static std::atomic<Bf16Kernel> kernel = fastest_kernel();
  return kernel;
}

const Bf16Kernels& kernels_in_use() {
  switch (bf16_kernel()) {
    case Bf16Kernel::kAmx: return amx_kernels();
    case Bf16Kernel::kAvx512: return avx512_kernels();
    case Bf16Kernel::kEmulated: return emulated_kernels();
    case Bf16Kernel::kNone: break;
  }
  fail("matmul: expected a kernel for bf16 products, got none on this machine");
}

}  // namespace

std::string_view name_of(Bf16Kernel kernel) {
  constexpr std::string_view kNames[] = {"none", "emulated", "avx512", "amx"};
  return kNames[static_cast<int>(kernel)];
}

bool available(Bf16Kernel kernel) {
  if (kernel == Bf16Kernel::kAmx) return processor().used == InstructionSet::kAmx;
  return kernel != Bf16Kernel::kAvx512 || kUsesAvx512Bf16;
}

Bf16Kernel bf16_kernel() { return chosen_kernel().load(std::memory_order_relaxed); }

void set_bf16_kernel(Bf16Kernel kernel) {
  check(available(kernel), "matmul: expected a bf16 kernel this machine can run, got {}", name_of(kernel));
  chosen_kernel().store(kernel, std::memory_order_relaxed);
}

// ---- packing -----------------------------------------------------------------------------------

namespace {

struct Bf16Pack : PackedCopy {
  Bf16Pack(PackedMemory& memory, int64_t count) : data(memory.get<bf16>(static_cast<size_t>(count))) {}
  bf16* data;
};

// Rounds rows and stores them in panels of the kernel's height: [m/height][blocks][height][32]; the last panel has only
// the remaining rows.
struct PackedRows {
  const bf16* data;
  int64_t m, blocks;
};

// Rows `rows` and values `depth` of k.
void pack_row_panels(const Bf16Kernels& kernels, const MatrixView& from, Range rows, Range depth, bf16* to) {
  const int64_t blocks = (depth.count() + kDepth - 1) / kDepth;
  Region region = region_of(from, !from.transposed);
  region.k = depth.begin;
  region.depth = depth.count();
  for (region.row = rows.begin; region.row < rows.end; region.row += kernels.height) {
    region.rows = std::min(kernels.height, rows.end - region.row);
    kernels.pack_rows(region, to);
    to += region.rows * blocks * kDepth;
  }
}

}  // namespace

MatrixView view_of(const Matrix& matrix, int64_t batch_index) {
  const int64_t first = matrix.offset + batch_index * matrix.batch_stride;
  return {.data = matrix.tensor.raw() + first * static_cast<int64_t>(size_of(matrix.tensor.dtype())),
          .dtype = matrix.tensor.dtype(),
          .row_stride = matrix.row_stride,
          .transposed = matrix.transposed};
}

void pack_panels(const MatrixView& from, const PackedColumns& packed, bf16* to, int64_t begin, int64_t end) {
  const Bf16Kernels& kernels = kernels_in_use();
  Region region = region_of(from, from.transposed);
  region.depth = packed.k;
  for (int64_t panel = begin; panel < end; ++panel) {
    region.row = panel * kPanel;
    region.rows = std::min(kPanel, packed.n - region.row);
    kernels.pack_panel(region, to + panel * packed.panel_size());
  }
}

void pack_columns(const MatrixView& from, const PackedColumns& packed, bf16* to) {
  constexpr int64_t kGrain = 1 << 15;  // fewest elements for another thread
  parallel_for(packed.panels(), kGrain / std::max<int64_t>(1, packed.panel_size()),
               [&](int64_t begin, int64_t end) { pack_panels(from, packed, to, begin, end); });
}

PackedColumns packed_weight(const Matrix& b, int64_t n, int64_t k) {
  PackedColumns packed = {.n = n, .k = k};
  const auto& pack = PackedWeights::get<Bf16Pack>(
      b, {PackedWeightKey::Layout::kBF16, b, n, k},
      [&](PackedMemory& memory) { return std::make_unique<Bf16Pack>(memory, packed.size()); },
      [&](Bf16Pack& stale) { pack_columns(view_of(b), packed, stale.data); });
  packed.data = pack.data;
  return packed;
}

int64_t packed_rows_size(int64_t m, int64_t k) { return m * ((k + kDepth - 1) / kDepth) * kDepth; }

void pack_rows(const Rows& rows, int64_t k, bf16* to) {
  pack_row_panels(kernels_in_use(), rows.view, {0, rows.m}, {0, k}, to);
}

// ---- products ----------------------------------------------------------------------------------

namespace {

// k is split so that the rows of a strip and a few panels stay in the L1 and L2 caches. Partial sums are accumulated in
// c, so a c that is not f32 needs its whole sum in one pass.
constexpr int64_t kMaxDepthBlocks = 32;       // blocks of a part of k
constexpr int64_t kNearBlocks = 256;          // blocks of panels processed together: 512 KB
constexpr int64_t kMaxRowElements = 1 << 20;  // elements of rows packed together: 2 MB

template <class Body> void for_depths(int64_t blocks, Output out, Body&& body) {
  const int64_t parts = out.dtype == DType::kF32 ? (blocks + kMaxDepthBlocks - 1) / kMaxDepthBlocks : 1;
  for (int64_t part = 0; part < parts; ++part) {
    body(Range{blocks * part / parts, blocks * (part + 1) / parts}, out);
    out.accumulate = true;
    out.bias = nullptr;
  }
}

// Multiplies blocks `depth` of all rows by panels [begin, end). Block depth.begin is block `first` of the packed rows.
struct Sweep {
  PackedRows a;
  int64_t first;
  PackedColumns b;
  Range depth, panels;
  Output out;
};

void sweep(const Bf16Kernels& kernels, const Sweep& s) {
  const int64_t together = std::max<int64_t>(2, kNearBlocks / s.depth.count());
  for (int64_t panel = s.panels.begin; panel < s.panels.end; panel += together) {
    Strip strip = {.b = s.b.data + panel * s.b.panel_size() + s.depth.begin * kBlockSize,
                   .panels = std::min(together, s.panels.end - panel),
                   .blocks = s.depth.count(),
                   .panel_stride = s.b.panel_size(),
                   .columns = std::min({together * kPanel, (s.panels.end - panel) * kPanel, s.b.n - panel * kPanel}),
                   .out = {}};
    for (int64_t row = 0; row < s.a.m; row += kernels.height) {
      strip.rows = std::min(kernels.height, s.a.m - row);
      strip.a = s.a.data + (row * s.a.blocks + strip.rows * s.first) * kDepth;
      strip.out = shifted(s.out, row, panel * kPanel);
      kernels.strip(strip);
    }
  }
}

// Multiplies rows `rows` by some of the panels.
void multiply_part(const Bf16Kernels& kernels, const Rows& a, Range rows, const PackedColumns& b, Range panels,
                   const Output& out) {
  for_depths(b.blocks(), out, [&](Range depth, const Output& sums) {
    const int64_t fitting = kMaxRowElements / (depth.count() * kDepth) / kernels.height * kernels.height;
    const int64_t most = std::max(kernels.height, fitting);
    for (int64_t row = rows.begin; row < rows.end; row += most) {
      const int64_t count = std::min(most, rows.end - row);
      bf16* packed = workspace<bf16, struct PackedRowPanels>(static_cast<size_t>(count * depth.count() * kDepth));
      const Range k = {depth.begin * kDepth, std::min(b.k, depth.end * kDepth)};
      pack_row_panels(kernels, a.view, {row, row + count}, k, packed);
      sweep(kernels, {.a = {packed, count, depth.count()},
                      .first = 0,
                      .b = b,
                      .depth = depth,
                      .panels = panels,
                      .out = shifted(sums, row, 0)});
    }
  });
}

}  // namespace

void multiply_panels(const Rows& a, const PackedColumns& b, int64_t begin, int64_t end, const Output& out) {
  multiply_part(kernels_in_use(), a, {0, a.m}, b, {begin, end}, out);
}

void multiply_packed(const bf16* a, int64_t m, const PackedColumns& b, int64_t begin, int64_t end, const Output& out) {
  const Bf16Kernels& kernels = kernels_in_use();
  for_depths(b.blocks(), out, [&](Range depth, const Output& sums) {
    sweep(kernels,
          {.a = {a, m, b.blocks()}, .first = depth.begin, .b = b, .depth = depth, .panels = {begin, end}, .out = sums});
  });
}

void multiply(const Rows& a, const PackedColumns& b, const Output& out) {
  constexpr int64_t kGrain = 1 << 20;  // fewest multiplications for another thread
  const Bf16Kernels& kernels = kernels_in_use();
  const int64_t row_panels = (a.m + kernels.height - 1) / kernels.height, panels = b.panels();
  // A few rows cost as much as eight, because reading b then dominates.
  const int64_t work = std::max<int64_t>(a.m, 8) * b.n * b.k;
  const int64_t threads = std::clamp<int64_t>(work / kGrain, 1, thread_count());
  for_partition(row_panels, panels, threads, [&](Range high, Range wide) {
    const Range rows = {high.begin * kernels.height, std::min(a.m, high.end * kernels.height)};
    multiply_part(kernels, a, rows, b, wide, out);
  });
}

}  // namespace fovea::cpu
