// The loss of a pointer-generator (See et al. 2017, equation 9). A warp processes one target: its threads compare the
// ids of the source positions and add their weights in a fixed order.
#include "kernels/cuda/common/device_primitives.h"
#include "kernels/cuda/functions.h"
#include "kernels/pointer_mixture.h"

namespace fovea::cuda {

namespace {

struct PointerRows {
  const int32_t *source, *targets;
  const float *nll, *gate;
  int64_t rows, batch, heads, queries, keys;
  int32_t vocabulary, ignore;

  template <class Args>
  explicit PointerRows(const Args& args)
      : source(args.source.template data<int32_t>()),
        targets(args.targets.template data<int32_t>()),
        nll(args.nll.template data<float>()),
        gate(args.gate.template data<float>()),
        rows(args.shape.queries * args.shape.batch),
        batch(args.shape.batch),
        heads(args.shape.heads),
        queries(args.shape.queries),
        keys(args.shape.keys),
        vocabulary(args.vocabulary),
        ignore(args.ignore) {}

  // Calls body(index of the weight) for the matches of row n = t*B+b that belong to this thread of the warp.
  template <class Body> __device__ void each_match(int64_t n, Body&& body) const {
    const int64_t t = n / batch, b = n % batch;
    const int32_t target = targets[n];
    for (int64_t s = threadIdx.x; s < keys; s += kWarp) {
      if (source[b * keys + s] != target) continue;
      for (int64_t h = 0; h < heads; ++h) body(((b * heads + h) * queries + t) * keys + s);
    }
  }
  __device__ PointerMixture<float> mixture(int64_t n, float copied) const {
    return {nll == nullptr ? nullptr : nll + n, gate == nullptr ? nullptr : gate + n, copied, targets[n] < vocabulary};
  }
};

template <class T> __global__ void pointer_loss_kernel(const T* weights, float* copied, float* loss, PointerRows rows) {
  const int64_t n = team_row();
  if (n >= rows.rows) return;
  float sum = 0.0f;
  rows.each_match(n, [&](int64_t at) { sum += load(weights + at); });
  sum = Team<kWarp>::sum(sum);
  if (threadIdx.x != 0) return;
  copied[n] = sum / static_cast<float>(rows.heads);
  loss[n] = rows.targets[n] == rows.ignore ? 0.0f : rows.mixture(n, copied[n]).loss();
}

template <class T>
__global__ void pointer_loss_grad_kernel(const float* copied, const float* dloss, T* dweights, float* dnll,
                                         float* dgate, PointerRows rows) {
  const int64_t n = team_row();
  if (n >= rows.rows || rows.targets[n] == rows.ignore) return;
  const PointerMixture<float> mixture = rows.mixture(n, copied[n]);
  if (threadIdx.x == 0) {
    if (dnll != nullptr) dnll[n] += dloss[n] * mixture.by_nll();
    if (dgate != nullptr) dgate[n] += dloss[n] * mixture.by_gate();
  }
  if (dweights == nullptr) return;
  const float d = dloss[n] * mixture.by_copied() / static_cast<float>(rows.heads);
  rows.each_match(n, [&](int64_t at) { add(dweights + at, d); });
}

}  // namespace

void pointer_loss(Stream& stream, const PointerLossArgs& args) {
  const PointerRows rows(args);
  with_type_of(args.weights, [&]<class T>(T) {
    launch(stream, pointer_loss_kernel<T>, rows_grid<kWarp>(rows.rows), args.weights.data<T>(),
           args.copied.data<float>(), args.loss.data<float>(), rows);
  });
}

void pointer_loss_grad(Stream& stream, const PointerLossGradArgs& args) {
  const PointerRows rows(args);
  const auto backward = [&](auto* dweights) {
    using T = std::remove_pointer_t<decltype(dweights)>;
    launch(stream, pointer_loss_grad_kernel<T>, rows_grid<kWarp>(rows.rows), args.copied.data<float>(),
           args.dloss.data<float>(), dweights, args.dnll.data<float>(), args.dgate.data<float>(), rows);
  };
  if (!args.dweights) return backward(static_cast<float*>(nullptr));
  with_type_of(args.dweights, [&]<class T>(T) { backward(args.dweights.data<T>()); });
}

}  // namespace fovea::cuda
