// Pooling over the time steps of sequences [T,B,D].
#include "kernels/cuda/common/device_primitives.h"
#include "kernels/cuda/functions.h"

namespace fovea::cuda {

namespace {

struct Sequences {
  int64_t steps, batch, depth;
  const int32_t* lengths;  // null for all steps

  Sequences(const Tensor& x, const Tensor& of)
      : steps(x.dim(0)), batch(x.dim(1)), depth(x.dim(2)), lengths(of.data<int32_t>()) {}
  FOVEA_HOST_DEVICE int64_t stride() const { return batch * depth; }
  __device__ int64_t steps_of(int64_t column) const {
    if (lengths == nullptr) return steps;
    const int64_t length = lengths[column / depth];
    return length < 0 ? 0 : length < steps ? length : steps;
  }
};

// Each thread processes one column of [B,D].
template <class T> __global__ void pool_time_kernel(const T* x, T* y, int32_t* index, Sequences s, bool average) {
  for (int64_t k = first_element(); k < s.stride(); k += element_stride()) {
    const int64_t steps = s.steps_of(k);
    float sum = 0.0f, largest = 0.0f;
    int64_t best = -1;
    for (int64_t t = 0; t < steps; ++t) {
      const float value = load(x + t * s.stride() + k);
      sum += value;
      if (best < 0 || value > largest) {
        largest = value;
        best = t;
      }
    }
    store(y + k, !average ? largest : steps > 0 ? sum / static_cast<float>(steps) : 0.0f);
    if (index != nullptr) index[k] = static_cast<int32_t>(best);
  }
}

template <class T> __global__ void average_time_grad_kernel(const T* dy, T* dx, Sequences s) {
  for (int64_t at = first_element(); at < s.steps * s.stride(); at += element_stride()) {
    const int64_t k = at % s.stride(), steps = s.steps_of(k);
    if (at / s.stride() < steps) add(dx + at, load(dy + k) / static_cast<float>(steps));
  }
}

template <class T> __global__ void maximum_time_grad_kernel(const T* dy, const int32_t* index, T* dx, int64_t columns) {
  for (int64_t k = first_element(); k < columns; k += element_stride()) {
    if (index[k] >= 0) add(dx + index[k] * columns + k, load(dy + k));
  }
}

}  // namespace

void pool_time(Stream& stream, const PoolTimeArgs& args) {
  const Sequences s(args.x, args.lengths);
  with_type_of(args.x, [&]<class T>(T) {
    launch(stream, pool_time_kernel<T>, elements_grid(s.stride()), args.x.data<T>(), args.y.data<T>(),
           args.index.data<int32_t>(), s, args.op == PoolOp::kAverage);
  });
}

void pool_time_grad(Stream& stream, const PoolTimeGradArgs& args) {
  if (!args.dx) return;
  const Sequences s(args.dx, args.lengths);
  with_type_of(args.dx, [&]<class T>(T) {
    const T* dy = args.dy.data<T>();
    T* dx = args.dx.data<T>();
    if (args.op == PoolOp::kMaximum) {
      launch(stream, maximum_time_grad_kernel<T>, elements_grid(s.stride()), dy, args.index.data<int32_t>(), dx,
             s.stride());
    } else {
      launch(stream, average_time_grad_kernel<T>, elements_grid(args.dx.size()), dy, dx, s);
    }
  });
}

}  // namespace fovea::cuda
