// Bahdanau's additive score (2015, appendix A.1.2), score = v . tanh(query + keys), and its gradients. The B*T*S*D
// values of tanh are never stored: backward recomputes them once for the queries and once for the keys (once for both
// if there are few queries), so that each sum is computed by one thread in a fixed order.
#include "kernels/cuda/common/fast_tanh.h"
#include "kernels/cuda/functions.h"
#include "kernels/cuda/reduce/deterministic_sums.h"

namespace fovea::cuda {

namespace {

constexpr int kColumns = 256;      // columns of the queries in shared memory at a time
constexpr int kWarps = 8;          // per block, in the forward kernel
constexpr int kKeys = 4;           // keys per warp
constexpr int kOwn = 8;            // queries or keys per thread, in backward
constexpr int kThreads = 128;      // per block, in backward
constexpr int kThreadColumns = 2;  // columns per thread, kThreads apart
constexpr int kBlockColumns = kThreadColumns * kThreads;
constexpr int kOthers = 32;  // keys or queries whose dscore is in shared memory at a time
constexpr int kAhead = 4;    // keys or queries that are loaded before the first is used

// Each of the B*T*S*D elements costs one instruction of the special-function units. For bf16 this is a tanh with an
// error below 2^-11, less than the rounding of bf16. For f32 it is the reciprocal r = 1 / (exp(2 x) + 1), with tanh(x)
// = 1 - 2 r and the derivative 4 (r - r^2): exp(2 (query + key)) is the product of two exponentials that are computed
// once per query and key. The value tanh or r is called y.
constexpr float kFar =
    43.0f;  // largest |x| for which exp(2 x) is used as a factor; beyond it query + key is added first

__device__ float fast_reciprocal(float x) {
#if defined(__CUDA_ARCH__)
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1.0f / x;
#endif
}

// One element of a query or a key.
template <class T> struct Point {
  float x;

  Point() = default;
  __device__ explicit Point(float of_x) : x(of_x) {}
  __device__ bool far() const { return false; }
  __device__ float y(const Point& key) const { return fast_tanh(x + key.x); }
  __device__ float far_y(const Point& key) const { return y(key); }
  __device__ static float slope(float y) { return fmaf(-y, y, 1.0f); }
  static constexpr float kSlope = 1.0f;  // the derivative of tanh is kSlope * slope(y)
  __device__ static float tanh_sum(float, float of_y) {
    return of_y;
  }  // returns the sum of w tanh, given the sums of w and of w y
};
template <> struct Point<float> {
  float x, e;

  Point() = default;
  __device__ explicit Point(float of_x) : x(of_x), e(expf(2.0f * of_x)) {}
  __device__ bool far() const { return !(fabsf(x) <= kFar); }
  __device__ float y(const Point& key) const { return fast_reciprocal(fmaf(e, key.e, 1.0f)); }
  __device__ float far_y(const Point& key) const { return fast_reciprocal(__expf(2.0f * (x + key.x)) + 1.0f); }
  __device__ static float slope(float y) { return fmaf(-y, y, y); }
  static constexpr float kSlope = 4.0f;
  __device__ static float tanh_sum(float of_w, float of_y) { return of_w - 2.0f * of_y; }
};

// Calls body with the function that computes y; `far` selects the one that cannot overflow.
template <class T, class Body> __device__ void with_y(bool far, Body&& body) {
  if (far) return body([](const Point<T>& query, const Point<T>& key) { return query.far_y(key); });
  body([](const Point<T>& query, const Point<T>& key) { return query.y(key); });
}

// Sums kCount numbers over the lanes of a warp: lane i gets the sum of number i % kCount. After each exchange a lane
// continues with half of the numbers.
template <int kCount, int kSize> __device__ float sums_over_warp(float (&x)[kSize]) {
  static_assert((kCount & (kCount - 1)) == 0 && kCount <= kWarp);
  if constexpr (kCount == 1) {
#pragma unroll
    for (int other = kSize; other < kWarp; other *= 2) x[0] += from_lane(x[0], other);
    return x[0];
  } else {
    constexpr int kHalf = kCount / 2;
    const bool upper = (threadIdx.x & kHalf) != 0;
#pragma unroll
    for (int i = 0; i < kHalf; ++i) {
      x[i] = (upper ? x[i + kHalf] : x[i]) + from_lane(upper ? x[i] : x[i + kHalf], kHalf);
    }
    return sums_over_warp<kHalf>(x);
  }
}

template <class T> struct Additive {
  const T *query, *keys;
  const float* v;
  const int32_t* lengths;
  int64_t batch, heads, queries, count, width;  // `count` is the number of keys, `width` the width of a head

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

  // Returns the number of keys of row (b,h).
  __device__ int64_t end(int64_t row) const {
    const int64_t b = row / heads;
    if (lengths == nullptr || lengths[b] >= count) return count;
    return lengths[b] > 0 ? lengths[b] : 0;
  }
  __device__ int64_t at(int64_t n, int64_t row) const { return (n * batch * heads + row) * width; }
  __device__ int64_t cell(int64_t row, int64_t t, int64_t s) const { return (row * queries + t) * count + s; }
};

// Each block computes kQueries queries, each of its warps kKeys keys; the lanes of a warp share the columns.
template <int kQueries, class T>
__global__ void __launch_bounds__(kWarps* kWarp, 3) score_kernel(const __grid_constant__ Additive<T> x, T* score) {
  __shared__ Point<T> query[kQueries][kColumns];
  __shared__ float v[kColumns];
  __shared__ int any_far;
  const int64_t row = blockIdx.x, first_query = int64_t{blockIdx.z} * kQueries, end = x.end(row);
  const int64_t first_key = (int64_t{blockIdx.y} * kWarps + threadIdx.y) * kKeys;
  const int lane = static_cast<int>(threadIdx.x), thread = static_cast<int>(threadIdx.y) * kWarp + lane;
  float sums[kKeys * kQueries] = {}, total = 0.0f;  // the sums of v y, and of v
  for (int64_t begin = 0; begin < x.width; begin += kColumns) {
    const int columns = static_cast<int>(x.width - begin < kColumns ? x.width - begin : kColumns);
    if (thread == 0) any_far = 0;
    __syncthreads();
    for (int i = thread; i < columns; i += kWarps * kWarp) {
      v[i] = x.v[row % x.heads * x.width + begin + i];
#pragma unroll
      for (int j = 0; j < kQueries; ++j) {
        const bool there = first_query + j < x.queries;
        query[j][i] = Point<T>(there ? load(x.query + x.at(first_query + j, row) + begin + i) : 0.0f);
        if (query[j][i].far()) any_far = 1;
      }
    }
    __syncthreads();
    const bool far = any_far != 0;
    __syncthreads();
    if (first_key >= end) continue;
    for (int i = lane; i < columns; i += kWarp) {
      Point<T> keys[kKeys];
      bool far_here = far;
#pragma unroll
      for (int k = 0; k < kKeys; ++k) {
        keys[k] = Point<T>(first_key + k < end ? load(x.keys + x.at(first_key + k, row) + begin + i) : 0.0f);
        far_here = far_here || keys[k].far();
      }
      const float weight = v[i];
      total += weight;
      with_y<T>(far_here, [&](auto y) {
#pragma unroll
        for (int j = 0; j < kQueries; ++j) {
          const Point<T> q = query[j][i];
#pragma unroll
          for (int k = 0; k < kKeys; ++k) sums[k * kQueries + j] += weight * y(q, keys[k]);
        }
      });
    }
  }
  total = over_warp(total, Sum());
  const float sum = Point<T>::tanh_sum(total, sums_over_warp<kKeys * kQueries>(sums));
  const int64_t t = first_query + lane % kQueries, s = first_key + lane / kQueries;
  if (lane < kKeys * kQueries && s < x.count && t < x.queries) store(score + x.cell(row, t, s), s < end ? sum : 0.0f);
}

// The columns of a thread, in backward.
struct ThreadColumns {
  int64_t first, width;
  __device__ explicit ThreadColumns(int64_t of_width)
      : first(int64_t{blockIdx.z} * kBlockColumns + threadIdx.x), width(of_width) {}
  __device__ int64_t at(int c) const { return first + c * kThreads; }
  __device__ bool inside(int c) const { return at(c) < width; }
  // Loads the columns of this thread from `row`; they are zero beyond the width and for an absent row.
  template <class T> __device__ void read(Point<T> (&to)[kThreadColumns], const T* row, bool there) const {
#pragma unroll
    for (int c = 0; c < kThreadColumns; ++c) to[c] = Point<T>(there && inside(c) ? load(row + at(c)) : 0.0f);
  }
};

template <class T, int kCount> __device__ bool any_far(const Point<T> (&points)[kCount][kThreadColumns]) {
  bool far = false;
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
#pragma unroll
    for (int c = 0; c < kThreadColumns; ++c) far = far || points[j][c].far();
  }
  return far;
}

// The dscore of one key or query with all queries or keys of the block.
template <int kCount> struct alignas(kCount == 1 ? 4 : 16) Others { float d[kCount]; };

// Each thread has some columns of kQueries queries and iterates over the keys. With z = tanh(query + key), it sums
// dscore v (1 - z^2) into dquery, and dscore z into one row of `dv_parts` for each block of queries. If the block has
// all queries, it also computes dkeys (kWithKeys). Adjacent threads have adjacent columns, so that loads are coalesced.
template <int kQueries, bool kWithKeys, class T>
__global__ void __launch_bounds__(kThreads)
    query_grad_kernel(const __grid_constant__ Additive<T> x, const T* dscore, T* dquery, T* dkeys, float* dv_parts) {
  __shared__ Others<kQueries> of_keys[kOthers];
  const int64_t row = blockIdx.x, first = int64_t{blockIdx.y} * kQueries, end = x.end(row);
  const ThreadColumns columns(x.width);
  Point<T> query[kQueries][kThreadColumns];
#pragma unroll
  for (int j = 0; j < kQueries; ++j) columns.read(query[j], x.query + x.at(first + j, row), first + j < x.queries);
  const bool far = any_far(query);
  float sums[kQueries][kThreadColumns] = {}, dv[kThreadColumns] = {};  // the sums of dscore slope, and of dscore y
  float total = 0.0f;  // the sum of the dscore that this thread has loaded
  float v[kThreadColumns];
#pragma unroll
  for (int c = 0; c < kThreadColumns; ++c) {
    v[c] = columns.inside(c) ? x.v[row % x.heads * x.width + columns.at(c)] : 0.0f;
  }
  for (int64_t begin = 0; begin < end; begin += kOthers) {
    __syncthreads();
    for (int e = static_cast<int>(threadIdx.x); e < kQueries * kOthers; e += kThreads) {
      const int j = e / kOthers, s = e % kOthers;
      const bool there = begin + s < end && first + j < x.queries;
      const float g = there ? load(dscore + x.cell(row, first + j, begin + s)) : 0.0f;
      of_keys[s].d[j] = g;
      total += g;
    }
    __syncthreads();
    for (int ahead = 0; ahead < kOthers && begin + ahead < end; ahead += kAhead) {
      Point<T> keys[kAhead][kThreadColumns];
#pragma unroll
      for (int s = 0; s < kAhead; ++s) {
        const int64_t key = begin + ahead + s;
        columns.read(keys[s], x.keys + x.at(key, row), key < end);
      }
      with_y<T>(far || any_far(keys), [&](auto y_of) {
#pragma unroll
        for (int s = 0; s < kAhead; ++s) {
          const Others<kQueries> g = of_keys[ahead + s];
          float of_key[kThreadColumns] = {};
#pragma unroll
          for (int j = 0; j < kQueries; ++j) {
#pragma unroll
            for (int c = 0; c < kThreadColumns; ++c) {
              const float y = y_of(query[j][c], keys[s][c]), slope = Point<T>::slope(y);
              sums[j][c] += g.d[j] * slope;
              dv[c] += g.d[j] * y;
              if constexpr (kWithKeys) of_key[c] += g.d[j] * slope;
            }
          }
          if constexpr (kWithKeys) {
            const int64_t key = begin + ahead + s;
#pragma unroll
            for (int c = 0; c < kThreadColumns; ++c) {
              if (dkeys == nullptr || key >= end || !columns.inside(c)) continue;
              add(dkeys + x.at(key, row) + columns.at(c), Point<T>::kSlope * v[c] * of_key[c]);
            }
          }
        }
      });
    }
  }
  __shared__ float totals[kThreads / kWarp];
  total = over_warp(total, Sum());
  if (threadIdx.x % kWarp == 0) totals[threadIdx.x / kWarp] = total;
  __syncthreads();
  total = totals[0];
  for (int w = 1; w < kThreads / kWarp; ++w) total += totals[w];
  const int64_t part = row / x.heads * gridDim.y + blockIdx.y;
#pragma unroll
  for (int c = 0; c < kThreadColumns; ++c) {
    if (!columns.inside(c)) continue;
    if (dv_parts != nullptr) {
      dv_parts[(part * x.heads + row % x.heads) * x.width + columns.at(c)] = Point<T>::tanh_sum(total, dv[c]);
    }
    if (dquery == nullptr) continue;
#pragma unroll
    for (int j = 0; j < kQueries; ++j) {
      if (first + j >= x.queries) continue;
      add(dquery + x.at(first + j, row) + columns.at(c), Point<T>::kSlope * v[c] * sums[j][c]);
    }
  }
}

// The gradient of kOwn keys per thread, iterating over the queries.
template <class T>
__global__ void __launch_bounds__(kThreads)
    key_grad_kernel(const __grid_constant__ Additive<T> x, const T* dscore, T* dkeys) {
  __shared__ Others<kOwn> of_queries[kOthers];
  const int64_t row = blockIdx.x, first = int64_t{blockIdx.y} * kOwn, end = x.end(row);
  const ThreadColumns columns(x.width);
  if (first >= end) return;
  Point<T> keys[kOwn][kThreadColumns];
#pragma unroll
  for (int j = 0; j < kOwn; ++j) columns.read(keys[j], x.keys + x.at(first + j, row), first + j < end);
  const bool far = any_far(keys);
  float sums[kOwn][kThreadColumns] = {};  // the sums of dscore slope
  for (int64_t begin = 0; begin < x.queries; begin += kOthers) {
    __syncthreads();
    for (int e = static_cast<int>(threadIdx.x); e < kOwn * kOthers; e += kThreads) {
      const int j = e % kOwn, t = e / kOwn;
      const bool there = begin + t < x.queries && first + j < end;
      of_queries[t].d[j] = there ? load(dscore + x.cell(row, begin + t, first + j)) : 0.0f;
    }
    __syncthreads();
    for (int ahead = 0; ahead < kOthers && begin + ahead < x.queries; ahead += kAhead) {
      Point<T> query[kAhead][kThreadColumns];
#pragma unroll
      for (int t = 0; t < kAhead; ++t) {
        columns.read(query[t], x.query + x.at(begin + ahead + t, row), begin + ahead + t < x.queries);
      }
      with_y<T>(far || any_far(query), [&](auto y_of) {
#pragma unroll
        for (int t = 0; t < kAhead; ++t) {
          const Others<kOwn> g = of_queries[ahead + t];
#pragma unroll
          for (int j = 0; j < kOwn; ++j) {
#pragma unroll
            for (int c = 0; c < kThreadColumns; ++c) {
              sums[j][c] += g.d[j] * Point<T>::slope(y_of(query[t][c], keys[j][c]));
            }
          }
        }
      });
    }
  }
#pragma unroll
  for (int c = 0; c < kThreadColumns; ++c) {
    if (!columns.inside(c)) continue;
    const float v = x.v[row % x.heads * x.width + columns.at(c)];
#pragma unroll
    for (int j = 0; j < kOwn; ++j) {
      if (first + j < end) add(dkeys + x.at(first + j, row) + columns.at(c), Point<T>::kSlope * v * sums[j][c]);
    }
  }
}

template <int kQueries, class T> void score(Stream& stream, const Additive<T>& x, T* scores) {
  const Grid grid = {dim3(to_unsigned(x.rows()), to_unsigned(ceil_div(x.count, kWarps * kKeys)),
                          to_unsigned(ceil_div(x.queries, kQueries))),
                     dim3(kWarp, kWarps)};
  launch(stream, score_kernel<kQueries, T>, grid, x, scores);
}

template <int kQueries, bool kWithKeys, class T>
void query_grad(Stream& stream, const Additive<T>& x, const AdditiveScoreGradArgs& args) {
  const int64_t tiles = ceil_div(x.queries, kQueries), depth = x.heads * x.width;
  Workspace workspace(stream);
  float* dv_parts = args.dv ? workspace.allocate<float>(x.batch * tiles * depth) : nullptr;
  const Grid grid = {dim3(to_unsigned(x.rows()), to_unsigned(tiles), to_unsigned(ceil_div(x.width, kBlockColumns))),
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
    const Grid grid = {dim3(to_unsigned(x.rows()), to_unsigned(ceil_div(x.count, kOwn)),
                            to_unsigned(ceil_div(x.width, kBlockColumns))),
                       dim3(kThreads)};
    launch(stream, key_grad_kernel<T>, grid, x, args.dscore.data<T>(), args.dkeys.data<T>());
  });
}

}  // namespace fovea::cuda
