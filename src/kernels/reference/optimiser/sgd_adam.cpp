// Optimisers: the norm of the gradient, SGD with momentum, and Adam (Kingma & Ba 2015) with weight decay that is added
// to the gradient or decoupled from it (Loshchilov & Hutter 2019).
#include <algorithm>
#include <cmath>

#include "kernels/reference/common/elements.h"
#include "kernels/reference/functions.h"

namespace fovea::reference {

namespace {

// Returns the factor that scales all gradients so that their total norm is at most max_norm.
template <class T, class Args> T clip_factor(const Args& args) {
  if (args.max_norm == 0.0f) return 1;
  return std::min(T(1), static_cast<T>(args.max_norm) / std::sqrt(static_cast<T>(load(args.squared_norm, 0))));
}

}  // namespace

void squared_norm(Stream&, const SquaredNormArgs& args) {
  with_type_of(args.x, [&]<class T>(T) {
    const T* x = args.x.data<T>();
    T sum = 0;
    for (int64_t i = 0; i < args.x.size(); ++i) sum += x[i] * x[i];
    args.out.data<T>()[0] += sum;
  });
}

// g += decay param;  velocity = momentum velocity + g;  param -= rate velocity.
void sgd(Stream&, const SgdArgs& args) {
  with_type_of(args.param, [&]<class T>(T) {
    T *param = args.param.data<T>(), *grad = args.grad.data<T>(), *velocity = args.velocity.data<T>();
    const T rate = static_cast<T>(load(args.rate, 0)), clip = clip_factor<T>(args);
    const T momentum = static_cast<T>(args.momentum), decay = static_cast<T>(args.weight_decay);
    for (int64_t i = 0; i < args.param.size(); ++i) {
      T g = grad[i] * clip + decay * param[i];
      if (velocity != nullptr) g = velocity[i] = momentum * velocity[i] + g;
      param[i] -= rate * g;
      grad[i] = 0;
    }
  });
}

void adam(Stream&, const AdamArgs& args) {
  with_type_of(args.param, [&]<class T>(T) {
    T *param = args.param.data<T>(), *grad = args.grad.data<T>();
    T *m = args.m.data<T>(), *v = args.v.data<T>();
    const T rate = static_cast<T>(load(args.rate, 0)), clip = clip_factor<T>(args);
    const T correction1 = static_cast<T>(load(args.rate, 1)), correction2 = static_cast<T>(load(args.rate, 2));
    const T beta1 = static_cast<T>(args.beta1), beta2 = static_cast<T>(args.beta2);
    const T epsilon = static_cast<T>(args.epsilon), decay = static_cast<T>(args.weight_decay);
    for (int64_t i = 0; i < args.param.size(); ++i) {
      T g = grad[i] * clip;
      if (args.decoupled)
        param[i] -= rate * decay * param[i];
      else
        g += decay * param[i];
      m[i] = beta1 * m[i] + (1 - beta1) * g;
      v[i] = beta2 * v[i] + (1 - beta2) * g * g;
      param[i] -= rate * (m[i] / correction1) / (std::sqrt(v[i] / correction2) + epsilon);
      grad[i] = 0;
    }
  });
}

}  // namespace fovea::reference
