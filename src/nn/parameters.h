// The parameters of a model: named tensors with gradients, stored one after another in one buffer, so that clipping,
// the optimiser and a checkpoint each are one pass over one tensor.
#pragma once

#include <deque>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/var.h"
#include "base/random.h"

namespace fovea {

// The initial values of a parameter. `fan_in` and `fan_out` of a matrix [out,in] are its columns and rows.
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
  // The bias of an LSTM's gates i, f, g, o: 1 for f, so that cell states persist from the start (Gers et al. 2000).
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
  bool frozen_ = false;
  Tensor value_;
  mutable Gradient gradient_;
};

// Several parameters viewed as one matrix (or vector) of all their rows, so that one GEMM serves them all.
class FusedParameters {
 public:
  explicit operator bool() const { return static_cast<bool>(value_); }
  Var var() const { return Var(value_, &gradient_); }

 private:
  friend class Parameters;
  explicit FusedParameters(std::vector<const Parameter*> members) : members_(std::move(members)), gradient_(Tensor()) {}

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

  // Declares a parameter. The reference stays valid. Weight decay applies to matrices and not to vectors (biases,
  // norms). Error when the name is taken.
  const Parameter& add(std::string name, const Shape& shape, Initialiser initialiser);
  // Keeps a declared parameter at its initial value: it receives neither gradients nor weight decay.
  void freeze(const Parameter& parameter);
  // Views several declared parameters as one. The view evaluates to false after allocation if padding between the
  // parameters prevents it. The reference stays valid.
  const FusedParameters& fuse(std::vector<const Parameter*> members);
  // Parameters are stored, listed and initialised in the order of their declaration. This moves the named ones, as far
  // as they are declared, before all others.
  void place_first(std::span<const std::string_view> names);
  void place_first(std::initializer_list<std::string_view> names) {
    place_first(std::span(names.begin(), names.end()));
  }
  // Allocates and initialises all declared parameters: the same seed gives the same values on every device.
  void allocate(uint64_t seed);
  // Allocates without initial values or gradients, for a trained model that is read from a file next.
  void allocate_unset() { allocate_buffers(false); }

  const std::vector<std::reference_wrapper<Parameter>>& list() const { return order_; }
  const Parameter& find(std::string_view name) const;
  int64_t count() const;  // elements
  Device device() const { return device_; }
  DType dtype() const { return dtype_; }

  // All values and all gradients; parameters with weight decay come first. Padding between parameters is zero.
  const Tensor& values() const { return values_; }
  const Tensor& grads() const { return grads_; }
  int64_t decaying() const { return decaying_; }  // elements, padding included
  // The part of a parameter in a tensor with the layout of values(): an average, a moment.
  Tensor part(const Tensor& all, const Parameter& parameter) const;

 private:
  void allocate_buffers(bool with_gradients);
  void allocate_fused(FusedParameters& fused) const;

  Device device_;
  DType dtype_;
  std::deque<Parameter> parameters_;  // never moved: layers refer to them
  std::vector<std::reference_wrapper<Parameter>> order_;
  std::deque<FusedParameters> fused_;
  Tensor values_, grads_;
  int64_t decaying_ = 0;
};

}  // namespace fovea
