// The parameters of a model: named tensors with gradients, laid out one after another in one buffer, so
// that clipping, the optimiser and a checkpoint each are one pass over one tensor.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/var.h"
#include "base/random.h"

namespace fovea {

// How a parameter begins. `fan_in` and `fan_out` of a matrix [out,in] are its columns and rows.
struct Initialiser {
  enum class Kind { kConstant, kUniform, kNormal, kGlorot, kOrthogonal, kForgetGate };
  Kind kind = Kind::kConstant;
  double scale = 0.0;

  static Initialiser constant(double value) { return {Kind::kConstant, value}; }
  static Initialiser uniform(double bound) { return {Kind::kUniform, bound}; }  // in [-bound, bound]
  static Initialiser normal(double deviation) { return {Kind::kNormal, deviation}; }
  static Initialiser glorot(double gain = 1.0) { return {Kind::kGlorot, gain}; }  // Glorot & Bengio 2010
  // Square blocks of orthonormal rows, for recurrent weights [G*H,H] (Saxe et al. 2014).
  static Initialiser orthogonal(double gain = 1.0) { return {Kind::kOrthogonal, gain}; }
  // The bias of an LSTM's gates i, f, g, o: 1 for f, so that memories last from the beginning (Gers et al. 2000).
  static Initialiser forget_gate() { return {Kind::kForgetGate, 1.0}; }
};

class Parameter {
 public:
  const std::string& name() const { return name_; }
  const Shape& shape() const { return shape_; }
  bool decays() const { return decays_; }
  const Tensor& value() const { return value_; }
  const Tensor& grad() const { return gradient_.sum; }
  Var var() const;
  operator Var() const { return var(); }  // NOLINT(google-explicit-constructor): used where a Var is

 private:
  friend class Parameters;
  Parameter(std::string name, const Shape& shape, Initialiser initialiser, bool decays)
      : name_(std::move(name)), shape_(shape), initialiser_(initialiser), decays_(decays), gradient_(Tensor()) {}

  std::string name_;
  Shape shape_;
  Initialiser initialiser_;
  bool decays_;
  Tensor value_;
  mutable Gradient gradient_;
};

// Parameters that are used as one, where they lie one after the other: rows of one matrix, or of one vector.
class JoinedParameters {
 public:
  explicit operator bool() const { return static_cast<bool>(value_); }
  Var var() const { return Var(value_, &gradient_); }

 private:
  friend class Parameters;
  explicit JoinedParameters(std::vector<const Parameter*> members)
      : members_(std::move(members)), gradient_(Tensor()) {}

  std::vector<const Parameter*> members_;
  Tensor value_;
  mutable Gradient gradient_;
};

class Parameters {
 public:
  // dtype is that of the master copy: f32, or f64 on reference.
  explicit Parameters(Device device, DType dtype = DType::kF32) : device_(device), dtype_(dtype) {}
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  // Declares one. The reference stays valid. Weight decay is for matrices: vectors (biases, norms) and
  // whatever says so are left out. Error when the name is taken.
  const Parameter& add(std::string name, const Shape& shape, Initialiser initialiser);
  // Those that were declared, as one; false, once they are laid out, where their sizes keep them apart. The reference
  // stays valid.
  const JoinedParameters& join(std::vector<const Parameter*> members);
  // Lays out and initialises what was declared: the same seed gives the same values on every device.
  void allocate(uint64_t seed);
  // Lays out without values or gradients, for a trained model that is about to be read from a file.
  void allocate_unset() { lay_out(false); }

  const std::deque<Parameter>& list() const { return list_; }
  const Parameter& find(std::string_view name) const;
  int64_t count() const;  // elements
  Device device() const { return device_; }
  DType dtype() const { return dtype_; }

  // All values and all gradients; those that decay come first. Padding between parameters is zero.
  const Tensor& values() const { return values_; }
  const Tensor& grads() const { return grads_; }
  int64_t decaying() const { return decaying_; }  // elements, padding included
  // Where a parameter lies in a tensor that is laid out like values(): an average, a moment.
  Tensor part(const Tensor& all, const Parameter& parameter) const;

 private:
  void lay_out(bool with_gradients);
  void lay_out(JoinedParameters& joined) const;

  Device device_;
  DType dtype_;
  std::deque<Parameter> list_;
  std::deque<JoinedParameters> joined_;
  Tensor values_, grads_;
  int64_t decaying_ = 0;
};

}  // namespace fovea
