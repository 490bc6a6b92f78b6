// Dropout (Srivastava et al. 2014) with an optional residual connection and gate.
#include "kernels/reference/pointwise/dropout.h"

#include "kernels/reference/common/elements.h"
#include "kernels/reference/functions.h"

namespace fovea::reference {

void dropout(Stream&, const DropoutArgs& args) {
  with_type_of(args.x, [&]<class T>(T) {
    const DropoutFactor<T> factor(args.rate, args.random);
    const T *x = args.x.data<T>(), *base = args.base.data<T>(), *gate = args.gate.data<T>();
    T* y = args.y.data<T>();
    const int64_t size = args.x.size(), period = args.period > 0 ? args.period : size;
    for (int64_t i = 0; i < size; ++i) {
      const T kept = gate == nullptr || gate[i] > 0 ? x[i] * factor(i % period) : T(0);
      y[i] = args.accumulate ? y[i] + kept : base != nullptr ? base[i] + kept : kept;
    }
  });
}

}  // namespace fovea::reference
