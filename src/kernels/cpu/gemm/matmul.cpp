// c[g] (+)= alpha * a[g] b[g] + bias: chooses the kernels of a GEMM by its precision, its sizes and whether the right
// factor is a weight, whose packed copy is cached.
#include <fmt/format.h>

#include <algorithm>

#include "base/threads.h"
#include "kernels/cpu/common/convert_bf16.h"
#include "kernels/cpu/common/parallel_blocks.h"
#include "kernels/cpu/common/workspace.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/functions.h"
#include "kernels/cpu/gemm/few_rows.h"
#include "kernels/cpu/gemm/gemm_bf16.h"
#include "kernels/cpu/gemm/gemm_int8.h"
#include "kernels/cpu/gemm/packed_weights.h"
#include "kernels/cpu/gemm/panel_gemm.h"

namespace fovea::cpu {

namespace {

// Calls product(g) for each matrix of the batch: with all threads for each, or each on a thread of its own.
template <class Product> void for_batch(const MatmulArgs& args, Product&& product) {
  if (args.batch < thread_count()) {
    for (int64_t g = 0; g < args.batch; ++g) product(g);
    return;
  }
  constexpr int64_t kFewest = 1 << 18;  // multiplications for another thread
  parallel_for(args.batch, std::max<int64_t>(1, kFewest / (args.m * args.n * args.k)), [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) product(g);
  });
}

const float* bias_of(const MatmulArgs& args, int64_t g) {
  return args.bias ? args.bias.data<float>() + g * args.bias_stride() : nullptr;
}

// ---- bf16 --------------------------------------------------------------------------------------

// Our kernels multiply bf16 factors exactly, and f32 factors may be rounded. If the right factor has to be packed for a
// few rows or a small k, packing costs more than it saves.
bool in_bf16(const MatmulArgs& args) {
  if (bf16_kernel() == Bf16Kernel::kNone) return false;
  if (args.a.tensor.dtype() == DType::kBF16 && args.b.tensor.dtype() == DType::kBF16) return true;
  constexpr int64_t kMinSize = 4;
  const bool pays = PackedWeights::can_cache(args.b) || (args.m >= kMinSize && args.k >= kMinSize);
  return args.precision != Precision::kF32 && pays;
}

void matmul_bf16(const MatmulArgs& args) {
  const auto pack = [&](int64_t g) {
    PackedColumns b = {.n = args.n, .k = args.k};
    bf16* data = workspace<bf16, struct PackedRight>(static_cast<size_t>(b.size()));
    pack_columns(view_of(args.b, g), b, data);
    b.data = data;
    return b;
  };
  const auto multiply_one = [&](int64_t g, const PackedColumns& b) {
    const MatrixView c = view_of(args.c, g);
    multiply({.view = view_of(args.a, g), .m = args.m}, b,
             {.data = const_cast<void*>(c.data),
              .dtype = c.dtype,
              .row_stride = c.row_stride,
              .bias = bias_of(args, g),
              .alpha = args.alpha,
              .accumulate = args.accumulate});
  };
  if (args.batch == 1 || args.b.batch_stride == 0) {
    const PackedColumns b = PackedWeights::can_cache(args.b) ? packed_weight(args.b, args.n, args.k) : pack(0);
    for_batch(args, [&](int64_t g) { multiply_one(g, b); });
  } else {
    for_batch(args, [&](int64_t g) { multiply_one(g, pack(g)); });
  }
}

// ---- f32 ---------------------------------------------------------------------------------------

// Returns matrix g of a batch in f32: the stored matrix, or a converted copy in the workspace. The stored matrix has
// `rows` rows of `columns`.
struct F32Matrix {
  float* data;
  int64_t stride;
};
template <class Name> F32Matrix in_f32(const Matrix& x, int64_t g, int64_t rows, int64_t columns) {
  const int64_t first = x.offset + g * x.batch_stride;
  if (x.tensor.dtype() == DType::kF32) return {x.tensor.data<float>() + first, x.row_stride};
  float* copy = workspace<float, Name>(static_cast<size_t>(rows * columns));
  convert(x.tensor.data<bf16>() + first, copy, {rows, columns, x.row_stride, columns});
  return {copy, columns};
}

void matmul_f32(const MatmulArgs& args) {
  const int64_t m = args.m, n = args.n, k = args.k;
  const bool cached = PackedWeights::can_cache(args.b) && args.b.tensor.dtype() == DType::kF32 && args.batch == 1;
  for_batch(args, [&](int64_t g) {
    const bool ta = args.a.transposed, tb = args.b.transposed;
    const F32Matrix a = in_f32<struct WideLeft>(args.a, g, ta ? k : m, ta ? m : k);
    const F32Matrix c = in_f32<struct WideResult>(args.c, g, m, n);
    const PanelRows rows = {.whole = a.data, .stride = a.stride, .m = m, .transposed = ta};
    const PanelOutput out = {.data = c.data,
                             .row_stride = c.stride,
                             .bias = bias_of(args, g),
                             .accumulate = args.accumulate,
                             .alpha = args.alpha};
    if (cached) {
      Workspace unused;  // the buffer of the weight keeps the copy
      multiply(rows, panel_weight(args.b, n, k, Precision::kF32, unused), out);
    } else {
      const F32Matrix right = in_f32<struct WideRight>(args.b, g, tb ? n : k, tb ? k : n);
      const MatrixView b = {.data = right.data, .row_stride = right.stride, .transposed = tb};
      if (are_few(rows)) {
        multiply_few(rows, b, n, k, out);
      } else {
        const int64_t size = divide_up(n, kPanel) * kPanel * k;
        multiply(rows, pack_panels(b, n, k, workspace<float, struct RightPanels>(static_cast<size_t>(size))), out);
      }
    }
    if (args.c.tensor.dtype() == DType::kBF16) {
      bf16* to = args.c.tensor.data<bf16>() + args.c.offset + g * args.c.batch_stride;
      convert(c.data, to, {m, n, c.stride, args.c.row_stride});
    }
  });
}

// ---- no k --------------------------------------------------------------------------------------

template <class T> void set_to_bias(const MatmulArgs& args) {
  for (int64_t g = 0; g < args.batch; ++g) {
    const float* bias = bias_of(args, g);
    for (int64_t i = 0; i < args.m; ++i) {
      T* c = args.c.tensor.data<T>() + args.c.offset + g * args.c.batch_stride + i * args.c.row_stride;
      for (int64_t j = 0; j < args.n; ++j) {
        c[j] = T((args.accumulate ? static_cast<float>(c[j]) : 0.0f) + (bias ? bias[j] : 0.0f));
      }
    }
  }
}

}  // namespace

void matmul(Stream&, const MatmulArgs& args) {
  if (args.m == 0 || args.n == 0) return;
  if (args.k == 0) {
    args.c.tensor.dtype() == DType::kBF16 ? set_to_bias<bf16>(args) : set_to_bias<float>(args);
  } else if (in_int8(args)) {
    matmul_int8(args);
  } else if (in_bf16(args)) {
    matmul_bf16(args);
  } else {
    matmul_f32(args);
  }
}

}  // namespace fovea::cpu

namespace fovea {

Precision computed_precision(Precision precision) {
  const bool rounds = cpu::bf16_kernel() != cpu::Bf16Kernel::kNone;
  return precision == Precision::kBF16 && !rounds ? Precision::kF32 : precision;
}

// Tiles multiply bf16 at many times the rate of f32. Without tiles it depends on how fast a CPU multiplies pairs of
// bf16: AMD's do at twice the rate of f32, Intel's with AVX-512 do not, and rounding takes time (docs/performance.md).
Precision fastest_precision() {
  const cpu::Bf16Kernel kernel = cpu::bf16_kernel();
  bool faster = kernel != cpu::Bf16Kernel::kNone;
#if defined(__x86_64__)
  if (kernel == cpu::Bf16Kernel::kAvx512) faster = __builtin_cpu_is("amd") != 0;
#endif
  return faster ? Precision::kBF16 : Precision::kF32;
}

std::string describe_precisions() {
  const bool rounds = cpu::bf16_kernel() != cpu::Bf16Kernel::kNone;
  const std::string bf16 = rounds ? fmt::format("bf16 ({})", cpu::name_of(cpu::bf16_kernel())) : "f32";
  return fmt::format(
      "--precision on this CPU: auto computes in {}, but text is written in int8 by weights stored in 8 bits; bf16 "
      "computes in {}; int8 in int8 ({}), recurrent layers in {}",
      fastest_precision() == Precision::kBF16 ? "bf16" : "f32", bf16, cpu::name_of(cpu::int8_kernel()), bf16);
}

}  // namespace fovea
