// Normalisation of rows: layer norm (Ba, Kiros & Hinton 2016) and division by the Euclidean length. A team a row.
#include "kernels/cuda/functions.h"
#include "kernels/cuda/sums.h"

namespace fovea::cuda {

namespace {

template <int kTeam, class T>
__global__ void layer_norm_kernel(const T* x, const float* gamma, const float* beta, T* y, float* mean, float* rstd,
                                  int64_t rows, int64_t width, float epsilon) {
  const int64_t row = team_row();
  if (row >= rows) return;
  x += row * width;
  y += row * width;
  float sum = 0.0f, squares = 0.0f;
  for (int64_t i = threadIdx.x; i < width; i += kTeam) sum += load(x + i);
  const float middle = Team<kTeam>::sum(sum) / static_cast<float>(width);
  for (int64_t i = threadIdx.x; i < width; i += kTeam) {
    const float distance = load(x + i) - middle;
    squares += distance * distance;
  }
  const float scale = 1.0f / sqrtf(Team<kTeam>::sum(squares) / static_cast<float>(width) + epsilon);
  for (int64_t i = threadIdx.x; i < width; i += kTeam) {
    store(y + i, (load(x + i) - middle) * scale * gamma[i] + beta[i]);
  }
  if (threadIdx.x == 0) {
    mean[row] = middle;
    rstd[row] = scale;
  }
}

// With the normalised row z and g = dy gamma: dx = rstd (g - mean(g) - z mean(g z)).
template <int kTeam, class T>
__global__ void layer_norm_grad_kernel(const T* x, const float* gamma, const float* mean, const float* rstd,
                                       const T* dy, T* dx, int64_t rows, int64_t width) {
  const int64_t row = team_row();
  if (row >= rows) return;
  x += row * width;
  dy += row * width;
  dx += row * width;
  const float middle = mean[row], scale = rstd[row];
  float sum_g = 0.0f, sum_gz = 0.0f;
  for (int64_t i = threadIdx.x; i < width; i += kTeam) {
    const float g = load(dy + i) * gamma[i];
    sum_g += g;
    sum_gz += g * (load(x + i) - middle) * scale;
  }
  const float mean_g = Team<kTeam>::sum(sum_g) / static_cast<float>(width);
  const float mean_gz = Team<kTeam>::sum(sum_gz) / static_cast<float>(width);
  for (int64_t i = threadIdx.x; i < width; i += kTeam) {
    const float z = (load(x + i) - middle) * scale;
    add(dx + i, scale * (load(dy + i) * gamma[i] - mean_g - z * mean_gz));
  }
}

template <class T> struct GradOfGamma {
  const T *x, *dy;
  const float *mean, *rstd;
  int64_t width;
  __device__ float operator()(int64_t row, int64_t i) const {
    const int64_t at = row * width + i;
    return load(dy + at) * (load(x + at) - mean[row]) * rstd[row];
  }
};
template <class T> struct GradOfBeta {
  const T* dy;
  int64_t width;
  __device__ float operator()(int64_t row, int64_t i) const { return load(dy + row * width + i); }
};

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

// dx = scale (dy - y (y . dy)), or |scale| dy alone where the row was shorter than epsilon.
template <int kTeam, class T>
__global__ void normalize_grad_kernel(const T* y, const float* scale, const T* dy, T* dx, int64_t rows, int64_t width) {
  const int64_t row = team_row();
  if (row >= rows) return;
  y += row * width;
  dy += row * width;
  dx += row * width;
  float sum = 0.0f;
  for (int64_t i = threadIdx.x; scale[row] > 0.0f && i < width; i += kTeam) sum += load(y + i) * load(dy + i);
  const float along = Team<kTeam>::sum(sum), size = fabsf(scale[row]);
  for (int64_t i = threadIdx.x; i < width; i += kTeam) add(dx + i, size * (load(dy + i) - load(y + i) * along));
}

}  // namespace

void layer_norm(Stream& stream, const LayerNormArgs& args) {
  const int64_t rows = args.mean.size(), width = args.gamma.size();
  with_type_of(args.x, [&]<class T>(T) {
    with_team(width, [&](auto team) {
      constexpr int kTeam = decltype(team)::value;
      launch(stream, layer_norm_kernel<kTeam, T>, rows_grid<kTeam>(rows), args.x.data<T>(), args.gamma.data<float>(),
             args.beta.data<float>(), args.y.data<T>(), args.mean.data<float>(), args.rstd.data<float>(), rows, width,
             args.epsilon);
    });
  });
}

void layer_norm_grad(Stream& stream, const LayerNormGradArgs& args) {
  const int64_t rows = args.mean.size(), width = args.gamma.size();
  const float *mean = args.mean.data<float>(), *rstd = args.rstd.data<float>();
  with_type_of(args.x, [&]<class T>(T) {
    const T *x = args.x.data<T>(), *dy = args.dy.data<T>();
    if (args.dx) {
      with_team(width, [&](auto team) {
        constexpr int kTeam = decltype(team)::value;
        launch(stream, layer_norm_grad_kernel<kTeam, T>, rows_grid<kTeam>(rows), x, args.gamma.data<float>(), mean,
               rstd, dy, args.dx.data<T>(), rows, width);
      });
    }
    if (args.dgamma) {
      column_sums(stream, 1, rows, width, GradOfGamma<T>{x, dy, mean, rstd, width},
                  SumTo<float>{args.dgamma.data<float>()});
    }
    if (args.dbeta) {
      column_sums(stream, 1, rows, width, GradOfBeta<T>{dy, width}, SumTo<float>{args.dbeta.data<float>()});
    }
  });
}

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
