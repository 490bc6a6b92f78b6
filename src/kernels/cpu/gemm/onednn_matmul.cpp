// f32 GEMM with oneDNN, of two activations. Its blocked kernels ("brg") read dense matrices, and sum over k in order
// for any number of threads, except for a large k of a transposed left factor, which is split here. All other GEMMs use
// its older kernels, which do not: they are split into pieces of a fixed size, each computed on one thread.
#include <algorithm>
#include <bit>

#include "base/signals.h"
#include "base/threads.h"
#include "kernels/cpu/common/onednn.h"

namespace fovea::cpu {

using dnnl::memory;

namespace {

memory::desc plain_desc(int64_t rows, int64_t columns, int64_t stride, bool transposed) {
  const memory::dims strides = transposed ? memory::dims{1, stride} : memory::dims{stride, 1};
  return {{rows, columns}, memory::data_type::f32, strides};
}

// The blocked kernels may sum parts of k on different threads from kSplitFrom on, so k is split into parts before.
constexpr int64_t kSplitFrom = 2048, kPartDepth = 1024;
// The pieces of a GEMM for the older kernels.
constexpr int64_t kPieceRows = 128, kPieceColumns = 256;

enum Place : size_t { kA, kB, kC, kBias };

std::unique_ptr<Prepared> make_product(const F32Product& p) {
  const memory::desc a = plain_desc(p.m, p.k, p.a_stride, p.a_transposed);
  const memory::desc b = plain_desc(p.k, p.n, p.b_stride, p.b_transposed);
  const memory::desc c = plain_desc(p.m, p.n, p.c_stride, false);
  const memory::desc bias = p.bias ? plain_desc(1, p.n, p.n, false) : memory::desc();
  dnnl::primitive_attr attr = with_our_scratchpad();
  if (p.alpha != 1.0f) attr.set_output_scales(0, {p.alpha});
  if (p.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attr.set_post_ops(sum);
  }
  const auto desc = p.bias ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c);
  const dnnl::matmul::primitive_desc description(desc, attr, onednn_engine());
  Arguments arguments = {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}};
  if (p.bias) arguments.push_back({DNNL_ARG_BIAS, bias});
  return std::make_unique<Prepared>(description, arguments);
}

Prepared& prepared_product(const F32Product& p) {
  const PrimitiveKey key = {static_cast<int64_t>(dnnl::primitive::kind::matmul),
                            thread_count(),
                            p.m,
                            p.n,
                            p.k,
                            p.a_stride,
                            p.b_stride,
                            p.c_stride,
                            p.a_transposed,
                            p.b_transposed,
                            p.bias != nullptr,
                            p.accumulate,
                            std::bit_cast<int32_t>(p.alpha)};
  return primitive(key, [&] { return make_product(p); });
}

void run_product(Prepared& prepared, const F32Product& p) {
  prepared.bind(kA, p.a);
  prepared.bind(kB, p.b);
  prepared.bind(kC, p.c);
  if (p.bias) prepared.bind(kBias, p.bias);
  prepared.run();
}

// Rows [i, i + m) and columns [j, j + n) of a product.
F32Product piece_of(F32Product p, int64_t i, int64_t m, int64_t j, int64_t n) {
  p.a += i * (p.a_transposed ? 1 : p.a_stride);
  p.b += j * (p.b_transposed ? p.b_stride : 1);
  p.c += i * p.c_stride + j;
  if (p.bias) p.bias += j;
  p.m = m;
  p.n = n;
  return p;
}

void multiply_in_pieces(const F32Product& p) {
  const int64_t high = (p.m + kPieceRows - 1) / kPieceRows, wide = (p.n + kPieceColumns - 1) / kPieceColumns;
  parallel_for(high * wide, 1, [&](int64_t begin, int64_t end) {
    const OneThread alone;
    const SignalsBlocked quiet;  // once for all pieces
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t i = piece / wide * kPieceRows, j = piece % wide * kPieceColumns;
      const F32Product part = piece_of(p, i, std::min(kPieceRows, p.m - i), j, std::min(kPieceColumns, p.n - j));
      run_product(prepared_product(part), part);
    }
  });
}

void multiply_whole(const F32Product& p) {
  if (Prepared& whole = prepared_product(p); whole.implemented_by(kBlocked)) return run_product(whole, p);
  multiply_in_pieces(p);
}

void add_bias(const F32Product& p) {
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) p.c[i * p.c_stride + j] += p.bias[j];
  }
}

}  // namespace

void multiply_f32(const F32Product& product) {
  publish_thread_count();  // oneDNN plans with it
  F32Product p = product;
  // A single row is dense for any stride.
  if (p.m == 1 && !p.a_transposed) p.a_stride = p.k;
  if (p.m == 1) p.c_stride = p.n;
  // oneDNN scales the bias as well.
  const bool bias_apart = p.bias != nullptr && p.alpha != 1.0f;
  if (bias_apart) p.bias = nullptr;

  if (p.a_transposed && p.k >= kSplitFrom) {
    const int64_t parts = (p.k + kPartDepth - 1) / kPartDepth;
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t begin = product.k * part / parts, end = product.k * (part + 1) / parts;
      p.a = product.a + begin * p.a_stride;
      p.b = product.b + begin * (p.b_transposed ? 1 : p.b_stride);
      p.k = end - begin;
      multiply_whole(p);
      p.accumulate = true;
      p.bias = nullptr;
    }
  } else {
    multiply_whole(p);
  }
  if (bias_apart) add_bias(product);
}

}  // namespace fovea::cpu
