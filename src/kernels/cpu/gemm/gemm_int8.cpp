#include "kernels/cpu/gemm/gemm_int8.h"

#include <cstring>
#include <numeric>

#include "base/threads.h"
#include "kernels/cpu/common/processor.h"
#include "kernels/cpu/common/workspace.h"
#include "kernels/cpu/gemm/gemm_int8_kernels.h"
#include "kernels/cpu/gemm/packed_weights.h"

namespace fovea::cpu {

// ---- which kernel ------------------------------------------------------------------------------

namespace {

#if defined(__wasm_simd128__)
constexpr bool kIsWasm = true;
#else
constexpr bool kIsWasm = false;
#endif

std::optional<Int8Kernel>& chosen_kernel() {
  static std::optional<Int8Kernel> chosen;
  return chosen;
}

const Int8Kernels& kernels_of(Int8Kernel kernel) {
  switch (kernel) {
    case Int8Kernel::kPlain: return plain_int8_kernels();
    case Int8Kernel::kAvx2: return avx2_int8_kernels();
    case Int8Kernel::kAvxVnni: return avx_vnni_int8_kernels();
    case Int8Kernel::kVnni256: return vnni256_int8_kernels();
    case Int8Kernel::kAvx512Vnni: return avx512_vnni_int8_kernels();
    case Int8Kernel::kAmx: return amx_int8_kernels();
    case Int8Kernel::kEmulatedAmx: return emulated_amx_int8_kernels();
    case Int8Kernel::kWasm: return wasm_int8_kernels();
  }
  fail("matmul: expected an int8 kernel");
}

// A tile of AMX takes as long for one row as for 16: a few rows are faster without it.
const Int8Kernels& kernels_for(int64_t rows) {
  constexpr int64_t kFew = 8;
  const Int8Kernel kernel = int8_kernel();
  const bool few = kernel == Int8Kernel::kAmx && !chosen_kernel() && rows < kFew;
  return kernels_of(few ? Int8Kernel::kAvx512Vnni : kernel);
}

}  // namespace

std::string_view name_of(Int8Kernel kernel) {
  constexpr std::string_view kNames[] = {"plain",       "avx2", "avx-vnni",     "avx512-vnni, 256 bits",
                                         "avx512-vnni", "amx",  "emulated amx", "wasm"};
  return kNames[static_cast<size_t>(kernel)];
}

bool available(Int8Kernel kernel) {
  const Processor& p = processor();
  switch (kernel) {
    case Int8Kernel::kPlain:
    case Int8Kernel::kEmulatedAmx: return true;
    case Int8Kernel::kAvx2: return p.used >= InstructionSet::kAvx2;
    case Int8Kernel::kAvxVnni: return p.uses_avx_vnni;
    case Int8Kernel::kVnni256:
    case Int8Kernel::kAvx512Vnni: return p.uses_avx512_vnni;
    case Int8Kernel::kAmx: return p.uses_amx_int8;
    case Int8Kernel::kWasm: return kIsWasm;
  }
  return false;
}

Int8Kernel int8_kernel() {
  static const Int8Kernel best = [] {
    for (const Int8Kernel kernel :
         {Int8Kernel::kAmx, Int8Kernel::kAvx512Vnni, Int8Kernel::kAvxVnni, Int8Kernel::kAvx2, Int8Kernel::kWasm}) {
      if (available(kernel)) return kernel;
    }
    return Int8Kernel::kPlain;
  }();
  return chosen_kernel().value_or(best);
}

void set_int8_kernel(std::optional<Int8Kernel> kernel) {
  check(!kernel || available(*kernel), "int8: this machine cannot run the kernel {}", name_of(*kernel));
  chosen_kernel() = kernel;
}

bool in_int8(const MatmulArgs& args) {
  constexpr int64_t kMinSize = 16, kMaxDepth = 1 << 17;  // of n and k; of k
  const auto f32 = [](const Matrix& x) { return x.tensor.dtype() == DType::kF32; };
  return args.precision == Precision::kInt8 && PackedWeights::can_cache(args.b) && args.b.transposed &&
         !args.a.transposed && f32(args.a) && f32(args.b) && f32(args.c) && args.batch == 1 && args.alpha == 1.0f &&
         !args.accumulate && args.n >= kMinSize && args.k >= kMinSize && args.k <= kMaxDepth;
}

// ---- the weight --------------------------------------------------------------------------------

namespace {

// The quantised weight in panels, padded with 0, with the scale and the initial sum of each column.
struct Int8Pack : PackedCopy {
  Int8Pack(PackedMemory& memory, int64_t n, int64_t k)
      : panels((n + kWide8 - 1) / kWide8),
        panel_bytes(padded(k) * kWide8),
        data(memory.get<uint8_t>(static_cast<size_t>(panels * panel_bytes))),
        scales(memory.get<float>(static_cast<size_t>(panels * kWide8))),
        starts(memory.get<int32_t>(static_cast<size_t>(panels * kWide8))) {}

  int64_t panels, panel_bytes;
  uint8_t* data;
  float* scales;
  int32_t* starts;
};

// Writes row `column` of a weight [n,k] in 8 bits, followed by zeros up to padded(k), and returns its scale. A row that
// is stored in 8 bits is copied; any other is quantised.
float quantised_row(const Matrix& weight, int64_t column, int64_t k, uint8_t* to) {
  const int64_t first = weight.offset + column * weight.row_stride;
  if (const QuantisedRow stored = weight.tensor.quantised_row(first, k)) {
    std::memcpy(to, stored.values, static_cast<size_t>(k));
    std::memset(to + k, 0, static_cast<size_t>(padded(k) - k));
    return stored.scale;
  }
  return kernels_of(int8_kernel()).quantise(weight.tensor.data<float>() + first, k, to);
}

// The sum of signed bytes, whose count is a multiple of kBlock8. The inner loop has a constant length, so that every
// compiler vectorises it.
int32_t sum_of(const uint8_t* x, int64_t count) {
  constexpr int kAtOnce = 16;
  static_assert(kBlock8 % kAtOnce == 0);
  int32_t sums[kAtOnce] = {};
  for (int64_t i = 0; i < count; i += kAtOnce) {
    for (int j = 0; j < kAtOnce; ++j) sums[j] += static_cast<int8_t>(x[i + j]);
  }
  return std::accumulate(sums, sums + kAtOnce, 0);
}

void fill_panel(const Matrix& weight, int64_t n, int64_t k, int64_t panel, const Int8Pack& pack) {
  uint8_t* to = pack.data + panel * pack.panel_bytes;
  if ((panel + 1) * kWide8 > n) std::memset(to, 0, static_cast<size_t>(pack.panel_bytes));
  auto* row = workspace<uint8_t, struct RoundedWeightRow>(static_cast<size_t>(padded(k)));
  for (int64_t j = 0; j < kWide8; ++j) {
    const int64_t column = panel * kWide8 + j;
    float scale = 0;
    int32_t sum = 0;
    if (column < n) {
      scale = quantised_row(weight, column, k, row);
      sum = sum_of(row, padded(k));
      for (int64_t i = 0; i < padded(k); i += kGroup) std::memcpy(to + i * kWide8 + j * kGroup, row + i, kGroup);
    }
    pack.scales[column] = scale;
    pack.starts[column] = -128 * sum;
  }
}

const Int8Pack& packed_weight_int8(const Matrix& weight, int64_t n, int64_t k) {
  return PackedWeights::get<Int8Pack>(
      weight, {PackedWeightKey::Layout::kInt8, weight, n, k},
      [&](PackedMemory& memory) { return std::make_unique<Int8Pack>(memory, n, k); },
      [&](Int8Pack& stale) {
        parallel_for(stale.panels, 1, [&](int64_t begin, int64_t end) {
          for (int64_t panel = begin; panel < end; ++panel) fill_panel(weight, n, k, panel, stale);
        });
      });
}

}  // namespace

// ---- the product -------------------------------------------------------------------------------

void matmul_int8(const MatmulArgs& args) {
  constexpr int64_t kGrain = 1 << 20;  // fewest multiplications for another thread
  const int64_t m = args.m, n = args.n, k = args.k, depth = padded(k);
  const Int8Kernels& kernels = kernels_for(m);
  const Int8Pack& weight = packed_weight_int8(args.b, n, k);

  const int64_t stride = depth * kernels.row_bytes;
  auto* rows = workspace<uint8_t, struct RoundedRows8>(static_cast<size_t>(m * stride));
  auto* scales = workspace<float, struct RowScales8>(static_cast<size_t>(m));
  auto* starts = workspace<int32_t, struct RowStarts8>(static_cast<size_t>(m));
  const float* a = args.a.tensor.data<float>() + args.a.offset;
  constexpr int64_t kRounded = 1 << 17;  // fewest values to quantise for another thread
  parallel_for(m, kRounded / depth, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      scales[i] = kernels.quantise_row(a + i * args.a.row_stride, k, rows + i * stride, starts[i]);
    }
  });

  // Blocks of rows have nearly equal heights. A few rows cost as much as eight, because reading b then dominates.
  const int64_t blocks = (m + kernels.height - 1) / kernels.height, work = std::max<int64_t>(m, 8) * depth * kWide8;
  parallel_for(weight.panels, kGrain / work, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t column = panel * kWide8;
      for (int64_t block = 0; block < blocks; ++block) {
        const int64_t row = m * block / blocks;
        kernels.multiply({.a = {rows + row * stride, stride, scales + row, starts + row},
                          .rows = m * (block + 1) / blocks - row,
                          .b = weight.data + panel * weight.panel_bytes,
                          .b_scales = weight.scales + column,
                          .b_starts = weight.starts + column,
                          .depth = depth,
                          .bias = args.bias ? args.bias.data<float>() + column : nullptr,
                          .c = args.c.tensor.data<float>() + args.c.offset + row * args.c.row_stride + column,
                          .c_stride = args.c.row_stride,
                          .columns = std::min(kWide8, n - column)});
      }
    }
  });
}

}  // namespace fovea::cpu
