// Checks of the arguments of ops. Every message reads `op: expected <what> ..., got ...`.
#pragma once

#include <string_view>

#include "tensor/tensor.h"

namespace fovea {

// Checks one argument of an op; messages call it `what`.
class Expect {
 public:
  Expect(std::string_view op, std::string_view what, const Tensor& x);
  const Expect& shape(const Shape& shape) const;
  const Expect& rank(int least, int most) const;
  const Expect& rank(int exactly) const { return rank(exactly, exactly); }
  const Expect& dtype(DType dtype) const;
  const Expect& elements() const;                     // f32, bf16 or f64
  const Expect& like(const Tensor& other) const;      // the same dtype and device
  const Expect& parameter_of(const Tensor& x) const;  // the accumulator's dtype, the same device
  const Expect& on(Device device) const;

 private:
  std::string_view op_, what_;
  const Tensor& x_;
};

struct Mask;
struct ScoreShape;
void expect_mask(std::string_view op, const Mask& mask, const ScoreShape& shape, const Tensor& scores);
void expect_lengths(std::string_view op, const Tensor& lengths, int64_t batch, Device device);
void expect_heads(std::string_view op, int64_t heads, int64_t depth);

}  // namespace fovea
