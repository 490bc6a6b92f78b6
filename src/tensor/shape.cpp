#include "tensor/shape.h"

#include <algorithm>
#include <cassert>
#include <string>

namespace fovea {

Shape::Shape(std::span<const int64_t> sizes) : rank_(static_cast<int>(sizes.size())) {
  check(rank_ <= kMaxRank, "shape: expected at most {} axes, got {}", kMaxRank, rank_);
  std::copy(sizes.begin(), sizes.end(), sizes_.begin());
  for (const int64_t size : sizes) check(size >= 0, "shape: expected sizes of at least 0, got {}", *this);
}

int Shape::normalised(int axis) const {
  const int positive = axis < 0 ? axis + rank_ : axis;
  check(positive >= 0 && positive < rank_, "shape: expected an axis of {}, got axis {}", *this, axis);
  return positive;
}

int64_t Shape::operator[](int axis) const { return sizes_[static_cast<size_t>(normalised(axis))]; }

int64_t Shape::count(int begin, int end) const {
  assert(0 <= begin && begin <= end && end <= rank_);
  int64_t product = 1;
  for (int axis = begin; axis < end; ++axis) product *= sizes_[static_cast<size_t>(axis)];
  return product;
}

Shape Shape::with(int axis, int64_t size) const {
  Shape copy = *this;
  copy.sizes_[static_cast<size_t>(normalised(axis))] = size;
  return copy;
}

Shape Shape::without(int axis) const {
  Shape copy = *this;
  const int at = normalised(axis);
  std::copy(copy.sizes_.begin() + at + 1, copy.sizes_.begin() + rank_, copy.sizes_.begin() + at);
  copy.sizes_[static_cast<size_t>(--copy.rank_)] = 0;
  return copy;
}

Shape Shape::prepended(int64_t size) const {
  check(rank_ < kMaxRank, "shape: expected at most {} axes, got one more than {}", kMaxRank, *this);
  Shape copy;
  copy.rank_ = rank_ + 1;
  copy.sizes_[0] = size;
  std::copy(begin(), end(), copy.sizes_.begin() + 1);
  return copy;
}

bool operator==(const Shape& a, const Shape& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

}  // namespace fovea

fmt::appender fmt::formatter<fovea::Shape>::format(const fovea::Shape& shape, fmt::format_context& context) const {
  std::string text = "[";
  for (const int64_t size : shape) text += (text.size() > 1 ? "," : "") + std::to_string(size);
  text += ']';
  return std::copy(text.begin(), text.end(), context.out());
}
