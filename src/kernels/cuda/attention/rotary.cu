// Rotary position embeddings (Su et al. 2021).
#include "kernels/rotary.h"

#include "kernels/cuda/common/device_primitives.h"
#include "kernels/cuda/functions.h"

namespace fovea::cuda {

namespace {

// Each thread rotates one pair.
template <class T>
__global__ void rotary_kernel(const T* x, T* y, int64_t pairs, int64_t rows, int64_t heads, int64_t depth,
                              int64_t position, int64_t stride, bool back, bool accumulate) {
  const int64_t half = depth / 2;
  for (int64_t k = first_element(); k < pairs; k += element_stride()) {
    const int64_t i = k % half, head = k / half;  // `head` is an index of T*B*H
    const int64_t t = head / (rows * heads), low = head * depth + i, high = low + half;
    const Rotation turn = rotary_rotation(position + t * stride, i, depth, back);
    const float c = static_cast<float>(turn.cosine), s = static_cast<float>(turn.sine);
    const float a = load(x + low), b = load(x + high);
    const float new_low = a * c - b * s, new_high = a * s + b * c;
    store(y + low, accumulate ? load(y + low) + new_low : new_low);
    store(y + high, accumulate ? load(y + high) + new_high : new_high);
  }
}

}  // namespace

void rotary(Stream& stream, const RotaryArgs& args) {
  const int64_t pairs = args.x.size() / 2, depth = args.x.dim(2) / args.heads;
  with_type_of(args.x, [&]<class T>(T) {
    launch(stream, rotary_kernel<T>, elements_grid(pairs), args.x.data<T>(), args.y.data<T>(), pairs, args.x.dim(1),
           args.heads, depth, args.position, args.stride, args.inverse, args.accumulate);
  });
}

}  // namespace fovea::cuda
