// Rotary position embeddings (Su et al. 2021): pairs of elements of a head are rotated by an angle proportional to the
// position.
#include "kernels/rotary.h"

#include "kernels/reference/common/elements.h"
#include "kernels/reference/functions.h"

namespace fovea::reference {

void rotary(Stream&, const RotaryArgs& args) {
  const int64_t steps = args.x.dim(0), batch = args.x.dim(1), heads = args.heads, depth = args.x.dim(2) / heads;
  with_type_of(args.x, [&]<class T>(T) {
    const auto x = view<T>(args.x, steps, batch, heads, depth), y = view<T>(args.y, steps, batch, heads, depth);
    const auto put = [&](T& cell, T value) { cell = args.accumulate ? cell + value : value; };
    for (int64_t t = 0; t < steps; ++t)
      for (int64_t i = 0; i < depth / 2; ++i) {
        const auto [cosine, sine] = rotary_rotation(args.position + t * args.stride, i, depth, args.inverse);
        const T c = static_cast<T>(cosine), s = static_cast<T>(sine);
        for (int64_t b = 0; b < batch; ++b)
          for (int64_t h = 0; h < heads; ++h) {
            const T low = x(t, b, h, i), high = x(t, b, h, i + depth / 2);
            put(y(t, b, h, i), low * c - high * s);
            put(y(t, b, h, i + depth / 2), low * s + high * c);
          }
      }
  });
}

}  // namespace fovea::reference
