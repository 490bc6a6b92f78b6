#include "nn/parameters.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tensor/arena.h"

namespace fovea {

namespace {

constexpr int64_t kPiece = 1 << 16;  // values made at a time: a large matrix is never there twice

// Makes Gaussian rows orthonormal by Gram-Schmidt.
void orthonormalise(std::vector<double>& x, int64_t columns) {
  const auto rows = static_cast<int64_t>(x.size()) / columns;
  for (int64_t i = 0; i < rows; ++i) {
    double* row = &x[static_cast<size_t>(i * columns)];
    for (int64_t j = 0; j < i; ++j) {
      const double* other = &x[static_cast<size_t>(j * columns)];
      double dot = 0.0;
      for (int64_t k = 0; k < columns; ++k) dot += row[k] * other[k];
      for (int64_t k = 0; k < columns; ++k) row[k] -= dot * other[k];
    }
    double norm = 0.0;
    for (int64_t k = 0; k < columns; ++k) norm += row[k] * row[k];
    for (int64_t k = 0; k < columns; ++k) row[k] /= std::sqrt(norm);
  }
}

void initialise(const Tensor& value, Initialiser initialiser, Random& random) {
  using Kind = Initialiser::Kind;
  const int64_t count = value.size();
  const int64_t rows = value.rank() > 0 ? value.dim(0) : 1, columns = rows > 0 ? count / rows : 0;
  const bool orthogonal = initialiser.kind == Kind::kOrthogonal;
  const double scale = initialiser.kind == Kind::kGlorot
                           ? initialiser.scale * std::sqrt(6.0 / static_cast<double>(rows + columns))
                           : initialiser.scale;
  const Tensor flat = value.reshape({count});
  const int64_t piece = orthogonal ? columns * columns : kPiece;
  for (int64_t begin = 0; begin < count; begin += piece) {
    const int64_t end = std::min(count, begin + piece);
    std::vector<double> x(static_cast<size_t>(end - begin), initialiser.kind == Kind::kConstant ? 1.0 : 0.0);
    for (double& element : x) {
      if (initialiser.kind == Kind::kUniform || initialiser.kind == Kind::kGlorot) element = random.uniform(-1.0, 1.0);
      if (initialiser.kind == Kind::kNormal || orthogonal) element = random.normal();
    }
    for (int64_t i = begin; initialiser.kind == Kind::kForgetGate && i < end; ++i) {
      x[static_cast<size_t>(i - begin)] = i / (count / 4) == 1 ? 1.0 : 0.0;
    }
    if (orthogonal) orthonormalise(x, columns);
    for (double& element : x) element *= scale;
    const Tensor to = flat.slice(begin, end);
    if (to.dtype() == DType::kF64) {
      copy(from_host(x, {end - begin}, Device::cpu()), to);
    } else {
      copy(from_host(std::vector<float>(x.begin(), x.end()), {end - begin}, Device::cpu()), to);
    }
  }
}

}  // namespace

Var Parameter::var() const {
  check(static_cast<bool>(value_), "parameters: expected allocate() before {} is used", name_);
  return frozen_ ? Var(value_) : Var(value_, &gradient_);
}

const Parameter& Parameters::add(std::string name, const Shape& shape, Initialiser initialiser) {
  check(!values_, "parameters: expected {} to be added before allocate()", name);
  for (const Parameter& other : order_)
    check(other.name() != name, "parameters: expected a new name, got {} again", name);
  parameters_.push_back(Parameter(std::move(name), shape, initialiser, shape.rank() > 1));
  return order_.emplace_back(parameters_.back());
}

void Parameters::freeze(const Parameter& parameter) {
  check(!values_, "parameters: expected {} to be frozen before allocate()", parameter.name());
  for (Parameter& p : order_) {
    if (&p == &parameter) p.frozen_ = true, p.decays_ = false;
  }
}

void Parameters::place_first(std::span<const std::string_view> names) {
  check(!values_, "parameters: expected their order before allocate()");
  const auto rank = [&](const Parameter& p) { return std::find(names.begin(), names.end(), p.name()) - names.begin(); };
  std::stable_sort(order_.begin(), order_.end(),
                   [&](const Parameter& a, const Parameter& b) { return rank(a) < rank(b); });
}

const FusedParameters& Parameters::fuse(std::vector<const Parameter*> members) {
  check(!values_, "parameters: expected {} to be fused before allocate()", members.front()->name());
  fused_.push_back(FusedParameters(std::move(members)));
  return fused_.back();
}

void Parameters::allocate_fused(FusedParameters& fused) const {
  const Parameter& first = *fused.members_.front();
  const auto begin = static_cast<int64_t>((first.value().address() - values_.address()) / size_of(dtype_));
  int64_t rows = 0, count = 0;
  for (const Parameter* p : fused.members_) {
    const Shape& shape = p->shape();
    const bool next = p->value().address() == first.value().address() + count * static_cast<int64_t>(size_of(dtype_));
    if (!next || shape.count(1, shape.rank()) != first.shape().count(1, first.shape().rank())) return;
    rows += shape[0];
    count += shape.count();
  }
  const Shape shape = first.shape().with(0, rows);
  fused.value_ = values_.slice(begin, begin + count).reshape(shape);
  fused.gradient_ = Gradient(fused.value_);
  fused.gradient_.leaf = true;
  if (grads_) fused.gradient_.sum = grads_.slice(begin, begin + count).reshape(shape);
}

void Parameters::allocate_buffers(bool with_gradients) {
  check(!values_, "parameters: expected allocate() once");
  const ArenaScope heap(nullptr);
  const auto padded = [&](const Shape& shape) {
    const auto line = static_cast<int64_t>(kAlignment / size_of(dtype_));
    return (shape.count() + line - 1) / line * line;
  };
  int64_t total = 0;
  for (const Parameter& p : order_) {
    total += padded(p.shape_);
    if (p.decays_) decaying_ += padded(p.shape_);
  }
  values_ = with_gradients || !device_.on_host() ? zeros({total}, dtype_, device_) : empty({total}, dtype_, device_);
  if (with_gradients) grads_ = zeros({total}, dtype_, device_);
  int64_t next[2] = {decaying_, 0};  // the next free element: without weight decay, with it
  for (Parameter& p : order_) {
    int64_t& begin = next[p.decays_ ? 1 : 0];
    p.value_ = values_.slice(begin, begin + p.shape_.count()).reshape(p.shape_);
    p.gradient_ = Gradient(p.value_);
    p.gradient_.leaf = true;
    if (with_gradients) p.gradient_.sum = part(grads_, p);
    const int64_t end = begin + p.shape_.count();
    begin += padded(p.shape_);
    const Tensor padding = values_.slice(end, begin);
    zero_memory(device_, padding.raw(), padding.bytes());
  }
  for (FusedParameters& fused : fused_) allocate_fused(fused);
}

void Parameters::allocate(uint64_t seed) {
  allocate_buffers(true);
  uint64_t stream = 0;
  for (Parameter& p : order_) {
    Random random(seed, stream++);
    initialise(p.value_, p.initialiser_, random);
  }
  values_.contents_changed();
}

Tensor Parameters::part(const Tensor& all, const Parameter& parameter) const {
  const auto begin = static_cast<int64_t>((parameter.value().address() - values_.address()) / size_of(dtype_));
  return all.slice(begin, begin + parameter.shape().count()).reshape(parameter.shape());
}

const Parameter& Parameters::find(std::string_view name) const {
  for (const Parameter& p : order_) {
    if (p.name() == name) return p;
  }
  fail("parameters: expected a known name, got {}", name);
}

int64_t Parameters::count() const {
  int64_t total = 0;
  for (const Parameter& p : order_) total += p.shape().count();
  return total;
}

}  // namespace fovea
