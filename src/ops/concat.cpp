// Concatenation along an axis, and slices of the last axis. Each is the gradient of the other.
#include <algorithm>
#include <array>
#include <vector>

#include "ops/check.h"
#include "ops/ops.h"

namespace fovea {

namespace {

// A list that callers clear after use; its capacity serves the next call.
std::vector<Piece>& piece_list() {
  thread_local std::vector<Piece> pieces;
  pieces.clear();
  return pieces;
}

// Whether no part has a gradient yet and none occurs twice, so that their gradients may be overwritten.
bool all_new(const SavedVars& parts) {
  for (auto part = parts.begin(); part != parts.end(); ++part) {
    const Gradient* own = part->gradient();
    if (own == nullptr) continue;
    if (own->whole != nullptr || own->sum) return false;
    if (std::any_of(parts.begin(), part, [own](const Var& other) { return other.gradient() == own; })) return false;
  }
  return true;
}

Var join(std::string_view op, std::span<const Var> parts, int64_t outer, const Shape& result) {
  const Device d = parts[0].device();
  const Tensor y = empty(result, parts[0].dtype(), d);
  std::vector<Piece>& pieces = piece_list();
  bool needed = false;
  for (const Var& part : parts) {
    Expect(op, "every part", part.value()).like(parts[0].value());
    pieces.push_back({part.value(), outer == 0 ? 0 : part.size() / outer});
    needed = needed || part.needs_grad();
  }
  kernels(d).concat(stream(d), {.pieces = pieces, .joined = y, .outer = outer});
  pieces.clear();
  if (!needed || Tape::current() == nullptr) return y;
  return Tape::add_node_if(true, y, [d, outer, kept = SavedVars(*Tape::current(), parts)](const Tensor& dy) {
    std::vector<Piece>& to = piece_list();
    const bool overwrite = all_new(kept);
    for (const Var& part : kept) {
      const Tensor slot = !part.needs_grad() ? Tensor() : overwrite ? part.grad_slot().tensor : part.grad();
      to.push_back({slot, outer == 0 ? 0 : part.size() / outer});
    }
    kernels(d).split(stream(d), {.joined = dy, .pieces = to, .outer = outer, .accumulate = !overwrite});
    to.clear();
  });
}

}  // namespace

Var concat(std::span<const Var> parts, int axis) {
  check(!parts.empty(), "concat: expected at least one part, got none");
  const Shape& first = parts[0].shape();
  const int at = axis < 0 ? axis + first.rank() : axis;
  check(at >= 0 && at < first.rank(), "concat: expected an axis of {}, got {}", first, axis);
  int64_t total = 0;
  for (const Var& part : parts) {
    check(part.rank() == first.rank() && part.shape().with(at, 0) == first.with(at, 0),
          "concat: expected parts that differ from {} in axis {} alone, got {}", first, at, part.shape());
    total += part.dim(at);
  }
  return join("concat", parts, first.count(0, at), first.with(at, total));
}

Var stack(std::span<const Var> parts) {
  check(!parts.empty(), "stack: expected at least one part, got none");
  for (const Var& part : parts) Expect("stack", "every part", part.value()).shape(parts[0].shape());
  return join("stack", parts, 1, parts[0].shape().prepended(static_cast<int64_t>(parts.size())));
}

Var columns(const Var& x, int64_t begin, int64_t end) {
  Expect("columns", "x", x.value()).rank(1, Shape::kMaxRank);
  const int64_t width = x.dim(-1), outer = x.shape().count(0, x.rank() - 1);
  check(0 <= begin && begin <= end && end <= width, "columns: expected a range within 0..{}, got {}..{}", width, begin,
        end);
  const Device d = x.device();
  const Tensor y = empty(x.shape().with(-1, end - begin), x.dtype(), d);
  const auto pieces_of = [=](const Tensor& part) {
    return std::array<Piece, 3>{Piece{{}, begin}, Piece{part, end - begin}, Piece{{}, width - end}};
  };
  kernels(d).split(stream(d), {.joined = x.value(), .pieces = pieces_of(y), .outer = outer});
  return Tape::add_node(y, {x}, [=](const Tensor& dy) {
    kernels(d).concat(stream(d), {.pieces = pieces_of(dy), .joined = x.grad(), .outer = outer, .accumulate = true});
  });
}

}  // namespace fovea
