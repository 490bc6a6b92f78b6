// The loss of a pointer-generator (See et al. 2017, equation 9).
#include "kernels/pointer_mixture.h"
#include "kernels/reference/attention/score_views.h"
#include "kernels/reference/functions.h"

namespace fovea::reference {

namespace {

// The mixture of the target of step t of sentence b; `copied` is computed already.
template <class T, class Args> PointerMixture<T> mixture_at(const Args& args, int64_t n) {
  const auto at = [n](const Tensor& x) { return x ? x.data<T>() + n : nullptr; };
  const int32_t target = args.targets.template data<int32_t>()[n];
  return {at(args.nll), at(args.gate), *at(args.copied), target < args.vocabulary};
}

}  // namespace

void pointer_loss(Stream&, const PointerLossArgs& args) {
  const ScoreShape& shape = args.shape;
  with_type_of(args.weights, [&]<class T>(T) {
    const auto weights = cells_of<T>(args.weights, shape);
    const auto source = view<int32_t>(args.source, shape.batch, shape.keys);
    const auto targets = view<int32_t>(args.targets, shape.queries, shape.batch);
    const auto copied = view<T>(args.copied, shape.queries, shape.batch);
    const auto loss = view<T>(args.loss, shape.queries, shape.batch);
    for (int64_t t = 0; t < shape.queries; ++t) {
      for (int64_t b = 0; b < shape.batch; ++b) {
        T sum = 0;
        for (int64_t h = 0; h < shape.heads; ++h) {
          for (int64_t s = 0; s < shape.keys; ++s) sum += source(b, s) == targets(t, b) ? weights(b, h, t, s) : T(0);
        }
        copied(t, b) = sum / static_cast<T>(shape.heads);
        loss(t, b) = targets(t, b) == args.ignore ? T(0) : mixture_at<T>(args, t * shape.batch + b).loss();
      }
    }
  });
}

void pointer_loss_grad(Stream&, const PointerLossGradArgs& args) {
  const ScoreShape& shape = args.shape;
  with_type_of(args.dloss, [&]<class T>(T) {
    const auto dweights = cells_of<T>(args.dweights, shape);
    const auto source = view<int32_t>(args.source, shape.batch, shape.keys);
    const auto targets = view<int32_t>(args.targets, shape.queries, shape.batch);
    const auto dloss = view<T>(args.dloss, shape.queries, shape.batch);
    const auto dnll = view<T>(args.dnll, shape.queries, shape.batch);
    const auto dgate = view<T>(args.dgate, shape.queries, shape.batch);
    for (int64_t t = 0; t < shape.queries; ++t) {
      for (int64_t b = 0; b < shape.batch; ++b) {
        if (targets(t, b) == args.ignore) continue;
        const PointerMixture<T> mixture = mixture_at<T>(args, t * shape.batch + b);
        if (dnll) dnll(t, b) += dloss(t, b) * mixture.by_nll();
        if (dgate) dgate(t, b) += dloss(t, b) * mixture.by_gate();
        if (!dweights) continue;
        const T d = dloss(t, b) * mixture.by_copied() / static_cast<T>(shape.heads);
        for (int64_t h = 0; h < shape.heads; ++h) {
          for (int64_t s = 0; s < shape.keys; ++s) dweights(b, h, t, s) += source(b, s) == targets(t, b) ? d : T(0);
        }
      }
    }
  });
}

}  // namespace fovea::reference
