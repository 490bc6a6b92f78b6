// Bahdanau's additive score, score[t,s] = sum_d v[d] tanh(q[t,d] + k[s,d]), computed without storing the tanh:
//   score = sum v - 2 sum v r,   r = 1 / (1 + e^2q e^2k)
// Two elements share one reciprocal: v/a + w/b = (v b + w a) / (ab).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention/additive_score.cpp"
#include "kernels/cpu/attention/additive_score.h"
#include "base/threads.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/functions.h"
#include "kernels/unfused.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

using namespace additive;

constexpr int64_t kKeyBlock = 128;  // rows of keys in one work item

// sums[i][j] += v r over one chunk, for kRows queries and two keys.
template <class Kind, int kRows>
HWY_INLINE void score_chunk(const Panel& query, const Panel& keys, const float* v, int64_t chunk,
                            Floats (&sums)[kRows][2]) {
  const Pair weight = load_pair(v + chunk * kChunk);
  const Pair k[2] = {load_pair(keys.at(0, chunk)), load_pair(keys.at(1, chunk))};
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
    const Pair q = load_pair(query.at(i, chunk));
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      const Floats a = Kind::denominator(q.low, k[j].low), b = Kind::denominator(q.high, k[j].high);
      sums[i][j] = mul_add(mul_add(weight.low, b, weight.high * a), reciprocal(a * b), sums[i][j]);
    }
  }
}

// The work of one thread: a block of keys and the blocks of queries of one sentence and head.
template <class T> class Scorer {
 public:
  Scorer(const Problem<T>& problem, T* score)
      : problem_(problem),
        score_(score),
        chunks_(divide_up(problem.width, kChunk)),
        v_(workspace<float, struct ForwardV>(chunks_ * kChunk)) {
    const int64_t width = chunks_ * kChunk;
    query_ = {.near = {workspace<float, struct QueryNear>(kQueryBlock * width), width, kChunk},
              .far = {workspace<float, struct QueryFar>(kQueryBlock * width), width, kChunk},
              .reach = workspace<float, struct QueryReach>(chunks_)};
    keys_ = {.near = {workspace<float, struct KeysNear>(kKeyBlock * width), width, kChunk},
             .far = {workspace<float, struct KeysFar>(kKeyBlock * width), width, kChunk},
             .reach = workspace<float, struct KeysReach>(chunks_)};
  }

  void set_keys(int64_t pair, int64_t first_key) {
    pair_ = pair;
    first_key_ = first_key;
    const auto keys = problem_.rows(problem_.keys, pair, problem_.length(pair));
    key_rows_ = keys.rows(first_key, std::clamp(keys.count, first_key, first_key + kKeyBlock));
    fill_near(keys_, key_rows_);
    const Rows<const float> v = problem_.v_row(pair);
    Floats total(0);
    for (int64_t c = 0; c < chunks_; ++c) {
      const Pair x = load_pair(v, 0, c);
      store_pair(x, v_ + c * kChunk);
      total += x.low + x.high;
    }
    v_sum_ = sum(total);
  }

  void score_queries(int64_t first_query) {
    const int64_t count = std::min(kQueryBlock, problem_.queries - first_query);
    const auto queries = problem_.rows(problem_.query, pair_, problem_.queries).rows(first_query, first_query + count);
    fill_near(query_, queries);
    order_ = find_order(query_, keys_, chunks_);
    fill_far(query_, queries, order_);
    fill_far(keys_, key_rows_, order_);
    T* out = score_ + (pair_ * problem_.queries + first_query) * problem_.positions + first_key_;
    int64_t t = 0;
    for (; t + 4 <= count; t += 4) score_rows<4>(t, out + t * problem_.positions);
    for (; t < count; ++t) score_rows<1>(t, out + t * problem_.positions);
  }

 private:
  // Computes rows of scores from query t of the panel on; they are 0 past the length of the sentence.
  template <int kRows> void score_rows(int64_t t, T* out) const {
    for (int64_t s = 0; s < key_rows_.count; s += 2) {
      Floats sums[kRows][2];
      score_tile(t, s, sums);
      for (int i = 0; i < kRows; ++i) {
        T* cells = out + i * problem_.positions + s;
        cells[0] = T(v_sum_ - 2 * sum(sums[i][0]));
        if (s + 1 < key_rows_.count) cells[1] = T(v_sum_ - 2 * sum(sums[i][1]));
      }
    }
    const int64_t columns = std::min(kKeyBlock, problem_.positions - first_key_);
    for (int i = 0; i < kRows; ++i) {
      std::fill(out + i * problem_.positions + key_rows_.count, out + i * problem_.positions + columns, T(0.0f));
    }
  }

  template <int kRows> HWY_INLINE void score_tile(int64_t t, int64_t s, Floats (&sums)[kRows][2]) const {
    for (auto& row : sums) row[0] = row[1] = Floats(0);
    int64_t i = 0;
    const Panel q = query_.near.from_row(t), k = two_keys(keys_.near, s);
    for (; i < order_.near; ++i) score_chunk<Near>(q, k, v_, order_.chunk[i], sums);
    const Panel far_q = query_.far.from_row(t), far_k = two_keys(keys_.far, s);
    for (; i < chunks_; ++i) score_chunk<Far>(far_q, far_k, v_, order_.chunk[i], sums);
  }
  // Processes keys s and s + 1; at the end the last key is used twice.
  Panel two_keys(const Panel& keys, int64_t s) const {
    return {keys.at(s, 0), s + 1 < key_rows_.count ? keys.row_stride : 0, keys.chunk_stride};
  }

  const Problem<T>& problem_;
  T* score_;
  int64_t chunks_;
  float* v_;
  Prepared query_, keys_;
  int64_t pair_ = 0, first_key_ = 0;
  Rows<const T> key_rows_{};  // up to the length of the sentence
  float v_sum_ = 0;
  Order order_{};
};

// With one query no exponential is used twice, and the exponential of a sum costs less than those of its terms. Work
// items are ordered by position, then by sentence and head, as the keys are stored.
template <class T> void score_one(const Problem<T>& problem, T* score) {
  const int64_t pairs = problem.batch * problem.heads, positions = problem.positions;
  parallel_for(pairs * positions, kItemCells / 8 / (problem.width + 1) + 1, [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t pair = item % pairs, s = item / pairs;
      const auto query = problem.rows(problem.query, pair, 1), keys = problem.rows(problem.keys, pair, positions);
      const auto v = problem.v_row(pair);
      Floats total(0), r_total(0);
      for (int64_t c = 0; s < problem.length(pair) && c < keys.chunks(); ++c) {
        const Pair q = load_pair(query, 0, c), k = load_pair(keys, s, c), weight = load_pair(v, 0, c);
        const Floats a = Far::denominator(q.low, k.low), b = Far::denominator(q.high, k.high);
        r_total = mul_add(mul_add(weight.low, b, weight.high * a), reciprocal(a * b), r_total);
        total += weight.low + weight.high;
      }
      score[pair * positions + s] = T(sum(mul_add(Floats(-2), r_total, total)));
    }
  });
}

template <class T> void score_all(const AdditiveScoreArgs& args) {
  const Problem<T> problem(args);
  if (problem.queries == 1) return score_one(problem, args.score.data<T>());
  const int64_t key_blocks = divide_up(problem.positions, kKeyBlock);
  const int64_t query_blocks = divide_up(problem.queries, kQueryBlock);
  const int64_t items = problem.batch * problem.heads * key_blocks * query_blocks;
  if (items == 0) return;
  const int64_t cells = args.score.size() / items * problem.width;
  parallel_for(items, kItemCells / (cells + 1) + 1, [&](int64_t begin, int64_t end) {
    Scorer<T> scorer(problem, args.score.data<T>());
    for (int64_t item = begin; item < end; ++item) {
      const int64_t key_item = item / query_blocks, query_item = item % query_blocks;
      if (item == begin || query_item == 0) {
        scorer.set_keys(key_item / key_blocks, key_item % key_blocks * kKeyBlock);
      }
      scorer.score_queries(query_item * kQueryBlock);
    }
  });
}

void additive_score(const AdditiveScoreArgs& args) {
  with_type_of(args.query, [&]<class T>(T) { score_all<T>(args); });
}

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {

FOVEA_DISPATCH(additive_score, AdditiveScoreArgs)

void additive_attention(Stream& stream, const AdditiveAttentionArgs& args) {
  additive_attention_unfused(cpu_kernels(), stream, args);
}

void additive_attention_grad(Stream& stream, const AdditiveAttentionGradArgs& args) {
  additive_attention_grad_unfused(cpu_kernels(), stream, args);
}

}  // namespace fovea::cpu
#endif
