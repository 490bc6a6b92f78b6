// Bahdanau's additive score (2015, appendix A.1.2): score = v . tanh(query + keys), and its gradients. The tanh of
// B*T*S*D is never written: it is computed where it is needed, in backward once for the queries and once for the
// keys (once for both where there are few queries), so that every sum has one owner and one order.
#include "kernels/cuda/common/fast_tanh.h"
#include "kernels/cuda/functions.h"
#include "kernels/cuda/reduce/deterministic_sums.h"

namespace fovea::cuda {

namespace {

constexpr int kColumns = 256;      // columns of queries kept at a time
constexpr int kWarps = 8;          // of a block, forward
constexpr int kKeys = 4;           // keys of a warp
constexpr int kOwn = 8;            // queries or keys a thread has, backward
constexpr int kThreads = 128;      // of a block, backward
constexpr int kThreadColumns = 2;  // of a thread, kThreads apart
constexpr int kBlockColumns = kThreadColumns * kThreads;
constexpr int kOthers = 32;  // keys or queries whose dscore is kept at a time
constexpr int kAhead = 4;    // of them read before the first is used

// Each of the B*T*S*D cells takes one instruction of the special-function units. For bf16 elements that is a tanh
// within 2^-11, finer than their own rounding. For f32 ones it is the reciprocal r = 1 / (exp(2 x) + 1), of which
// tanh(x) = 1 - 2 r and its derivative 4 (r - r^2), since exp(2 (query + key)) is a product of two numbers that are
// known before. What a cell gives, tanh or r, is called y.
constexpr float kFar = 43.0f;  // exp(2 x) is a normal number up to here; beyond it the sum is taken first

__device__ float fast_reciprocal(float x) {
#if defined(__CUDA_ARCH__)
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1.0f / x;
#endif
}

// A number of a query or of a key.
template <class T> struct Point {
  float x;

  Point() = default;
  __device__ explicit Point(float of_x) : x(of_x) {}
  __device__ bool far() const { return false; }
  __device__ float y(const Point& key) const { return fast_tanh(x + key.x); }
  __device__ float far_y(const Point& key) const { return y(key); }
  __device__ static float slope(float y) { return fmaf(-y, y, 1.0f); }
  static constexpr float kSlope = 1.0f;                                 // slope(y) times it is tanh'
  __device__ static float tanh_sum(float, float of_y) { return of_y; }  // the sum of w tanh, from those of w and of w y
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

// Calls body with how a query and a key make y, as neither is far, or as one may be.
template <class T, class Body> __device__ void with_y(bool far, Body&& body) {
  if (far) return body([](const Point<T>& query, const Point<T>& key) { return query.far_y(key); });
  body([](const Point<T>& query, const Point<T>& key) { return query.y(key); });
}

// The sums over a warp's lanes of kCount numbers each: lane i gets the sum of number i % kCount. After every exchange
// a lane has half as many left.
template <int kCount, int kMost> __device__ float sums_over_warp(float (&x)[kMost]) {
  static_assert((kCount & (kCount - 1)) == 0 && kCount <= kWarp);
  if constexpr (kCount == 1) {
#pragma unroll
    for (int other = kMost; other < kWarp; other *= 2) x[0] += from_lane(x[0], other);
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

// A block has kQueries queries, and its warps kKeys keys each; the lanes go along the columns.
template <int kQueries, class T>
__global__ void __launch_bounds__(kWarps* kWarp, 3) score_kernel(const __grid_constant__ Additive<T> x, T* score) {
  __shared__ Point<T> query[kQueries][kColumns];
  __shared__ float v[kColumns];
  __shared__ int any_far;
  const int64_t row = blockIdx.x, first_query = int64_t{blockIdx.z} * kQueries, end = x.end(row);
  const int64_t first_key = (int64_t{blockIdx.y} * kWarps + threadIdx.y) * kKeys;
  const int lane = static_cast<int>(threadIdx.x), thread = static_cast<int>(threadIdx.y) * kWarp + lane;
  float sums[kKeys * kQueries] = {}, total = 0.0f;  // of v y, and of v
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

// The columns of a thread, backward.
struct ThreadColumns {
  int64_t first, width;
  __device__ explicit ThreadColumns(int64_t of_width)
      : first(int64_t{blockIdx.z} * kBlockColumns + threadIdx.x), width(of_width) {}
  __device__ int64_t at(int c) const { return first + c * kThreads; }
  __device__ bool inside(int c) const { return at(c) < width; }
  // The thread's numbers of what begins at `row`; zeros outside, and where there is no row.
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

// The dscore of a few others and of those that a block has.
template <int kCount> struct alignas(kCount == 1 ? 4 : 16) Others { float d[kCount]; };

// A thread has its columns of kQueries queries and goes through the keys. With z = tanh(query + key), dscore v (1 -
// z^2) is summed into dquery, and dscore z into a row of `dv_parts` for each block of queries. Where all queries are
// here, so is all of dkeys (kWithKeys). The columns lie side by side: reads of queries and keys are whole lines.
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
  float sums[kQueries][kThreadColumns] = {}, dv[kThreadColumns] = {};  // of dscore slope, and of dscore y
  float total = 0.0f;                                                  // of the dscore this thread has brought
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

// The same the other way round: columns of kOwn keys, through the queries.
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
  float sums[kOwn][kThreadColumns] = {};  // of dscore slope
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
  Scratch scratch(stream);
  float* dv_parts = args.dv ? scratch.take<float>(x.batch * tiles * depth) : nullptr;
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
