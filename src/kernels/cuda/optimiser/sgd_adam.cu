// Optimisers: the norm of the gradient, SGD with momentum, and Adam (Kingma & Ba 2015) with weight decay that is added
// to the gradient or decoupled from it (Loshchilov & Hutter 2019). Parameters are f32. The kernels read the learning
// rate and the norm from device memory, so that a captured graph uses new values.
#include "kernels/cuda/functions.h"
#include "kernels/cuda/gemm/gemm.h"
#include "kernels/cuda/reduce/deterministic_sums.h"

namespace fovea::cuda {

namespace {

template <class T> struct Squares {
  const T* x;
  __device__ float operator()(int64_t, int64_t i) const { return load(x + i) * load(x + i); }
};

// Returns the factor that scales all gradients so that their total norm is at most max_norm.
__device__ float clip_factor(float max_norm, const float* squared_norm) {
  return max_norm == 0.0f ? 1.0f : fminf(1.0f, max_norm / sqrtf(*squared_norm));
}

struct Sgd {
  float *param, *grad, *velocity;
  bf16* bf16_param;  // a copy of the parameters to update as well, or null
  const float *rate, *squared_norm;
  float max_norm, momentum, decay;
  int64_t count;
};

__global__ void sgd_kernel(Sgd x) {
  const float rate = x.rate[0], clip = clip_factor(x.max_norm, x.squared_norm);
  for (int64_t i = first_element(); i < x.count; i += element_stride()) {
    float g = x.grad[i] * clip + x.decay * x.param[i];
    if (x.velocity != nullptr) g = x.velocity[i] = x.momentum * x.velocity[i] + g;
    const float p = x.param[i] - rate * g;
    x.param[i] = p;
    x.grad[i] = 0.0f;
    if (x.bf16_param != nullptr) store(x.bf16_param + i, p);
  }
}

struct Adam {
  float *param, *grad, *m, *v;
  bf16* bf16_param;
  const float *rate, *squared_norm;
  float max_norm, beta1, beta2, epsilon, decay;
  bool decoupled;
  int64_t count;
};

__global__ void adam_kernel(Adam x) {
  const float rate = x.rate[0], correct_m = 1.0f / x.rate[1], correct_v = 1.0f / x.rate[2];
  const float clip = clip_factor(x.max_norm, x.squared_norm);
  const float shrink = x.decoupled ? rate * x.decay : 0.0f, decay = x.decoupled ? 0.0f : x.decay;
  for (int64_t i = first_element(); i < x.count; i += element_stride()) {
    const float p = x.param[i], g = x.grad[i] * clip + decay * p;
    const float m = x.beta1 * x.m[i] + (1.0f - x.beta1) * g, v = x.beta2 * x.v[i] + (1.0f - x.beta2) * g * g;
    const float stepped = p - shrink * p - rate * (m * correct_m) / (sqrtf(v * correct_v) + x.epsilon);
    x.param[i] = stepped;
    x.m[i] = m;
    x.v[i] = v;
    x.grad[i] = 0.0f;
    if (x.bf16_param != nullptr) store(x.bf16_param + i, stepped);
  }
}

}  // namespace

void squared_norm(Stream& stream, const SquaredNormArgs& args) {
  with_type_of(args.x, [&]<class T>(T) {
    row_sums(stream, 1, args.x.size(), Squares<T>{args.x.data<T>()}, SumTo<float>{args.out.data<float>()});
  });
}

void sgd(Stream& stream, const SgdArgs& args) {
  launch(stream, sgd_kernel, elements_grid(args.param.size()),
         Sgd{.param = args.param.data<float>(),
             .grad = args.grad.data<float>(),
             .velocity = args.velocity.data<float>(),
             .bf16_param = bf16_copy_to_update(args.param),
             .rate = args.rate.data<float>(),
             .squared_norm = args.squared_norm.data<float>(),
             .max_norm = args.max_norm,
             .momentum = args.momentum,
             .decay = args.weight_decay,
             .count = args.param.size()});
}

void adam(Stream& stream, const AdamArgs& args) {
  launch(stream, adam_kernel, elements_grid(args.param.size()),
         Adam{.param = args.param.data<float>(),
              .grad = args.grad.data<float>(),
              .m = args.m.data<float>(),
              .v = args.v.data<float>(),
              .bf16_param = bf16_copy_to_update(args.param),
              .rate = args.rate.data<float>(),
              .squared_norm = args.squared_norm.data<float>(),
              .max_norm = args.max_norm,
              .beta1 = args.beta1,
              .beta2 = args.beta2,
              .epsilon = args.epsilon,
              .decay = args.weight_decay,
              .decoupled = args.decoupled,
              .count = args.param.size()});
}

}  // namespace fovea::cuda
