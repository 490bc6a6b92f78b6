// Our own products of bf16 factors with f32 sums: c (+)= alpha * a b + bias. The right factor is packed
// once into panels, the left one is rounded (to nearest even) on the way in, block by block. Kernels for
// AMX tiles and for AVX-512 with BF16 read the same packed panels; which one runs is found out at run
// time. A sum runs over k in an order that depends on k alone, so that neither the number of threads nor
// the other rows and columns of a product change its bits.
//
// For a loop of small products with one weight (a recurrence), on threads of the caller's own:
//
//   const PackedColumns w = packed_weight(b, n, k);             // once before the loop, from the cache
//   parallel_parts(parts, [&](int part, int of) {               // each thread its own panels
//     multiply_panels(rows, w, w.panels() * part / of, w.panels() * (part + 1) / of, out);
//   });
//
// or, where several threads read the same rows, pack_rows once and multiply_packed on each.
#pragma once

#include <string_view>

#include "kernels/kernels.h"

namespace fovea::cpu {

// ---- which kernel ------------------------------------------------------------------------------

// kEmulated runs the AMX kernel's code on tiles written out in plain C++: for tests, on any machine.
enum class Bf16Kernel : uint8_t { kNone, kEmulated, kAvx512, kAmx };

std::string_view name_of(Bf16Kernel kernel);
// Whether this machine (and its operating system) can run it, and FOVEA_ISA allows it.
bool available(Bf16Kernel kernel);
// The one in use: the fastest available, or what was set. With kNone, bf16 products run in f32.
Bf16Kernel bf16_kernel();
// Not while others compute.
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

// The right factor [k,n]: for each panel of 32 columns, for each block of 32 k, two tiles of 16 columns;
// a tile has 16 rows with two values of k next to each other: [n/32][k/32][2][16][16][2], padded with 0.
struct PackedColumns {
  const bf16* data = nullptr;
  int64_t n = 0, k = 0;

  int64_t panels() const { return (n + kPanel - 1) / kPanel; }
  int64_t blocks() const { return (k + kDepth - 1) / kDepth; }
  int64_t panel_size() const { return blocks() * kDepth * kPanel; }
  int64_t size() const { return panels() * panel_size(); }
};

// Where results go: c [m,n] in f32 or bf16, bias [n] or none.
struct Output {
  void* data = nullptr;
  DType dtype = DType::kF32;
  int64_t row_stride = 0;
  const float* bias = nullptr;
  float alpha = 1.0f;
  bool accumulate = false;
};

// ---- packing -----------------------------------------------------------------------------------

// Sets `to`, which has room for packed.size() elements, to panels [begin, end) of a matrix [k,n].
void pack_panels(const MatrixView& from, const PackedColumns& packed, bf16* to, int64_t begin, int64_t end);
// The same for all panels, on all threads.
void pack_columns(const MatrixView& from, const PackedColumns& packed, bf16* to);
// The packed copy of a weight [k,n] that its buffer keeps (Packs::may_keep), brought up to date. It stays
// where it is until the buffer goes.
PackedColumns packed_weight(const Matrix& b, int64_t n, int64_t k);

// Rounds rows [m,k] for the kernel in use; `to` has room for packed_rows_size elements.
int64_t packed_rows_size(int64_t m, int64_t k);
void pack_rows(const Rows& rows, int64_t k, bf16* to);

// ---- products ----------------------------------------------------------------------------------

// Columns 32*begin to min(32*end, n) of the product, on the calling thread alone. `out` describes the
// whole c. k > 0.
void multiply_panels(const Rows& a, const PackedColumns& b, int64_t begin, int64_t end, const Output& out);
// The same with rows from pack_rows.
void multiply_packed(const bf16* a, int64_t m, const PackedColumns& b, int64_t begin, int64_t end, const Output& out);
// All columns, on all threads.
void multiply(const Rows& a, const PackedColumns& b, const Output& out);

}  // namespace fovea::cpu
