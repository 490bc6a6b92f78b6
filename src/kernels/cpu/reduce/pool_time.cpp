// Pooling over the time steps of sequences [T,B,D], with SIMD over D.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/reduce/pool_time.cpp"
#include "kernels/cpu/common/parallel_blocks.h"
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/functions.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

int64_t steps_of(const Tensor& lengths, int64_t b, int64_t steps) {
  return lengths ? std::clamp<int64_t>(lengths.data<int32_t>()[b], 0, steps) : steps;
}

// Returns the maximum of `steps` elements that are `stride` apart, and the first step that has it.
template <class T, class Lanes>
void maximum_over_time(const T* x, int64_t steps, int64_t stride, T* y, int32_t* index, Lanes lanes) {
  Floats running_max(0);
  Ints where = hn::Set(IntTag(), -1);
  for (int64_t t = 0; t < steps; ++t) {
    const Floats v = load(x + t * stride, lanes);
    const auto larger = t == 0 ? hn::Eq(running_max.v, running_max.v) : hn::Gt(v.v, running_max.v);
    running_max = hn::IfThenElse(larger, v.v, running_max.v);
    where = hn::IfThenElse(hn::RebindMask(IntTag(), larger), hn::Set(IntTag(), static_cast<int32_t>(t)), where);
  }
  store(running_max, y, lanes);
  if (index) store(where, index, lanes);
}

void pool_time(const PoolTimeArgs& args) {
  const int64_t batch = args.x.dim(1), depth = args.x.dim(2), stride = batch * depth;
  int32_t* index = args.index.data<int32_t>();
  with_type_of(args.x, [&]<class T>(T) {
    const auto pool = [&](int64_t b, int64_t begin, int64_t end) {
      const int64_t steps = steps_of(args.lengths, b, args.x.dim(0));
      const Floats scale(1.0f / static_cast<float>(std::max<int64_t>(1, steps)));
      each_register(b * depth + begin, b * depth + end, [&](int64_t i, auto lanes) {
        const T* x = args.x.data<T>() + i;
        T* y = args.y.data<T>() + i;
        if (args.op == PoolOp::kMaximum) {
          return maximum_over_time(x, steps, stride, y, index ? index + i : nullptr, lanes);
        }
        Floats total(0);
        for (int64_t t = 0; t < steps; ++t) total += load(x + t * stride, lanes);
        store(total * scale, y, lanes);
      });
    };
    each_block(batch, depth, pool, std::max<int64_t>(1, args.x.dim(0)));
  });
}

void pool_time_grad(const PoolTimeGradArgs& args) {
  if (!args.dx) return;
  const int64_t batch = args.dx.dim(1), depth = args.dx.dim(2);
  with_type_of(args.dx, [&]<class T>(T) {
    const T* dy = args.dy.data<T>();
    T* dx = args.dx.data<T>();
    if (args.op == PoolOp::kMaximum) {
      const int32_t* index = args.index.data<int32_t>();
      return each_row(batch, depth, [&](int64_t b) {
        for (int64_t i = b * depth; i < (b + 1) * depth; ++i) {
          if (index[i] < 0) continue;
          T& to = dx[index[i] * batch * depth + i];
          to = T(static_cast<float>(to) + static_cast<float>(dy[i]));
        }
      });
    }
    each_block(args.dx.dim(0) * batch, depth, [&](int64_t row, int64_t begin, int64_t end) {
      const int64_t b = row % batch, steps = steps_of(args.lengths, b, args.dx.dim(0));
      if (row / batch >= steps) return;
      const Floats scale(1.0f / static_cast<float>(steps));
      each_register(begin, end, [&](int64_t i, auto lanes) {
        T* to = dx + row * depth + i;
        store(mul_add(load(dy + b * depth + i, lanes), scale, load(to, lanes)), to, lanes);
      });
    });
  });
}

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {
FOVEA_DISPATCH(pool_time, PoolTimeArgs)
FOVEA_DISPATCH(pool_time_grad, PoolTimeGradArgs)
}  // namespace fovea::cpu
#endif
