// The cross-entropy of a softmax with label smoothing (Szegedy et al. 2016).
#include "kernels/reference/attention/masked_scores.h"
#include "kernels/reference/functions.h"

namespace fovea::reference {

void cross_entropy(Stream&, const CrossEntropyArgs& args) {
  const int64_t rows = args.targets.size(), classes = args.logits.dim(-1);
  with_type_of(args.logits, [&]<class T>(T) {
    const auto logits = view<T>(args.logits, rows, classes);
    const auto loss = view<T>(args.loss, rows), lse = view<T>(args.lse, rows);
    const auto targets = view<int32_t>(args.targets, rows);
    const T smoothing = static_cast<T>(args.smoothing);
    for (int64_t n = 0; n < rows; ++n) {
      const std::span<const T> row(logits.data + n * classes, static_cast<size_t>(classes));
      lse(n) = RowSoftmax<T>(row).log_sum_exp();
      loss(n) = 0;
      if (targets(n) == args.ignore) continue;
      loss(n) = (1 - smoothing) * (lse(n) - logits(n, targets(n)));
      if (smoothing == 0) continue;
      for (const T logit : row) loss(n) += smoothing / static_cast<T>(classes) * (lse(n) - logit);
    }
  });
}

// dlogits = dloss (p - q), where q is the smoothed target distribution.
void cross_entropy_grad(Stream&, const CrossEntropyGradArgs& args) {
  if (!args.dlogits) return;
  const int64_t rows = args.targets.size(), classes = args.logits.dim(-1);
  with_type_of(args.logits, [&]<class T>(T) {
    const auto logits = view<T>(args.logits, rows, classes), dlogits = view<T>(args.dlogits, rows, classes);
    const auto dloss = view<T>(args.dloss, rows), lse = view<T>(args.lse, rows);
    const auto targets = view<int32_t>(args.targets, rows);
    const T smoothing = static_cast<T>(args.smoothing);
    const bool in_place = args.dlogits.raw() == args.logits.raw();
    for (int64_t n = 0; n < rows; ++n) {
      const bool counts = targets(n) != args.ignore;
      for (int64_t v = 0; v < classes; ++v) {
        const T p = std::exp(logits(n, v) - lse(n));
        const T q = smoothing / static_cast<T>(classes) + (v == targets(n) ? 1 - smoothing : T(0));
        dlogits(n, v) = (in_place ? T(0) : dlogits(n, v)) + (counts ? dloss(n) * (p - q) : T(0));
      }
    }
  });
}

}  // namespace fovea::reference
