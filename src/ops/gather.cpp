// Gather and scatter-add along an axis: each is the other's gradient.
#include "ops/check.h"
#include "ops/ops.h"

namespace fovea {

namespace {

// Returns the sizes of a gather from `whole` along `axis`. Checks that the index has the sizes of `whole` in the axes
// next to `axis` on both sides, and 1 in the remaining leading and trailing axes, over which it is broadcast.
GatherShape gather_shape(std::string_view op, const Tensor& whole, int axis, const Tensor& index) {
  Expect(op, "x", whole).elements().rank(1, Shape::kMaxRank);
  const int rank = whole.rank(), at = axis < 0 ? axis + rank : axis;
  check(at >= 0 && at < rank, "{}: expected an axis of {}, got {}", op, whole.shape(), axis);
  Expect(op, "the index", index).dtype(DType::kI32).on(whole.device()).rank(rank);
  const Shape &x = whole.shape(), &i = index.shape();
  int first = at, last = at + 1;  // axes [first, last) of the index are as large as those of x
  while (first > 0 && i[first - 1] == x[first - 1]) --first;
  while (last < rank && i[last] == x[last]) ++last;
  check(i.count(0, first) == 1 && i.count(last, rank) == 1,
        "{}: expected an index that broadcasts to {} along all axes but {}, got {}", op, x, at, i);
  const GatherShape shape = {.outer = x.count(0, at),
                             .count = x[at],
                             .picks = i[at],
                             .inner = x.count(at + 1, rank),
                             .index_outer = i.count(0, at),
                             .index_inner = i.count(at + 1, rank)};
  if (whole.device().on_host()) {
    const int32_t* value = index.data<int32_t>();
    for (int64_t k = 0; k < index.size(); ++k) {
      check(value[k] >= 0 && value[k] < shape.count, "{}: expected indices below {}, got {} at {}", op, shape.count,
            value[k], k);
    }
  }
  return shape;
}

}  // namespace

Var gather(const Var& x, int axis, const Tensor& index) {
  const GatherShape shape = gather_shape("gather", x.value(), axis, index);
  const Device d = x.device();
  const Tensor y = empty(x.shape().with(axis, shape.picks), x.dtype(), d);
  kernels(d).gather(stream(d), {.whole = x.value(), .index = index, .picked = y, .shape = shape});
  return Tape::add_node(y, {x}, [=](const Tensor& dy) {
    kernels(d).scatter_add(stream(d), {.picked = dy, .index = index, .whole = x.grad(), .shape = shape});
  });
}

Var scatter_add(const Var& x, int axis, const Tensor& index, const Var& source) {
  const GatherShape shape = gather_shape("scatter_add", x.value(), axis, index);
  Expect("scatter_add", "the source", source.value()).like(x.value()).shape(x.shape().with(axis, shape.picks));
  const Device d = x.device();
  const Tensor y = empty_like(x.value());
  kernels(d).affine(stream(d), {.x = x.value(), .y = y});
  kernels(d).scatter_add(stream(d), {.picked = source.value(), .index = index, .whole = y, .shape = shape});
  return Tape::add_node(y, {x, source}, [=](const Tensor& dy) {
    if (source.needs_grad()) {
      const auto [dsource, accumulate] = source.grad_slot();
      kernels(d).gather(stream(d),
                        {.whole = dy, .index = index, .picked = dsource, .shape = shape, .accumulate = accumulate});
    }
    if (!x.needs_grad() || Tape::current()->move_gradient_to(x)) return;
    const auto [dx, accumulate] = x.grad_slot();
    kernels(d).affine(stream(d), {.x = dy, .y = dx, .accumulate = accumulate});
  });
}

}  // namespace fovea
