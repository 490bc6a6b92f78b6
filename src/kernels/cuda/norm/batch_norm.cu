// Batch normalisation (Ioffe & Szegedy 2015) of rows [N,C].
#include "kernels/cuda/functions.h"
#include "kernels/cuda/reduce/deterministic_sums.h"

namespace fovea::cuda {

namespace {

template <class T> struct Values {
  const T* x;
  int64_t channels;
  __device__ float operator()(int64_t n, int64_t c) const { return load(x + n * channels + c); }
};

// The squared deviations of x from its mean.
template <class T> struct Squares {
  Values<T> x;
  const float* mean;
  __device__ float operator()(int64_t n, int64_t c) const {
    const float away = x(n, c) - mean[c];
    return away * away;
  }
};

// The products dy z, with the normalised z.
template <class T> struct ScaledGrads {
  Values<T> x, dy;
  const float *mean, *rstd;
  __device__ float z(int64_t n, int64_t c) const { return (x(n, c) - mean[c]) * rstd[c]; }
  __device__ float operator()(int64_t n, int64_t c) const { return dy(n, c) * z(n, c); }
};

__device__ void average(float* running, float momentum, float batch) { *running += momentum * (batch - *running); }

struct PutMean {
  float *mean, *running;
  float count, momentum;
  __device__ void put(int64_t c, float sum) const {
    mean[c] = sum / count;
    average(running + c, momentum, mean[c]);
  }
};
struct PutVariance {
  float *rstd, *running;
  float count, momentum, epsilon;
  __device__ void put(int64_t c, float squares) const {
    rstd[c] = 1.0f / sqrtf(squares / count + epsilon);
    average(running + c, momentum, squares / (count - 1.0f));
  }
};
// Writes the mean of a gradient over the rows (times 0 outside training) and adds its sum to a parameter's gradient.
struct PutGrad {
  float *mean, *parameter;  // `parameter` may be null
  float scale;
  __device__ void put(int64_t c, float sum) const {
    mean[c] = scale * sum;
    if (parameter != nullptr) parameter[c] += sum;
  }
};

__global__ void running_averages_kernel(const float* running_mean, const float* running_variance, float* mean,
                                        float* rstd, int64_t channels, float epsilon) {
  for (int64_t c = first_element(); c < channels; c += element_stride()) {
    mean[c] = running_mean[c];
    rstd[c] = 1.0f / sqrtf(running_variance[c] + epsilon);
  }
}

template <class T>
__global__ void batch_norm_kernel(const T* x, const float* mean, const float* rstd, const float* gamma,
                                  const float* beta, T* y, int64_t count, int64_t channels) {
  for (int64_t k = first_element(); k < count; k += element_stride()) {
    const int64_t c = k % channels;
    store(y + k, (load(x + k) - mean[c]) * rstd[c] * gamma[c] + beta[c]);
  }
}

// dx += gamma rstd (dy - mean(dy) - z mean(dy z)).
template <class T>
__global__ void batch_norm_grad_kernel(ScaledGrads<T> grads, const float* gamma, const float* mean_dy,
                                       const float* mean_dyz, T* dx, int64_t count, bool accumulate) {
  const int64_t channels = grads.x.channels;
  for (int64_t k = first_element(); k < count; k += element_stride()) {
    const int64_t n = k / channels, c = k % channels;
    const float centred = grads.dy(n, c) - mean_dy[c] - grads.z(n, c) * mean_dyz[c];
    store(dx + k, gamma[c] * grads.rstd[c] * centred + (accumulate ? load(dx + k) : 0.0f));
  }
}

}  // namespace

void batch_norm(Stream& stream, const BatchNormArgs& args) {
  const int64_t channels = args.gamma.size(), rows = channels > 0 ? args.x.size() / channels : 0;
  float *mean = args.mean.data<float>(), *rstd = args.rstd.data<float>();
  float *running_mean = args.running_mean.data<float>(), *running_variance = args.running_variance.data<float>();
  with_type_of(args.x, [&]<class T>(T) {
    const Values<T> x{args.x.data<T>(), channels};
    const float count = static_cast<float>(rows);
    if (args.training) {
      column_sums(stream, 1, rows, channels, x, PutMean{mean, running_mean, count, args.momentum});
      column_sums(stream, 1, rows, channels, Squares<T>{x, mean},
                  PutVariance{rstd, running_variance, count, args.momentum, args.epsilon});
    } else {
      launch(stream, running_averages_kernel, elements_grid(channels), running_mean, running_variance, mean, rstd,
             channels, args.epsilon);
    }
    launch(stream, batch_norm_kernel<T>, elements_grid(args.x.size()), args.x.data<T>(), mean, rstd,
           args.gamma.data<float>(), args.beta.data<float>(), args.y.data<T>(), args.x.size(), channels);
  });
}

void batch_norm_grad(Stream& stream, const BatchNormGradArgs& args) {
  const int64_t channels = args.gamma.size(), rows = channels > 0 ? args.x.size() / channels : 0;
  const float scale = args.training && rows > 0 ? 1.0f / static_cast<float>(rows) : 0.0f;
  Workspace workspace(stream);
  float *mean_dy = workspace.allocate<float>(channels), *mean_dyz = workspace.allocate<float>(channels);
  with_type_of(args.x, [&]<class T>(T) {
    const ScaledGrads<T> grads{
        {args.x.data<T>(), channels}, {args.dy.data<T>(), channels}, args.mean.data<float>(), args.rstd.data<float>()};
    column_sums(stream, 1, rows, channels, grads.dy, PutGrad{mean_dy, args.dbeta.data<float>(), scale});
    column_sums(stream, 1, rows, channels, grads, PutGrad{mean_dyz, args.dgamma.data<float>(), scale});
    if (!args.dx) return;
    launch(stream, batch_norm_grad_kernel<T>, elements_grid(args.dx.size()), grads, args.gamma.data<float>(), mean_dy,
           mean_dyz, args.dx.data<T>(), args.dx.size(), args.accumulate);
  });
}

}  // namespace fovea::cuda
