// The common parts of the additive score and its gradient: rows of queries and keys, prepared so that each of the T*S*D
// elements costs a multiplication, an addition and half a reciprocal. tanh x = 1 - 2r with r = 1 / (1 + e^2x), and
// e^2(q+k) = e^2q e^2k, so that the exponentials are computed once per row. If their product could overflow, q + k is
// added first and the exponential computed for each element.
#include <hwy/cache_control.h>

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/common/parallel_blocks.h"
#include "kernels/cpu/common/simd_math.h"
#include "kernels/cpu/common/workspace.h"

#if defined(FOVEA_KERNELS_CPU_ATTENTION_ADDITIVE_SCORE_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FOVEA_KERNELS_CPU_ATTENTION_ADDITIVE_SCORE_H_
#undef FOVEA_KERNELS_CPU_ATTENTION_ADDITIVE_SCORE_H_
#else
#define FOVEA_KERNELS_CPU_ATTENTION_ADDITIVE_SCORE_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE::additive {

constexpr int64_t kChunk = 2 * kLanes;   // elements of a row: two registers that share a reciprocal
constexpr int64_t kQueryBlock = 64;      // rows of queries processed together
constexpr int64_t kItemCells = 1 << 16;  // fewest elements for another thread
constexpr float kReach = 21.0f;          // the product of two 1 + e^2x is finite up to this x

// The rows of one sentence and head: row i starts at first + i * stride.
template <class T> struct Rows {
  T* first;
  int64_t stride, count, width;

  T* at(int64_t row, int64_t chunk) const { return first + row * stride + chunk * kChunk; }
  int64_t chunks() const { return divide_up(width, kChunk); }
  Rows rows(int64_t begin, int64_t end) const { return {at(begin, 0), stride, end - begin, width}; }
  Rows columns(int64_t begin, int64_t end) const {  // in chunks
    return {at(0, begin), stride, count, std::min(width, end * kChunk) - begin * kChunk};
  }
};

// Rows in f32, padded to whole chunks.
struct Panel {
  float* data;
  int64_t row_stride, chunk_stride;

  float* at(int64_t row, int64_t chunk) const { return data + row * row_stride + chunk * chunk_stride; }
  Panel from_row(int64_t row) const { return {at(row, 0), row_stride, chunk_stride}; }
};

struct Pair {
  Floats low, high;
};
HWY_INLINE Pair load_pair(const float* p) { return {load(p), load(p + kLanes)}; }
HWY_INLINE void store_pair(Pair x, float* p) {
  store(x.low, p);
  store(x.high, p + kLanes);
}
HWY_INLINE Pair& operator+=(Pair& a, Pair b) { return a = {a.low + b.low, a.high + b.high}; }
HWY_INLINE Floats neg_mul_add(Floats a, Floats b, Floats c) { return hn::NegMulAdd(a.v, b.v, c.v); }  // c - a * b

// Loads a chunk of which the first n <= kChunk elements exist.
template <class T> HWY_INLINE Pair load_pair(const T* p, int64_t n) {
  if (n >= kChunk) return {load(p), load(p + kLanes)};
  if (n <= kLanes) return {load(p, FirstLanes{n}), Floats(0)};
  return {load(p), load(p + kLanes, FirstLanes{n - kLanes})};
}
template <class T> HWY_INLINE Pair load_pair(const Rows<T>& rows, int64_t row, int64_t chunk) {
  return load_pair(rows.at(row, chunk), std::min(rows.width - chunk * kChunk, kChunk));
}

// Returns e^2x for |x| <= 43 with a relative error of 1.5e-7, which contributes at most a quarter of it to tanh: 2^n
// e^2h with 2x = n ln 2 + 2h. n is added to the exponent field.
HWY_INLINE Floats exp_twice(Floats x) {
  const IntTag di;
  const Floats shifted = mul_add(x, Floats(2 * detail::kLog2E), Floats(detail::kRound));
  const Floats h = mul_add(shifted - Floats(detail::kRound), Floats(-0.346573591f), x);
  const Floats e = polynomial(h, 1.0f, 1.99999940f, 1.99996591f, 1.33341110f, 0.670370579f, 0.265288711f);
  return hn::BitCast(FloatTag(), hn::Add(hn::BitCast(di, e.v), hn::ShiftLeft<23>(hn::BitCast(di, shifted.v))));
}

// Prefetches the chunk of the next row, because the hardware does not predict the stride between rows.
template <class T> HWY_INLINE void prefetch(const T* chunk) {
  hwy::Prefetch(chunk);
  if constexpr (kChunk * sizeof(T) > 64) hwy::Prefetch(chunk + 64 / sizeof(T));
}

// The two ways to compute 1 + e^2(q+k) from the panels.
struct Near {  // from e^2q and e^2k
  static HWY_INLINE Floats denominator(Floats q, Floats k) { return mul_add(q, k, Floats(1)); }
};
struct Far {  // from q and k
  static HWY_INLINE Floats denominator(Floats q, Floats k) {
    return exp_twice(minimum(maximum(q + k, Floats(-kReach)), Floats(kReach))) + Floats(1);
  }
};

// Returns 1/x with an error of about one unit in the last place, for 1 <= x <= 1e37.
HWY_INLINE Floats reciprocal(Floats x) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128
  const Floats near = hn::ApproximateReciprocal(x.v);
  return near * neg_mul_add(x, near, Floats(2));
#else
  return Floats(1) / x;
#endif
}

// Rows in both forms: all chunks in `near`, and in `far` those whose sums could overflow.
struct Prepared {
  Panel near, far;
  float* reach;  // the largest |x| of each chunk
};

template <class T> void fill_near(const Prepared& to, const Rows<T>& rows) {
  const int64_t chunks = rows.chunks();
  float* running_max = workspace<float, struct ChunkMaximum>(chunks * kLanes);
  std::fill_n(running_max, chunks * kLanes, 0.0f);
  for (int64_t row = 0; row < rows.count; ++row) {
    for (int64_t c = 0; c < chunks; ++c) {
      const Pair x = load_pair(rows, row, c);
      prefetch(rows.at(row + 1, c));
      store_pair({exp_twice(x.low), exp_twice(x.high)}, to.near.at(row, c));
      store(maximum(load(running_max + c * kLanes), maximum(abs(x.low), abs(x.high))), running_max + c * kLanes);
    }
  }
  for (int64_t c = 0; c < chunks; ++c) to.reach[c] = max(load(running_max + c * kLanes));
}

// The order in which chunks are processed: near ones first.
struct Order {
  int32_t* chunk;
  int64_t near, count;
};
inline Order find_order(const Prepared& query, const Prepared& keys, int64_t count) {
  Order order{workspace<int32_t, struct ChunkOrder>(count), 0, count};
  for (int64_t c = 0; c < count; ++c) order.chunk[c] = static_cast<int32_t>(c);
  const auto is_near = [&](int32_t c) { return query.reach[c] + keys.reach[c] <= kReach; };
  order.near = std::partition(order.chunk, order.chunk + count, is_near) - order.chunk;
  return order;
}

template <class T> void fill_far(const Prepared& to, const Rows<T>& rows, const Order& order) {
  for (int64_t row = 0; row < rows.count; ++row) {
    for (int64_t i = order.near; i < order.count; ++i) {
      store_pair(load_pair(rows, row, order.chunk[i]), to.far.at(row, order.chunk[i]));
    }
  }
}

// The arguments of both directions: query [T,B,H,d], keys [S,B,H,d], v [H,d], lengths [B].
template <class T> struct Problem {
  const T *query, *keys;
  const float* v;
  const int32_t* lengths;
  int64_t batch, heads, queries, positions, width;

  template <class Args>
  explicit Problem(const Args& args)
      : query(args.query.template data<T>()),
        keys(args.keys.template data<T>()),
        v(args.v.template data<float>()),
        lengths(args.lengths ? args.lengths.template data<int32_t>() : nullptr),
        batch(args.query.dim(1)),
        heads(args.heads),
        queries(args.query.dim(0)),
        positions(args.keys.dim(0)),
        width(args.query.dim(2) / args.heads) {}

  int64_t length(int64_t pair) const {  // of the sentence, with pair = b * heads + h
    return lengths ? std::clamp<int64_t>(lengths[pair / heads], 0, positions) : positions;
  }
  template <class U> Rows<U> rows(U* tensor, int64_t pair, int64_t count) const {
    return {tensor + pair * width, batch * heads * width, count, width};
  }
  Rows<const float> v_row(int64_t pair) const { return {v + pair % heads * width, 0, 1, width}; }
};

}  // namespace fovea::cpu::HWY_NAMESPACE::additive
HWY_AFTER_NAMESPACE();

#endif  // FOVEA_KERNELS_CPU_ATTENTION_ADDITIVE_SCORE_H_
