// Elementwise functions of two tensors, the second broadcast over the first. kernels/pointwise.h defines them and their
// derivatives.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pointwise/binary.cpp"
#include "kernels/cpu/common/parallel_blocks.h"
#include "kernels/cpu/common/simd_math.h"
#include "kernels/cpu/functions.h"
#include "kernels/cpu/reduce/deterministic_sums.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

namespace pointwise {
#include "kernels/pointwise_functions.h"
}  // namespace pointwise

// Loads b for columns [i, i+lanes) of a row of a: as many columns, or one value for all.
template <class T> struct RowOfB {
  const T* b;
  template <class Lanes> HWY_INLINE Floats operator()(int64_t i, Lanes lanes) const { return load(b + i, lanes); }
};
struct ValueOfB {
  Floats b;
  template <class Lanes> HWY_INLINE Floats operator()(int64_t, Lanes) const { return b; }
};
template <class T> HWY_INLINE Floats broadcast(const T* value) { return Floats(static_cast<float>(*value)); }

// Calls body(offset of the row in a, b of the row, begin, end) for each block of each row of a that is combined with
// one row, or one value, of b.
template <class T, class Args, class Body> void each_block_of_pair(const Args& args, Body&& body) {
  const T* b = args.b.template data<T>();
  const int64_t middle = args.b.size(), inner = args.inner;
  if (inner == 1) {
    each_block(args.outer, middle,
               [&](int64_t row, int64_t begin, int64_t end) { body(row * middle, RowOfB<T>{b}, begin, end); });
  } else {
    each_block(args.outer * middle, inner, [&](int64_t row, int64_t begin, int64_t end) {
      body(row * inner, ValueOfB{broadcast(b + row % middle)}, begin, end);
    });
  }
}

void binary(const BinaryArgs& args) {
  with_type_of(args.a, [&]<class T>(T) {
    const T* a = args.a.data<T>();
    T* y = args.y.data<T>();
    pointwise::visit(args.op, [&](auto f) {
      each_block_of_pair<T>(args, [&](int64_t row, auto b_of, int64_t begin, int64_t end) {
        each_register(begin, end, [&](int64_t i, auto lanes) {
          store(f.forward(load(a + row + i, lanes), b_of(i, lanes)), y + row + i, lanes);
        });
      });
    });
  });
}

template <class T, class F> void grad_a(const BinaryGradArgs& args, F f) {
  const T *a = args.a.data<T>(), *dy = args.dy.data<T>();
  T* da = args.da.data<T>();
  each_block_of_pair<T>(args, [&](int64_t row, auto b_of, int64_t begin, int64_t end) {
    each_register(begin, end, [&](int64_t i, auto lanes) {
      const Floats g = f.grad_a(load(a + row + i, lanes), b_of(i, lanes), load(dy + row + i, lanes));
      store(load(da + row + i, lanes) + g, da + row + i, lanes);
    });
  });
}

template <class T> struct AddTo {
  T* y;
  template <class Lanes> HWY_INLINE void operator()(int64_t, int64_t i, Floats sums, Lanes lanes) const {
    store(load(y + i, lanes) + sums, y + i, lanes);
  }
};

// db[j] += sum over rows of sums[row, j].
template <class T> void add_columns(int64_t rows, const float* sums, const Tensor& db) {
  const int64_t width = db.size();
  const auto term = [=](int64_t, int64_t row, int64_t j, auto lanes) { return load(sums + row * width + j, lanes); };
  column_sums({1, rows, width}, term, AddTo<T>{db.data<T>()});
}

// db[j] += sum over outer and inner of grad_b.
template <class T, class F> void grad_b(const BinaryGradArgs& args, F f) {
  const T *a = args.a.data<T>(), *b = args.b.data<T>(), *dy = args.dy.data<T>();
  const int64_t middle = args.b.size(), inner = args.inner;
  if (inner == 1) {
    const auto term = [=](int64_t, int64_t row, int64_t j, auto lanes) {
      const int64_t at = row * middle + j;
      return f.grad_b(load(a + at, lanes), load(b + j, lanes), load(dy + at, lanes));
    };
    return column_sums({1, args.outer, middle}, term, AddTo<T>{args.db.data<T>()});
  }
  float* sums = workspace<float, struct SumsOverInner>(static_cast<size_t>(args.outer * middle));
  row_sums(args.outer * middle, inner, sums, [=](int64_t row, int64_t i, auto lanes) {
    const int64_t at = row * inner + i;
    return f.grad_b(load(a + at, lanes), broadcast(b + row % middle), load(dy + at, lanes));
  });
  add_columns<T>(args.outer, sums, args.db);
}

void binary_grad(const BinaryGradArgs& args) {
  with_type_of(args.a, [&]<class T>(T) {
    pointwise::visit(args.op, [&](auto f) {
      if (args.da) grad_a<T>(args, f);
      if (args.db) grad_b<T>(args, f);
    });
  });
}

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {
FOVEA_DISPATCH(binary, BinaryArgs)
FOVEA_DISPATCH(binary_grad, BinaryGradArgs)
}  // namespace fovea::cpu
#endif
