#include "nn/parameters.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tensor/arena.h"

namespace fovea {

namespace {

// Rows of each H x H block made orthonormal by Gram-Schmidt on Gaussian rows.
void orthogonal(std::vector<double>& x, int64_t rows, int64_t columns, Random& random) {
  for (double& element : x) element = random.normal();
  for (int64_t block = 0; block < rows; block += columns) {
    const int64_t end = std::min(rows, block + columns);
    for (int64_t i = block; i < end; ++i) {
      double* row = &x[static_cast<size_t>(i * columns)];
      for (int64_t j = block; j < i; ++j) {
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
}

std::vector<double> initial_values(const Shape& shape, Initialiser initialiser, Random& random) {
  std::vector<double> x(static_cast<size_t>(shape.count()), initialiser.scale);
  const double scale = initialiser.scale;
  const int64_t rows = shape.rank() > 0 ? shape[0] : 1, columns = rows > 0 ? shape.count() / rows : 0;
  switch (initialiser.kind) {
    case Initialiser::Kind::kConstant: break;
    case Initialiser::Kind::kUniform:
      for (double& element : x) element = random.uniform(-scale, scale);
      break;
    case Initialiser::Kind::kNormal:
      for (double& element : x) element = scale * random.normal();
      break;
    case Initialiser::Kind::kGlorot: {
      const double bound = scale * std::sqrt(6.0 / static_cast<double>(rows + columns));
      for (double& element : x) element = random.uniform(-bound, bound);
      break;
    }
    case Initialiser::Kind::kOrthogonal:
      orthogonal(x, rows, columns, random);
      for (double& element : x) element *= scale;
      break;
  }
  return x;
}

}  // namespace

Var Parameter::var() const {
  check(static_cast<bool>(value_), "parameters: expected allocate() before {} is used", name_);
  return Var(value_, &gradient_);
}

const Parameter& Parameters::add(std::string name, const Shape& shape, Initialiser initialiser) {
  check(!values_, "parameters: expected {} to be added before allocate()", name);
  for (const Parameter& other : list_)
    check(other.name() != name, "parameters: expected a new name, got {} again", name);
  list_.push_back(Parameter(std::move(name), shape, initialiser, shape.rank() > 1));
  return list_.back();
}

void Parameters::lay_out(bool with_gradients) {
  check(!values_, "parameters: expected allocate() once");
  const ArenaScope heap(nullptr);
  const auto padded = [&](const Shape& shape) {
    const auto line = static_cast<int64_t>(kAlignment / size_of(dtype_));
    return (shape.count() + line - 1) / line * line;
  };
  int64_t total = 0;
  for (const Parameter& p : list_) {
    total += padded(p.shape_);
    if (p.decays_) decaying_ += padded(p.shape_);
  }
  values_ = zeros({total}, dtype_, device_);
  if (with_gradients) grads_ = zeros({total}, dtype_, device_);
  int64_t next[2] = {decaying_, 0};  // where the next one goes that does not decay, that decays
  for (Parameter& p : list_) {
    int64_t& begin = next[p.decays_ ? 1 : 0];
    p.value_ = values_.slice(begin, begin + p.shape_.count()).reshape(p.shape_);
    p.gradient_ = Gradient(p.value_);
    p.gradient_.leaf = true;
    if (with_gradients) p.gradient_.sum = part(grads_, p);
    begin += padded(p.shape_);
  }
}

void Parameters::allocate(uint64_t seed) {
  lay_out(true);
  uint64_t stream = 0;
  for (Parameter& p : list_) {
    Random random(seed, stream++);
    const std::vector<double> x = initial_values(p.shape_, p.initialiser_, random);
    if (dtype_ == DType::kF64) {
      copy(from_host(x, p.shape_, Device::cpu()), p.value_);
    } else {
      copy(from_host(std::vector<float>(x.begin(), x.end()), p.shape_, Device::cpu()), p.value_);
    }
  }
  values_.contents_changed();
}

Tensor Parameters::part(const Tensor& all, const Parameter& parameter) const {
  const auto begin = static_cast<int64_t>((parameter.value().raw() - values_.raw()) / size_of(dtype_));
  return all.slice(begin, begin + parameter.shape().count()).reshape(parameter.shape());
}

const Parameter& Parameters::find(std::string_view name) const {
  for (const Parameter& p : list_) {
    if (p.name() == name) return p;
  }
  fail("parameters: expected a known name, got {}", name);
}

int64_t Parameters::count() const {
  int64_t total = 0;
  for (const Parameter& p : list_) total += p.shape().count();
  return total;
}

}  // namespace fovea
