// Optimisers: the norm of the gradient, SGD with momentum, and Adam (Kingma & Ba 2015) with weight decay that is added
// to the gradient or decoupled from it (Loshchilov & Hutter 2019). Parameters are f32.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/optimiser/sgd_adam.cpp"
#include <cmath>

#include "kernels/cpu/functions.h"
#include "kernels/cpu/reduce/deterministic_sums.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

// Returns the factor that scales all gradients so that their total norm is at most max_norm.
template <class Args> float clip_factor(const Args& args) {
  if (args.max_norm == 0.0f) return 1.0f;
  return std::min(1.0f, args.max_norm / std::sqrt(args.squared_norm.template data<float>()[0]));
}

void squared_norm(const SquaredNormArgs& args) {
  with_type_of(args.x, [&]<class T>(T) {
    const T* x = args.x.data<T>();
    float total = 0;
    row_sums(1, args.x.size(), &total, [&](int64_t, int64_t i, auto lanes) {
      const Floats v = load(x + i, lanes);
      return v * v;
    });
    args.out.data<float>()[0] += total;
  });
}

// g += decay param;  velocity = momentum velocity + g;  param -= rate velocity.
void sgd(const SgdArgs& args) {
  float *param = args.param.data<float>(), *grad = args.grad.data<float>(), *velocity = args.velocity.data<float>();
  const Floats rate(args.rate.data<float>()[0]), clip(clip_factor(args));
  const Floats momentum(args.momentum), decay(args.weight_decay);
  each_block(1, args.param.size(), [&](int64_t, int64_t begin, int64_t end) {
    each_register(begin, end, [&](int64_t i, auto lanes) {
      const Floats p = load(param + i, lanes);
      Floats g = mul_add(decay, p, load(grad + i, lanes) * clip);
      if (velocity) {
        g = mul_add(momentum, load(velocity + i, lanes), g);
        store(g, velocity + i, lanes);
      }
      store(p - rate * g, param + i, lanes);
      store(Floats(0), grad + i, lanes);
    });
  });
}

void adam(const AdamArgs& args) {
  float *param = args.param.data<float>(), *grad = args.grad.data<float>();
  float *m = args.m.data<float>(), *v = args.v.data<float>();
  const float* rates = args.rate.data<float>();
  const Floats rate(rates[0]), correct_m(1.0f / rates[1]), correct_v(1.0f / rates[2]);
  const Floats clip(clip_factor(args)), epsilon(args.epsilon);
  const Floats beta1(args.beta1), rest1(1.0f - args.beta1), beta2(args.beta2), rest2(1.0f - args.beta2);
  const Floats shrink(args.decoupled ? rates[0] * args.weight_decay : 0.0f);
  const Floats decay(args.decoupled ? 0.0f : args.weight_decay);
  each_block(1, args.param.size(), [&](int64_t, int64_t begin, int64_t end) {
    each_register(begin, end, [&](int64_t i, auto lanes) {
      const Floats p = load(param + i, lanes);
      const Floats g = mul_add(decay, p, load(grad + i, lanes) * clip);
      const Floats new_m = mul_add(beta1, load(m + i, lanes), rest1 * g);
      const Floats new_v = mul_add(beta2, load(v + i, lanes), rest2 * g * g);
      const Floats step = rate * (new_m * correct_m) / (sqrt(new_v * correct_v) + epsilon);
      store(p - shrink * p - step, param + i, lanes);
      store(new_m, m + i, lanes);
      store(new_v, v + i, lanes);
      store(Floats(0), grad + i, lanes);
    });
  });
}

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {
FOVEA_DISPATCH(squared_norm, SquaredNormArgs)
FOVEA_DISPATCH(sgd, SgdArgs)
FOVEA_DISPATCH(adam, AdamArgs)
}  // namespace fovea::cpu
#endif
