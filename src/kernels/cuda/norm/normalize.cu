// Division of rows by their Euclidean norm. Each team of threads processes one row.
#include "kernels/cuda/common/device_primitives.h"
#include "kernels/cuda/functions.h"

namespace fovea::cuda {

namespace {

template <int kTeam, class T>
__global__ void normalize_kernel(const T* x, T* y, float* scale, int64_t rows, int64_t width, float epsilon) {
  const int64_t row = team_row();
  if (row >= rows) return;
  float squares = 0.0f;
  for (int64_t i = threadIdx.x; i < width; i += kTeam) {
    const float value = load(x + row * width + i);
    squares += value * value;
  }
  const float length = sqrtf(Team<kTeam>::sum(squares));
  const float signed_scale = length < epsilon ? -1.0f / epsilon : 1.0f / length;
  for (int64_t i = threadIdx.x; i < width; i += kTeam) {
    store(y + row * width + i, load(x + row * width + i) * fabsf(signed_scale));
  }
  if (threadIdx.x == 0) scale[row] = signed_scale;
}

// dx = scale (dy - y (y . dy)), or |scale| dy if the norm of the row was below epsilon.
template <int kTeam, class T>
__global__ void normalize_grad_kernel(const T* y, const float* scale, const T* dy, T* dx, int64_t rows, int64_t width) {
  const int64_t row = team_row();
  if (row >= rows) return;
  y += row * width;
  dy += row * width;
  dx += row * width;
  float sum = 0.0f;
  for (int64_t i = threadIdx.x; scale[row] > 0.0f && i < width; i += kTeam) sum += load(y + i) * load(dy + i);
  const float dot = Team<kTeam>::sum(sum), size = fabsf(scale[row]);
  for (int64_t i = threadIdx.x; i < width; i += kTeam) add(dx + i, size * (load(dy + i) - load(y + i) * dot));
}

}  // namespace

void normalize(Stream& stream, const NormalizeArgs& args) {
  const int64_t rows = args.scale.size(), width = args.x.dim(-1);
  with_type_of(args.x, [&]<class T>(T) {
    with_team(width, [&](auto team) {
      constexpr int kTeam = decltype(team)::value;
      launch(stream, normalize_kernel<kTeam, T>, rows_grid<kTeam>(rows), args.x.data<T>(), args.y.data<T>(),
             args.scale.data<float>(), rows, width, args.epsilon);
    });
  });
}

void normalize_grad(Stream& stream, const NormalizeGradArgs& args) {
  if (!args.dx) return;
  const int64_t rows = args.scale.size(), width = args.y.dim(-1);
  with_type_of(args.y, [&]<class T>(T) {
    with_team(width, [&](auto team) {
      constexpr int kTeam = decltype(team)::value;
      launch(stream, normalize_grad_kernel<kTeam, T>, rows_grid<kTeam>(rows), args.y.data<T>(),
             args.scale.data<float>(), args.dy.data<T>(), args.dx.data<T>(), rows, width);
    });
  });
}

}  // namespace fovea::cuda
