// The gradient of the additive score. With g = dscore and r = 1 / (1 + e^2(q+k)), so that tanh is 1 - 2r:
//   dv = sum g (1 - 2r),   dq = 4v sum_s g r(1-r),   dk = 4v sum_t g r(1-r)
// The columns d are independent, so the work is split along d, and only dv is summed across threads, over the
// sentences.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention/additive_score_grad.cpp"
#include "base/threads.h"
#include "kernels/cpu/attention/additive_score.h"
#include "kernels/cpu/functions.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

using namespace additive;

constexpr int64_t kKeyBlock = 256;       // columns of dscore in f32 at a time
constexpr int64_t kPartCells = 1 << 16;  // elements of keys in one part: they and their gradient stay in cache

// The contributions of one chunk of a query and a key: g r to the sum for dv, g r(1-r) to the sums for dq and dk.
struct CellGrad {
  Pair r, slope;
};
template <class Kind> HWY_INLINE CellGrad make_cell(const Pair& q, const Pair& k, Floats g) {
  const Floats a = Kind::denominator(q.low, k.low), b = Kind::denominator(q.high, k.high);
  const Floats both = reciprocal(a * b);
  const Pair r{b * both, a * both}, gr{g * r.low, g * r.high};
  return {gr, {neg_mul_add(gr.low, r.low, gr.low), neg_mul_add(gr.high, r.high, gr.high)}};
}

// One chunk of two keys with `queries` queries. Rows are kChunk apart.
struct Tile {
  const float *query, *key, *next_key;
  const float* dscore;    // two columns of rows of length kKeyBlock
  float *dquery, *dkeys;  // sums of g r(1-r)
  int64_t queries;
};
// Returns the sum of g r.
template <class Kind> HWY_INLINE Pair add_tile(const Tile& tile) {
  const Pair k[2] = {load_pair(tile.key), load_pair(tile.next_key)};
  Pair dk[2] = {load_pair(tile.dkeys), load_pair(tile.dkeys + kChunk)};
  Pair r_sum{Floats(0), Floats(0)};
  for (int64_t t = 0; t < tile.queries; ++t) {
    const Pair q = load_pair(tile.query + t * kChunk);
    Pair dq = load_pair(tile.dquery + t * kChunk);
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      const CellGrad cell = make_cell<Kind>(q, k[j], Floats(tile.dscore[t * kKeyBlock + j]));
      dq += cell.slope;
      dk[j] += cell.slope;
      r_sum += cell.r;
    }
    store_pair(dq, tile.dquery + t * kChunk);
  }
  store_pair(dk[0], tile.dkeys);
  store_pair(dk[1], tile.dkeys + kChunk);
  return r_sum;
}

HWY_INLINE void add_to(float* p, Pair x) {
  store(load(p) + x.low, p);
  store(load(p + kLanes) + x.high, p + kLanes);
}

// gradient[row] += 4v sums, for one chunk
template <class T>
HWY_INLINE void add_gradient(const Rows<T>& gradient, int64_t row, int64_t chunk, Pair sums, Pair v) {
  T* p = gradient.at(row, chunk);
  prefetch(gradient.at(row + 1, chunk));
  const int64_t n = std::min(gradient.width - chunk * kChunk, kChunk);
  const Pair before = load_pair(p, n);
  const Pair after{mul_add(Floats(4) * v.low, sums.low, before.low),
                   mul_add(Floats(4) * v.high, sums.high, before.high)};
  if (n == kChunk) {
    store(after.low, p);
    return store(after.high, p + kLanes);
  }
  store(after.low, p, FirstLanes{std::min(n, kLanes)});
  if (n > kLanes) store(after.high, p + kLanes, FirstLanes{n - kLanes});
}
template <class T> void add_gradient(const Rows<T>& gradient, const Panel& sums, const Rows<const float>& v) {
  for (int64_t row = 0; row < gradient.count; ++row) {
    for (int64_t c = 0; c < gradient.chunks(); ++c) {
      add_gradient(gradient, row, c, load_pair(sums.at(row, c)), load_pair(v, 0, c));
    }
  }
}

// The chunks [first, end) of one sentence and head (pair = b * heads + h). Its panels store the rows of a chunk
// contiguously.
template <class T> class Part {
 public:
  Part(const Problem<T>& problem, int64_t pair, int64_t first, int64_t end)
      : problem_(problem), pair_(pair), first_(first), end_(end), length_(problem.length(pair)) {
    // An odd number of rows avoids cache conflicts between the chunks.
    const int64_t key_size = (length_ / 2 * 2 + 3) * kChunk, query_size = (kQueryBlock + 1) * kChunk;
    query_ = {.near = {workspace<float, struct GradQueryNear>(chunks() * query_size), kChunk, query_size},
              .far = {workspace<float, struct GradQueryFar>(chunks() * query_size), kChunk, query_size},
              .reach = workspace<float, struct GradQueryReach>(chunks())};
    keys_ = {.near = {workspace<float, struct GradKeysNear>(chunks() * key_size), kChunk, key_size},
             .far = {workspace<float, struct GradKeysFar>(chunks() * key_size), kChunk, key_size},
             .reach = workspace<float, struct GradKeysReach>(chunks())};
    dquery_ = {workspace<float, struct GradDQuery>(chunks() * query_size), kChunk, query_size};
    dkeys_ = {workspace<float, struct GradDKeys>(chunks() * key_size), kChunk, key_size};
    dscore_ = workspace<float, struct GradDScore>(kQueryBlock * kKeyBlock);
    r_sums_ = workspace<float, struct GradRSums>(chunks() * kChunk);
  }

  // Adds to dquery and dkeys and sets its columns of dv [B,H,d], if they are given.
  void run(const T* dscore, T* dquery, T* dkeys, float* dv) {
    std::fill_n(r_sums_, chunks() * kChunk, 0.0f);
    if (problem_.queries == 1) {
      run_one(dscore + pair_ * problem_.positions, dquery, dkeys);
    } else {
      run_blocks(dscore + pair_ * problem_.queries * problem_.positions, dquery, dkeys);
    }
    if (dv) set_dv(columns(Rows<float>{dv + pair_ * problem_.width, 0, 1, problem_.width}));
  }

 private:
  int64_t chunks() const { return end_ - first_; }
  template <class U> Rows<U> columns(const Rows<U>& rows) const { return rows.columns(first_, end_); }

  // With one query no exponential is used twice, and the gradient of each key is complete after one term.
  void run_one(const T* dscore, T* dquery, T* dkeys) {
    const auto query = columns(problem_.rows(problem_.query, pair_, 1));
    const auto keys = columns(problem_.rows(problem_.keys, pair_, length_));
    const auto dkey_rows = dkeys ? columns(problem_.rows(dkeys, pair_, length_)) : Rows<T>{};
    const Rows<const float> v = columns(problem_.v_row(pair_));
    for (int64_t c = 0; c < chunks(); ++c) std::fill_n(dquery_.at(0, c), kChunk, 0.0f);
    for (int64_t s = 0; s < length_; ++s) {
      const float g = static_cast<float>(dscore[s]);
      for (int64_t c = 0; c < chunks(); ++c) {
        const CellGrad cell = make_cell<Far>(load_pair(query, 0, c), load_pair(keys, s, c), Floats(g));
        prefetch(keys.at(s + 1, c));
        add_to(r_sums_ + c * kChunk, cell.r);
        add_to(dquery_.at(0, c), cell.slope);
        if (dkeys) add_gradient(dkey_rows, s, c, cell.slope, load_pair(v, 0, c));
      }
      g_sum_ += g;
    }
    if (dquery) add_gradient(columns(problem_.rows(dquery, pair_, 1)), dquery_, v);
  }

  void run_blocks(const T* dscore, T* dquery, T* dkeys) {
    const Rows<const T> keys = columns(problem_.rows(problem_.keys, pair_, length_));
    const Rows<const float> v = columns(problem_.v_row(pair_));
    fill_near(keys_, keys);
    std::fill_n(dkeys_.data, chunks() * dkeys_.chunk_stride, 0.0f);
    for (int64_t t = 0; t < problem_.queries; t += kQueryBlock) {
      const int64_t count = std::min(kQueryBlock, problem_.queries - t);
      const auto block = [&](auto* tensor) {
        return columns(problem_.rows(tensor, pair_, problem_.queries)).rows(t, t + count);
      };
      fill_near(query_, block(problem_.query));
      order_ = find_order(query_, keys_, chunks());
      fill_far(query_, block(problem_.query), order_);
      fill_far(keys_, keys, order_);
      for (int64_t c = 0; c < chunks(); ++c) std::fill_n(dquery_.at(0, c), count * kChunk, 0.0f);
      for (int64_t s = 0; s < length_; s += kKeyBlock) {
        const T* g = dscore + t * problem_.positions + s;
        add_block({g, problem_.positions, count, std::min(kKeyBlock, length_ - s)}, s);
      }
      if (dquery) add_gradient(block(dquery), dquery_, v);
    }
    if (dkeys) add_gradient(columns(problem_.rows(dkeys, pair_, length_)), dkeys_, v);
  }

  void add_block(const Rows<const T>& dscore, int64_t first_key) {
    for (int64_t t = 0; t < dscore.count; ++t) {
      float* row = dscore_ + t * kKeyBlock;
      Floats total(0);
      if (dscore.width % 2) row[dscore.width] = 0;  // the last key is used twice if their number is odd
      each_register(dscore.width, [&](int64_t s, auto lanes) {
        const Floats g = load(dscore.at(t, 0) + s, lanes);
        store(g, row + s, lanes);
        total += g;
      });
      g_sum_ += sum(total);
    }
    const auto add_chunk = [&](auto kind, const Panel& query, const Panel& keys, int64_t c) {
      for (int64_t s = 0; s < dscore.width; s += 2) {
        const int64_t key = first_key + s, next = std::min(s + 1, dscore.width - 1) + first_key;
        const Tile tile{query.at(0, c),   keys.at(key, c),   keys.at(next, c), dscore_ + s,
                        dquery_.at(0, c), dkeys_.at(key, c), dscore.count};
        add_to(r_sums_ + c * kChunk, add_tile<decltype(kind)>(tile));
      }
    };
    int64_t i = 0;
    for (; i < order_.near; ++i) add_chunk(Near{}, query_.near, keys_.near, order_.chunk[i]);
    for (; i < order_.count; ++i) add_chunk(Far{}, query_.far, keys_.far, order_.chunk[i]);
  }

  void set_dv(const Rows<float>& dv) const {
    const Floats total(g_sum_);
    each_register(dv.width, [&](int64_t i, auto lanes) {
      store(mul_add(Floats(-2), load(r_sums_ + i), total), dv.first + i, lanes);
    });
  }

  const Problem<T>& problem_;
  int64_t pair_, first_, end_, length_;
  Prepared query_, keys_;
  Panel dquery_, dkeys_;
  float *dscore_, *r_sums_;
  Order order_{};
  float g_sum_ = 0;
};

template <class T> void grad_all(const AdditiveScoreGradArgs& args) {
  const Problem<T> problem(args);
  const int64_t pairs = problem.batch * problem.heads, chunks = divide_up(problem.width, kChunk);
  if (pairs * chunks == 0) return;
  // A part has as many chunks as fit into the cache, but there are enough parts for all threads.
  const int64_t fitting = kPartCells / (problem.positions * kChunk + 1);
  const int64_t size = std::clamp<int64_t>(std::min(fitting, pairs * chunks / (2 * thread_count())), 1, chunks);
  const int64_t parts = divide_up(chunks, size);
  const auto data = [](const Tensor& x) { return x ? x.data<T>() : nullptr; };
  float* dv = args.dv ? workspace<float, struct GradDV>(pairs * problem.width) : nullptr;

  const int64_t cells = problem.queries * problem.positions * size * kChunk;
  parallel_for(pairs * parts, kItemCells / (cells + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t first = item % parts * size;
      Part<T>(problem, item / parts, first, std::min(first + size, chunks))
          .run(args.dscore.data<T>(), data(args.dquery), data(args.dkeys), dv);
    }
  });

  float* to = args.dv ? args.dv.data<float>() : nullptr;
  for (int64_t b = 0; to && b < problem.batch; ++b) {
    const float* row = dv + b * args.dv.size();
    each_register(args.dv.size(),
                  [&](int64_t i, auto lanes) { store(load(to + i, lanes) + load(row + i, lanes), to + i, lanes); });
  }
}

void additive_score_grad(const AdditiveScoreGradArgs& args) {
  with_type_of(args.query, [&]<class T>(T) { grad_all<T>(args); });
}

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {

FOVEA_DISPATCH(additive_score_grad, AdditiveScoreGradArgs)

}  // namespace fovea::cpu
#endif
