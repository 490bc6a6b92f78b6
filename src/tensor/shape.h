// The sizes of the axes of a tensor: at most six, stored inline, so that no shape allocates.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "base/error.h"

namespace fovea {

class Shape {
 public:
  static constexpr int kMaxRank = 6;

  Shape() = default;
  Shape(std::initializer_list<int64_t> sizes) : Shape(std::span<const int64_t>(sizes.begin(), sizes.size())) {}
  explicit Shape(std::span<const int64_t> sizes);

  int rank() const { return rank_; }
  // Axis -1 is the last one.
  int64_t operator[](int axis) const;
  // Returns the number of elements: the product of the sizes, 1 for rank 0.
  int64_t count() const { return count(0, rank_); }
  // Returns the product of the sizes of axes [begin, end).
  int64_t count(int begin, int end) const;
  // Return a copy with one axis replaced, removed or prepended.
  Shape with(int axis, int64_t size) const;
  Shape without(int axis) const;
  Shape prepended(int64_t size) const;

  const int64_t* begin() const { return sizes_.data(); }
  const int64_t* end() const { return sizes_.data() + rank_; }
  friend bool operator==(const Shape& a, const Shape& b);

 private:
  int normalised(int axis) const;

  std::array<int64_t, kMaxRank> sizes_{};
  int rank_ = 0;
};

}  // namespace fovea

template <> struct fmt::formatter<fovea::Shape> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  fmt::appender format(const fovea::Shape& shape, fmt::format_context& context) const;
};
