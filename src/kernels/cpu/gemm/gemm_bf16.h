// GEMM with bf16 factors and f32 sums: c (+)= alpha * a b + bias. The right factor is packed once into panels; the left
// one is rounded (to nearest even) while it is packed, block by block. Kernels for AMX tiles and for AVX-512 with BF16
// read the same packed panels and are selected at run time. The order of a sum over k depends on k alone, so that
// neither the number of threads nor the other rows and columns change its bits.
//
// A loop of small GEMMs with one weight (a recurrent layer) runs them on its own threads:
//
//   const PackedColumns w = packed_weight(b, n, k);             // once before the loop, from the cache
//   parallel_parts(parts, [&](int part, int of) {               // each thread its own panels
//     multiply_panels(rows, w, w.panels() * part / of, w.panels() * (part + 1) / of, out);
//   });
//
// If several threads read the same rows, they call pack_rows once and multiply_packed on each.
#pragma once

#include <string_view>

#include "kernels/kernels.h"

namespace fovea::cpu {

// ---- which kernel ------------------------------------------------------------------------------

// kEmulated runs the AMX kernel on tiles emulated in plain C++, for tests on any machine.
enum class Bf16Kernel : uint8_t { kNone, kEmulated, kAvx512, kAmx };

std::string_view name_of(Bf16Kernel kernel);
// Returns whether this machine and its operating system can run the kernel, and FOVEA_ISA allows it.
bool available(Bf16Kernel kernel);
// Returns the kernel in use: the fastest available one, or the one that was set. With kNone, bf16 GEMMs are computed in
// f32.
Bf16Kernel bf16_kernel();
// No other thread may be computing.
void set_bf16_kernel(Bf16Kernel kernel);

// ---- factors and results -----------------------------------------------------------------------

constexpr int64_t kPanel = 32;  // columns of a panel
constexpr int64_t kDepth = 32;  // values of k in a block: one row of a tile

// A matrix in memory, f32 or bf16, or its transpose.
struct MatrixView {
  const void* data = nullptr;
  DType dtype = DType::kF32;
  int64_t row_stride = 0;
  bool transposed = false;
};
MatrixView view_of(const Matrix& matrix, int64_t batch_index = 0);

// The left factor: rows [m,k].
struct Rows {
  MatrixView view;
  int64_t m = 0;
};

// The right factor [k,n]. Each panel of 32 columns has, for each block of 32 values of k, two tiles of 16 columns; a
// tile has 16 rows, in which pairs of values of k are adjacent: [n/32][k/32][2][16][16][2], padded with 0.
struct PackedColumns {
  const bf16* data = nullptr;
  int64_t n = 0, k = 0;

  int64_t panels() const { return (n + kPanel - 1) / kPanel; }
  int64_t blocks() const { return (k + kDepth - 1) / kDepth; }
  int64_t panel_size() const { return blocks() * kDepth * kPanel; }
  int64_t size() const { return panels() * panel_size(); }
};

// The output: c [m,n] in f32 or bf16, with an optional bias [n].
struct Output {
  void* data = nullptr;
  DType dtype = DType::kF32;
  int64_t row_stride = 0;
  const float* bias = nullptr;
  float alpha = 1.0f;
  bool accumulate = false;
};

// ---- packing -----------------------------------------------------------------------------------

// Packs panels [begin, end) of a matrix [k,n] into `to`, which has packed.size() elements.
void pack_panels(const MatrixView& from, const PackedColumns& packed, bf16* to, int64_t begin, int64_t end);
// Packs all panels, on all threads.
void pack_columns(const MatrixView& from, const PackedColumns& packed, bf16* to);
// Returns the packed copy of a weight [k,n] that its buffer caches (PackedWeights::can_cache), after updating it. Its
// address is valid as long as the buffer.
PackedColumns packed_weight(const Matrix& b, int64_t n, int64_t k);

// Rounds and packs rows [m,k] for the kernel in use; `to` has packed_rows_size elements.
int64_t packed_rows_size(int64_t m, int64_t k);
void pack_rows(const Rows& rows, int64_t k, bf16* to);

// ---- products ----------------------------------------------------------------------------------

// Computes columns 32*begin to min(32*end, n) of the product on the calling thread. `out` describes the whole c. k > 0.
void multiply_panels(const Rows& a, const PackedColumns& b, int64_t begin, int64_t end, const Output& out);
// Computes the same from rows packed by pack_rows.
void multiply_packed(const bf16* a, int64_t m, const PackedColumns& b, int64_t begin, int64_t end, const Output& out);
// Computes all columns, on all threads.
void multiply(const Rows& a, const PackedColumns& b, const Output& out);

}  // namespace fovea::cpu
