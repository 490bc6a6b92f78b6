// Bahdanau's additive score (2015, appendix A.1.2): score = v . tanh(query + keys), and its gradients. The tanh of
// B*T*S*D is never written: it is computed where it is needed, in backward once for the queries and once for the
// keys (once for both where there are few queries), so that every sum has one owner and one order.
#include "kernels/cuda/functions.h"
#include "kernels/cuda/sums.h"
#include "kernels/cuda/tanh.h"

namespace fovea::cuda {

namespace {

constexpr int kColumns = 256;  // columns of queries kept at a time
constexpr int kKeyWarps = 8;   // keys a block has, a warp each
constexpr int kOwn = 8;        // queries or keys a thread has, backward
constexpr int kThreads = 128;  // columns a block has, backward
constexpr int kOthers = 32;    // keys or queries whose dscore is kept at a time

// Everything is computed from r = 1 / (exp(2 x) + 1), of which tanh(x) = 1 - 2 r and its derivative 4 r (1 - r), so
// that each of the B*T*S*D cells takes one instruction of the special-function units. For f32 elements that is a
// reciprocal, since exp(2 (query + key)) is a product of two numbers that are known before; for bf16 ones it is a
// tanh within 2^-11, finer than their own rounding.
constexpr float kFar = 43.0f;  // exp(2 x) is a normal number up to here; beyond it the sum is taken first

struct Point {  // a number of a query or of a key
  float x, e;
  bool far;
};
template <class T> __device__ Point point(float x) {
  if constexpr (std::is_same_v<T, float>) {
    return {x, expf(2.0f * x), !(fabsf(x) <= kFar)};
  } else {
    return {x, 0.0f, false};
  }
}

__device__ float fast_reciprocal(float x) {
#if defined(__CUDA_ARCH__)
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1.0f / x;
#endif
}

// r of a query's x and e and a key, neither of them far or, in the second, one of them.
template <class T> __device__ float rest(float x, float e, const Point& key) {
  if constexpr (std::is_same_v<T, float>) {
    return fast_reciprocal(fmaf(e, key.e, 1.0f));
  } else {
    return fmaf(-0.5f, fast_tanh(x + key.x), 0.5f);
  }
}
__device__ float far_rest(float x, const Point& key) { return fast_reciprocal(__expf(2.0f * (x + key.x)) + 1.0f); }

template <class T> struct Additive {
  const T *query, *keys;
  const float* v;
  const int32_t* lengths;
  int64_t batch, heads, queries, count, width;  // count: keys; width: of a head

  template <class Args>
  explicit Additive(const Args& args)
      : query(args.query.template data<T>()),
        keys(args.keys.template data<T>()),
        v(args.v.template data<float>()),
        lengths(args.lengths.template data<int32_t>()),
        batch(args.query.dim(1)),
        heads(args.heads),
        queries(args.query.dim(0)),
        count(args.keys.dim(0)),
        width(args.query.dim(2) / args.heads) {}
  int64_t rows() const { return batch * heads; }

  // Of row (b,h): how many keys there are, and where step n of a sequence begins.
  __device__ int64_t end(int64_t row) const {
    const int64_t b = row / heads;
    if (lengths == nullptr || lengths[b] >= count) return count;
    return lengths[b] > 0 ? lengths[b] : 0;
  }
  __device__ int64_t at(int64_t n, int64_t row) const { return (n * batch * heads + row) * width; }
  __device__ int64_t cell(int64_t row, int64_t t, int64_t s) const { return (row * queries + t) * count + s; }
};

// A block has kQueries queries and a key for each of its warps, whose lanes go along the columns.
template <int kQueries, class T> __global__ void score_kernel(const __grid_constant__ Additive<T> x, T* score) {
  __shared__ float query[kQueries][kColumns], exponents[kQueries][kColumns], v[kColumns];
  __shared__ int any_far;
  const int64_t row = blockIdx.x, s = int64_t{blockIdx.y} * kKeyWarps + threadIdx.y;
  const int64_t first = int64_t{blockIdx.z} * kQueries;
  const int thread = static_cast<int>(threadIdx.y) * kWarp + static_cast<int>(threadIdx.x);
  const bool present = s < x.end(row);
  float sums[kQueries] = {}, total = 0.0f;  // of v r, and of v
  for (int64_t begin = 0; begin < x.width; begin += kColumns) {
    const int columns = static_cast<int>(x.width - begin < kColumns ? x.width - begin : kColumns);
    if (thread == 0) any_far = 0;
    __syncthreads();
    for (int i = thread; i < columns; i += kKeyWarps * kWarp) {
      v[i] = x.v[row % x.heads * x.width + begin + i];
      for (int j = 0; j < kQueries; ++j) {
        const bool there = first + j < x.queries;
        const Point p = point<T>(there ? load(x.query + x.at(first + j, row) + begin + i) : 0.0f);
        query[j][i] = p.x;
        exponents[j][i] = p.e;
        if (p.far) any_far = 1;
      }
    }
    __syncthreads();
    const bool far = any_far != 0;
    __syncthreads();
    if (!present) continue;
    const T* key = x.keys + x.at(s, row) + begin;
    for (int i = static_cast<int>(threadIdx.x); i < columns; i += kWarp) {
      const Point k = point<T>(load(key + i));
      const float weight = v[i];
      total += weight;
      if (far || k.far) {
#pragma unroll
        for (int j = 0; j < kQueries; ++j) sums[j] += weight * far_rest(query[j][i], k);
      } else {
#pragma unroll
        for (int j = 0; j < kQueries; ++j) sums[j] += weight * rest<T>(query[j][i], exponents[j][i], k);
      }
    }
  }
#pragma unroll
  for (int j = 0; j < kQueries; ++j) {
    const float sum = over_warp(total - 2.0f * sums[j], Sum());
    if (static_cast<int>(threadIdx.x) == j && s < x.count && first + j < x.queries) {
      store(score + x.cell(row, first + j, s), sum);
    }
  }
}

// A thread has one column of kQueries queries and goes through the keys. With z = tanh(query + key), dscore v (1 -
// z^2) is summed into dquery, and dscore z into a row of `dv_parts` for each block of queries. Where all queries are
// here, so is all of dkeys (kWithKeys). The columns lie side by side: reads of queries and keys are whole lines.
template <int kQueries, bool kWithKeys, class T>
__global__ void query_grad_kernel(const __grid_constant__ Additive<T> x, const T* dscore, T* dquery, T* dkeys,
                                  float* dv_parts) {
  __shared__ float d[kQueries][kOthers];
  const int64_t row = blockIdx.x, first = int64_t{blockIdx.y} * kQueries;
  const int64_t column = int64_t{blockIdx.z} * kThreads + threadIdx.x, end = x.end(row);
  const bool inside = column < x.width;
  Point query[kQueries];
  bool far = false;
  float sums[kQueries] = {}, dv = 0.0f;  // of dscore r (1 - r), and of dscore r
  float total = 0.0f;                    // of the dscore this thread has brought
#pragma unroll
  for (int j = 0; j < kQueries; ++j) {
    query[j] = point<T>(inside && first + j < x.queries ? load(x.query + x.at(first + j, row) + column) : 0.0f);
    far = far || query[j].far;
  }
  const float v = inside ? x.v[row % x.heads * x.width + column] : 0.0f;
  for (int64_t begin = 0; begin < end; begin += kOthers) {
    const int some = static_cast<int>(end - begin < kOthers ? end - begin : kOthers);
    __syncthreads();
    for (int e = static_cast<int>(threadIdx.x); e < kQueries * kOthers; e += kThreads) {
      const int j = e / kOthers, s = e % kOthers;
      const bool there = s < some && first + j < x.queries;
      const float g = there ? load(dscore + x.cell(row, first + j, begin + s)) : 0.0f;
      d[j][s] = g;
      total += g;
    }
    __syncthreads();
    for (int s = 0; inside && s < some; ++s) {
      const int64_t place = x.at(begin + s, row) + column;
      const Point key = point<T>(load(x.keys + place));
      float of_key = 0.0f;
      const auto see = [&](int j, float r) {
        const float g = d[j][s], inner = g * fmaf(-r, r, r);
        sums[j] += inner;
        of_key += inner;
        dv += g * r;
      };
      if (far || key.far) {
#pragma unroll
        for (int j = 0; j < kQueries; ++j) see(j, far_rest(query[j].x, key));
      } else {
#pragma unroll
        for (int j = 0; j < kQueries; ++j) see(j, rest<T>(query[j].x, query[j].e, key));
      }
      if (kWithKeys && dkeys != nullptr) add(dkeys + place, 4.0f * v * of_key);
    }
  }
  __shared__ float totals[kThreads / kWarp];
  total = over_warp(total, Sum());
  if (threadIdx.x % kWarp == 0) totals[threadIdx.x / kWarp] = total;
  __syncthreads();
  total = totals[0];
  for (int w = 1; w < kThreads / kWarp; ++w) total += totals[w];
  if (!inside) return;
  if (dv_parts != nullptr) {
    const int64_t b = row / x.heads, part = b * gridDim.y + blockIdx.y;
    dv_parts[(part * x.heads + row % x.heads) * x.width + column] = total - 2.0f * dv;
  }
  if (dquery == nullptr) return;
#pragma unroll
  for (int j = 0; j < kQueries; ++j) {
    if (first + j < x.queries) add(dquery + x.at(first + j, row) + column, 4.0f * v * sums[j]);
  }
}

// The same the other way round: a column of kOwn keys, through the queries.
template <class T> __global__ void key_grad_kernel(const __grid_constant__ Additive<T> x, const T* dscore, T* dkeys) {
  __shared__ float d[kOwn][kOthers];
  const int64_t row = blockIdx.x, first = int64_t{blockIdx.y} * kOwn;
  const int64_t column = int64_t{blockIdx.z} * kThreads + threadIdx.x, end = x.end(row);
  const bool inside = column < x.width;
  if (first >= end) return;
  Point key[kOwn];
  bool far = false;
  float sums[kOwn] = {};  // of dscore r (1 - r)
#pragma unroll
  for (int j = 0; j < kOwn; ++j) {
    key[j] = point<T>(inside && first + j < end ? load(x.keys + x.at(first + j, row) + column) : 0.0f);
    far = far || key[j].far;
  }
  for (int64_t begin = 0; begin < x.queries; begin += kOthers) {
    const int some = static_cast<int>(x.queries - begin < kOthers ? x.queries - begin : kOthers);
    __syncthreads();
    for (int e = static_cast<int>(threadIdx.x); e < kOwn * kOthers; e += kThreads) {
      const int j = e % kOwn, t = e / kOwn;
      const bool there = t < some && first + j < end;
      d[j][t] = there ? load(dscore + x.cell(row, begin + t, first + j)) : 0.0f;
    }
    __syncthreads();
    for (int t = 0; inside && t < some; ++t) {
      const Point query = point<T>(load(x.query + x.at(begin + t, row) + column));
      if (far || query.far) {
#pragma unroll
        for (int j = 0; j < kOwn; ++j) {
          const float r = far_rest(query.x, key[j]);
          sums[j] += d[j][t] * fmaf(-r, r, r);
        }
      } else {
#pragma unroll
        for (int j = 0; j < kOwn; ++j) {
          const float r = rest<T>(query.x, query.e, key[j]);
          sums[j] += d[j][t] * fmaf(-r, r, r);
        }
      }
    }
  }
  if (!inside) return;
  const float v = x.v[row % x.heads * x.width + column];
#pragma unroll
  for (int j = 0; j < kOwn; ++j) {
    if (first + j < end) add(dkeys + x.at(first + j, row) + column, 4.0f * v * sums[j]);
  }
}

template <int kQueries, class T> void score(Stream& stream, const Additive<T>& x, T* scores) {
  const Grid grid = {dim3(to_unsigned(x.rows()), to_unsigned(ceil_div(x.count, kKeyWarps)),
                          to_unsigned(ceil_div(x.queries, kQueries))),
                     dim3(kWarp, kKeyWarps)};
  launch(stream, score_kernel<kQueries, T>, grid, x, scores);
}

template <int kQueries, bool kWithKeys, class T>
void query_grad(Stream& stream, const Additive<T>& x, const AdditiveScoreGradArgs& args) {
  const int64_t tiles = ceil_div(x.queries, kQueries), depth = x.heads * x.width;
  Scratch scratch(stream);
  float* dv_parts = args.dv ? scratch.take<float>(x.batch * tiles * depth) : nullptr;
  const Grid grid = {dim3(to_unsigned(x.rows()), to_unsigned(tiles), to_unsigned(ceil_div(x.width, kThreads))),
                     dim3(kThreads)};
  launch(stream, query_grad_kernel<kQueries, kWithKeys, T>, grid, x, args.dscore.data<T>(), args.dquery.data<T>(),
         args.dkeys.data<T>(), dv_parts);
  if (args.dv) {
    column_sums(stream, 1, x.batch * tiles, depth, ReadColumns{dv_parts, depth}, SumTo<float>{args.dv.data<float>()});
  }
}

}  // namespace

void additive_score(Stream& stream, const AdditiveScoreArgs& args) {
  with_type_of(args.query, [&]<class T>(T) {
    const Additive<T> x(args);
    x.queries == 1 ? score<1>(stream, x, args.score.data<T>()) : score<kOwn>(stream, x, args.score.data<T>());
  });
}

void additive_score_grad(Stream& stream, const AdditiveScoreGradArgs& args) {
  with_type_of(args.query, [&]<class T>(T) {
    const Additive<T> x(args);
    if (x.queries == 1) return query_grad<1, true>(stream, x, args);
    if (x.queries <= kOwn) return query_grad<kOwn, true>(stream, x, args);
    if (args.dquery || args.dv) query_grad<kOwn, false>(stream, x, args);
    if (!args.dkeys) return;
    const Grid grid = {
        dim3(to_unsigned(x.rows()), to_unsigned(ceil_div(x.count, kOwn)), to_unsigned(ceil_div(x.width, kThreads))),
        dim3(kThreads)};
    launch(stream, key_grad_kernel<T>, grid, x, args.dscore.data<T>(), args.dkeys.data<T>());
  });
}

}  // namespace fovea::cuda
