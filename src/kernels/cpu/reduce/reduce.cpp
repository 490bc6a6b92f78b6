// Sums, means and maxima over the middle of [outer, count, inner], and their gradients.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/reduce/reduce.cpp"
#include <cmath>

#include "kernels/cpu/functions.h"
#include "kernels/cpu/reduce/deterministic_sums.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

// y (+)= sum or mean. X is the type of x, Y of y.
template <class X, class Y> void sum_or_mean(const ReduceArgs& args) {
  const X* x = args.x.data<X>();
  Y* y = args.y.data<Y>();
  const int64_t count = args.count, inner = args.inner;
  const Floats scale(args.op == ReduceOp::kMean && count > 0 ? 1.0f / static_cast<float>(count) : 1.0f);
  const auto finish = [&](int64_t o, int64_t i, Floats sums, auto lanes) {
    const Floats before = args.accumulate ? load(y + o * inner + i, lanes) : Floats(0);
    store(mul_add(sums, scale, before), y + o * inner + i, lanes);
  };
  if (inner > 1) {
    const auto term = [=](int64_t o, int64_t j, int64_t i, auto lanes) {
      return load(x + (o * count + j) * inner + i, lanes);
    };
    return column_sums({args.outer, count, inner}, term, finish);
  }
  float* sums = workspace<float, struct SumsOfRows>(static_cast<size_t>(args.outer));
  row_sums(args.outer, count, sums, [=](int64_t o, int64_t i, auto lanes) { return load(x + o * count + i, lanes); });
  each_register(args.outer, [&](int64_t o, auto lanes) { finish(o, 0, load(sums + o, lanes), lanes); });
}

// Returns the largest of n > 0 elements and its first index. For a row of NaN it returns the first element.
template <class T> float row_maximum(const T* x, int64_t n, int32_t* where) {
  Floats running_max(-HUGE_VALF);
  each_register(n, [&](int64_t i, auto lanes) {
    running_max = maximum(running_max, mask_lanes(load(x + i, lanes), lanes, Floats(-HUGE_VALF)));
  });
  const Floats largest(max(running_max));
  int64_t first = n;
  for (int64_t i = 0; i < n && first == n; i += kLanes) {
    const Floats v = i + kLanes <= n ? load(x + i) : load(x + i, FirstLanes{n - i});
    const intptr_t lane = hn::FindFirstTrue(FloatTag(), hn::Eq(v.v, largest.v));
    if (lane >= 0) first = std::min<int64_t>(n, i + lane);
  }
  *where = first == n ? 0 : static_cast<int32_t>(first);
  return static_cast<float>(x[*where]);
}

template <class T> void row_maxima(const ReduceArgs& args) {
  const T* x = args.x.data<T>();
  T* y = args.y.data<T>();
  int32_t* index = args.index.data<int32_t>();
  each_row(args.outer, args.count, [&](int64_t row) {
    int32_t where = -1;
    y[row] = T(args.count > 0 ? row_maximum(x + row * args.count, args.count, &where) : -HUGE_VALF);
    if (index) index[row] = where;
  });
}

// The running maximum of a register of columns, and the rows of the maxima.
struct Largest {
  Floats running_max;
  Ints where;

  HWY_INLINE void take(Floats v, Ints row) {
    const auto larger = hn::Gt(v.v, running_max.v);
    running_max = hn::IfThenElse(larger, v.v, running_max.v);
    where = hn::IfThenElse(hn::RebindMask(IntTag(), larger), row, where);
  }
};
HWY_INLINE Ints row_number(int64_t j) { return hn::Set(IntTag(), static_cast<int32_t>(j)); }

// Rows are processed in chunks, in the order of memory; then the chunks are combined in order.
template <class T> void column_maxima(const ReduceArgs& args) {
  const int64_t count = args.count, inner = args.inner;
  const int64_t rows = std::max<int64_t>(32, divide_up(count, 64)), chunks = divide_up(count, rows);
  const size_t cells = static_cast<size_t>(args.outer * chunks * inner);
  float* running_max = workspace<float, struct MaximaOfChunks>(cells);
  int32_t* where = workspace<int32_t, struct WhereInChunks>(cells);
  const auto in_chunk = [&](int64_t chunk, int64_t begin, int64_t end) {
    const int64_t o = chunk / chunks, first = chunk % chunks * rows, last = std::min(count, first + rows);
    for (int64_t j = first; j < last; ++j) {
      const T* x = args.x.data<T>() + (o * count + j) * inner;
      each_register(begin, end, [&](int64_t i, auto lanes) {
        const int64_t at = chunk * inner + i;
        Largest largest{load(x + i, lanes), row_number(j)};
        if (j > first) {
          largest = {load(running_max + at, lanes), load(where + at, lanes)};
          largest.take(load(x + i, lanes), row_number(j));
        }
        store(largest.running_max, running_max + at, lanes);
        store(largest.where, where + at, lanes);
      });
    }
  };
  each_block(args.outer * chunks, inner, in_chunk, rows);
  T* y = args.y.data<T>();
  int32_t* index = args.index.data<int32_t>();
  each_block(args.outer, inner, [&](int64_t o, int64_t begin, int64_t end) {
    each_register(begin, end, [&](int64_t i, auto lanes) {
      Largest largest{Floats(-HUGE_VALF), row_number(-1)};
      for (int64_t c = 0; c < chunks; ++c) {
        const int64_t at = (o * chunks + c) * inner + i;
        if (c == 0) largest = {load(running_max + at, lanes), load(where + at, lanes)};
        largest.take(load(running_max + at, lanes), load(where + at, lanes));
      }
      store(largest.running_max, y + o * inner + i, lanes);
      if (index) store(largest.where, index + o * inner + i, lanes);
    });
  });
}

void reduce(const ReduceArgs& args) {
  with_type_of(args.x, [&]<class T>(T) {
    if (args.op == ReduceOp::kMaximum) {
      args.inner == 1 ? row_maxima<T>(args) : column_maxima<T>(args);
    } else {
      args.y.dtype() == args.x.dtype() ? sum_or_mean<T, T>(args) : sum_or_mean<T, float>(args);
    }
  });
}

// dx += dy, or dy / count, broadcast over the middle axis.
template <class T> void spread(const ReduceGradArgs& args) {
  const T* dy = args.dy.data<T>();
  T* dx = args.dx.data<T>();
  const int64_t count = args.count, inner = args.inner;
  const float scale = args.op == ReduceOp::kMean && count > 0 ? 1.0f / static_cast<float>(count) : 1.0f;
  if (inner == 1) {
    return each_block(args.outer, count, [&](int64_t o, int64_t begin, int64_t end) {
      const Floats g(static_cast<float>(dy[o]) * scale);
      T* row = dx + o * count;
      each_register(begin, end, [&](int64_t i, auto lanes) { store(load(row + i, lanes) + g, row + i, lanes); });
    });
  }
  each_block(args.outer * count, inner, [&](int64_t row, int64_t begin, int64_t end) {
    const T* from = dy + row / count * inner;
    T* to = dx + row * inner;
    each_register(begin, end, [&](int64_t i, auto lanes) {
      store(mul_add(load(from + i, lanes), Floats(scale), load(to + i, lanes)), to + i, lanes);
    });
  });
}

template <class T> void add_at_maximum(const ReduceGradArgs& args) {
  const T* dy = args.dy.data<T>();
  T* dx = args.dx.data<T>();
  const int32_t* index = args.index.data<int32_t>();
  each_row(args.outer, args.inner, [&](int64_t o) {
    for (int64_t i = 0; i < args.inner; ++i) {
      const int64_t from = o * args.inner + i;
      if (index[from] < 0) continue;
      T& to = dx[(o * args.count + index[from]) * args.inner + i];
      to = T(static_cast<float>(to) + static_cast<float>(dy[from]));
    }
  });
}

void reduce_grad(const ReduceGradArgs& args) {
  if (!args.dx) return;
  with_type_of(args.dy, [&]<class T>(T) { args.op == ReduceOp::kMaximum ? add_at_maximum<T>(args) : spread<T>(args); });
}

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {
FOVEA_DISPATCH(reduce, ReduceArgs)
FOVEA_DISPATCH(reduce_grad, ReduceGradArgs)
}  // namespace fovea::cpu
#endif
