// The loss of a pointer-generator (See et al. 2017, equation 9). A target has few source positions, whose ids are
// compared one by one: the work is small beside that of the attention that made the weights.
#include "kernels/cpu/common/parallel_blocks.h"
#include "kernels/cpu/functions.h"
#include "kernels/pointer_mixture.h"

namespace fovea::cpu {

namespace {

// Calls body(first weight of the row, position) for each source position that equals the target of row n = t*B+b.
template <class Args, class Body> void each_match(const Args& args, int64_t n, Body&& body) {
  const ScoreShape& shape = args.shape;
  const int64_t t = n / shape.batch, b = n % shape.batch;
  const int32_t target = args.targets.template data<int32_t>()[n];
  const int32_t* source = args.source.template data<int32_t>() + b * shape.keys;
  for (int64_t s = 0; s < shape.keys; ++s) {
    if (source[s] != target) continue;
    for (int64_t h = 0; h < shape.heads; ++h) body(((b * shape.heads + h) * shape.queries + t) * shape.keys + s);
  }
}

template <class Args> PointerMixture<float> mixture_at(const Args& args, int64_t n) {
  const auto at = [n](const Tensor& x) { return x ? x.data<float>() + n : nullptr; };
  const int32_t target = args.targets.template data<int32_t>()[n];
  return {at(args.nll), at(args.gate), *at(args.copied), target < args.vocabulary};
}

template <class Args> int64_t row_work(const Args& args) { return args.shape.keys + 16; }

}  // namespace

void pointer_loss(Stream&, const PointerLossArgs& args) {
  const int32_t* targets = args.targets.data<int32_t>();
  float *copied = args.copied.data<float>(), *loss = args.loss.data<float>();
  with_type_of(args.weights, [&]<class T>(T) {
    const T* weights = args.weights.data<T>();
    each_row(args.targets.size(), row_work(args), [&](int64_t n) {
      float sum = 0;
      each_match(args, n, [&](int64_t at) { sum += static_cast<float>(weights[at]); });
      copied[n] = sum / static_cast<float>(args.shape.heads);
      loss[n] = targets[n] == args.ignore ? 0.0f : mixture_at(args, n).loss();
    });
  });
}

void pointer_loss_grad(Stream&, const PointerLossGradArgs& args) {
  const int32_t* targets = args.targets.data<int32_t>();
  const float* dloss = args.dloss.data<float>();
  float *dnll = args.dnll.data<float>(), *dgate = args.dgate.data<float>();
  const auto backward = [&](auto* dweights) {
    using T = std::remove_pointer_t<decltype(dweights)>;
    each_row(args.targets.size(), row_work(args), [&](int64_t n) {
      if (targets[n] == args.ignore) return;
      const PointerMixture<float> mixture = mixture_at(args, n);
      if (dnll) dnll[n] += dloss[n] * mixture.by_nll();
      if (dgate) dgate[n] += dloss[n] * mixture.by_gate();
      if (!dweights) return;
      const float d = dloss[n] * mixture.by_copied() / static_cast<float>(args.shape.heads);
      each_match(args, n, [&](int64_t at) { dweights[at] = T(static_cast<float>(dweights[at]) + d); });
    });
  };
  if (!args.dweights) return backward(static_cast<float*>(nullptr));
  with_type_of(args.dweights, [&]<class T>(T) { backward(args.dweights.data<T>()); });
}

}  // namespace fovea::cpu
