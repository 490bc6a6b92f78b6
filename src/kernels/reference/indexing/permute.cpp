// Permutation of axes.
#include "kernels/reference/common/elements.h"
#include "kernels/reference/functions.h"

namespace fovea::reference {

void permute(Stream&, const PermuteArgs& args) {
  const int rank = args.x.rank();
  with_type_of(args.x, [&]<class T>(T) {
    const T* x = args.x.data<T>();
    T* y = args.y.data<T>();
    for (int64_t flat = 0; flat < args.y.size(); ++flat) {
      int64_t left = flat, from = 0;
      for (int i = rank - 1; i >= 0; --i) {
        const int axis = args.axes[static_cast<size_t>(i)];
        from += left % args.y.dim(i) * args.x.shape().count(axis + 1, rank);
        left /= args.y.dim(i);
      }
      y[flat] = args.accumulate ? y[flat] + x[from] : x[from];
    }
  });
}

}  // namespace fovea::reference
