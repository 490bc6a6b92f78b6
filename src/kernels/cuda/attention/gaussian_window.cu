// Luong's Gaussian window (2015, equation 10). Each team of threads processes one row of scores.
#include "kernels/cuda/common/device_primitives.h"
#include "kernels/cuda/functions.h"

namespace fovea::cuda {

namespace {

struct GaussianShape {
  int64_t rows, batch, heads, queries, keys;
  float sigma, width;

  GaussianShape(const ScoreShape& shape, float deviation, float half_width)
      : rows(shape.batch * shape.heads * shape.queries),
        batch(shape.batch),
        heads(shape.heads),
        queries(shape.queries),
        keys(shape.keys),
        sigma(deviation),
        width(half_width) {}
  // Returns the index in center [T,B,H] of row (b,h,t).
  __device__ int64_t center_of(int64_t row) const {
    const int64_t t = row % queries, h = row / queries % heads, b = row / queries / heads;
    return (t * batch + b) * heads + h;
  }
  __device__ float at(float distance) const {
    if (width > 0.0f && fabsf(distance) > width) return 0.0f;
    return expf(-distance * distance / (2.0f * sigma * sigma));
  }
};

template <int kTeam, class T> __global__ void window_kernel(const T* x, const T* center, T* y, GaussianShape shape) {
  const int64_t row = team_row();
  if (row >= shape.rows) return;
  const float middle = load(center + shape.center_of(row));
  for (int64_t s = threadIdx.x; s < shape.keys; s += kTeam) {
    const int64_t at = row * shape.keys + s;
    store(y + at, load(x + at) * shape.at(static_cast<float>(s) - middle));
  }
}

// dx = dy window, and dcenter = sum of dy x window (s - center) / sigma^2.
template <int kTeam, class T>
__global__ void window_grad_kernel(const T* x, const T* center, const T* dy, T* dx, T* dcenter, GaussianShape shape) {
  const int64_t row = team_row();
  if (row >= shape.rows) return;
  const int64_t place = shape.center_of(row);
  const float middle = load(center + place);
  float sum = 0.0f;
  for (int64_t s = threadIdx.x; s < shape.keys; s += kTeam) {
    const int64_t at = row * shape.keys + s;
    const float distance = static_cast<float>(s) - middle, d = load(dy + at) * shape.at(distance);
    if (dx != nullptr) add(dx + at, d);
    sum += d * load(x + at) * distance;
  }
  if (dcenter == nullptr) return;
  sum = Team<kTeam>::sum(sum);
  if (threadIdx.x == 0) add(dcenter + place, sum / (shape.sigma * shape.sigma));
}

}  // namespace

void gaussian_window(Stream& stream, const GaussianWindowArgs& args) {
  const GaussianShape shape(args.shape, args.sigma, args.width);
  with_type_of(args.x, [&]<class T>(T) {
    with_team(shape.keys, [&](auto team) {
      constexpr int kTeam = decltype(team)::value;
      launch(stream, window_kernel<kTeam, T>, rows_grid<kTeam>(shape.rows), args.x.data<T>(), args.center.data<T>(),
             args.y.data<T>(), shape);
    });
  });
}

void gaussian_window_grad(Stream& stream, const GaussianWindowGradArgs& args) {
  const GaussianShape shape(args.shape, args.sigma, args.width);
  with_type_of(args.x, [&]<class T>(T) {
    with_team(shape.keys, [&](auto team) {
      constexpr int kTeam = decltype(team)::value;
      launch(stream, window_grad_kernel<kTeam, T>, rows_grid<kTeam>(shape.rows), args.x.data<T>(),
             args.center.data<T>(), args.dy.data<T>(), args.dx.data<T>(), args.dcenter.data<T>(), shape);
    });
  });
}

}  // namespace fovea::cuda
