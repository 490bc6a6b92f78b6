// Another order of axes. The gradient is the inverse permutation.
#include <fmt/ranges.h>

#include <algorithm>

#include "ops/check.h"
#include "ops/ops.h"

namespace fovea {

namespace {

void expect_permutation(const Shape& shape, std::span<const int> axes) {
  const auto rank = static_cast<size_t>(shape.rank());
  bool each_once = axes.size() == rank;
  for (int axis = 0; axis < shape.rank(); ++axis) each_once = each_once && std::count(axes.begin(), axes.end(), axis);
  check(each_once, "permute: expected each axis of {} once, got [{}]", shape, fmt::join(axes, ","));
}

// Whether the elements stay where they are, because only axes of size 1 move.
bool is_reshape(const Shape& shape, std::span<const int> axes) {
  int before = -1;
  for (const int axis : axes) {
    if (shape[axis] == 1) continue;
    if (axis < before) return false;
    before = axis;
  }
  return true;
}

}  // namespace

Var permute(const Var& x, std::initializer_list<int> axes) {
  Expect("permute", "x", x.value()).elements();
  const std::span<const int> order(axes.begin(), axes.size());
  expect_permutation(x.shape(), order);
  PermuteArgs forward{.x = x.value()}, backward;
  int64_t sizes[Shape::kMaxRank];
  for (size_t i = 0; i < order.size(); ++i) {
    sizes[i] = x.dim(order[i]);
    forward.axes[i] = order[i];
    backward.axes[static_cast<size_t>(order[i])] = static_cast<int>(i);
  }
  const Shape shape(std::span<const int64_t>(sizes, order.size()));
  if (is_reshape(x.shape(), order)) return x.reshape(shape);
  const Device d = x.device();
  forward.y = empty(shape, x.dtype(), d);
  kernels(d).permute(stream(d), forward);
  return Tape::add_node(forward.y, {x}, [=](const Tensor& dy) {
    const auto [dx, accumulate] = x.grad_slot();
    PermuteArgs back = backward;
    back.x = dy;
    back.y = dx;
    back.accumulate = accumulate;
    kernels(d).permute(stream(d), back);
  });
}

}  // namespace fovea
