#include "train/optimiser.h"

#include <cmath>

#include "tensor/arena.h"

namespace fovea {

Optimiser::Optimiser(Parameters& parameters, const OptimiserOptions& options)
    : parameters_(parameters), options_(options) {
  check(static_cast<bool>(parameters.values()), "optimiser: expected parameters after allocate()");
  const ArenaScope heap(nullptr);
  const Tensor& values = parameters.values();
  const bool adam = options.kind != OptimiserOptions::Kind::kSgd;
  if (adam || options.momentum != 0.0f) first_ = zeros_like(values);
  if (adam) second_ = zeros_like(values);
  rate_ = zeros({3}, values.dtype(), values.device());
  squared_norm_ = zeros({1}, values.dtype(), values.device());
}

void Optimiser::step(float learning_rate) {
  step(learning_rate, [](const Update& update) { update(); });
}

void Optimiser::step(float learning_rate, const std::function<void(const Update&)>& run) {
  const auto correction = [&](float beta) { return 1.0 - std::pow(static_cast<double>(beta), steps_ + 1); };
  const double rate[3] = {learning_rate, correction(options_.beta1), correction(options_.beta2)};
  const float narrow[3] = {learning_rate, static_cast<float>(rate[1]), static_cast<float>(rate[2])};
  const bool wide = rate_.dtype() == DType::kF64;
  copy_memory(rate_.device(), rate_.raw(), Device::cpu(),
              reinterpret_cast<const std::byte*>(wide ? static_cast<const void*>(rate) : narrow), rate_.bytes());
  run([this] { update(); });
  ++steps_;
}

void Optimiser::update() {
  const Device d = rate_.device();
  parameters_.values().contents_changed();  // before the kernels, which may update derived copies as well
  zero_memory(d, squared_norm_.raw(), squared_norm_.bytes());
  kernels(d).squared_norm(stream(d), {.x = parameters_.grads(), .out = squared_norm_});
  update(0, parameters_.decaying(), options_.weight_decay);
  update(parameters_.decaying(), parameters_.values().size(), 0.0f);
}

void Optimiser::update(int64_t begin, int64_t end, float weight_decay) {
  if (begin == end) return;
  const auto part = [&](const Tensor& all) { return all ? all.slice(begin, end) : Tensor(); };
  const Device d = rate_.device();
  if (options_.kind == OptimiserOptions::Kind::kSgd) {
    kernels(d).sgd(stream(d), {.param = part(parameters_.values()),
                               .grad = part(parameters_.grads()),
                               .velocity = part(first_),
                               .rate = rate_,
                               .squared_norm = squared_norm_,
                               .max_norm = options_.clip_norm,
                               .momentum = options_.momentum,
                               .weight_decay = weight_decay});
    return;
  }
  kernels(d).adam(stream(d), {.param = part(parameters_.values()),
                              .grad = part(parameters_.grads()),
                              .m = part(first_),
                              .v = part(second_),
                              .rate = rate_,
                              .squared_norm = squared_norm_,
                              .max_norm = options_.clip_norm,
                              .beta1 = options_.beta1,
                              .beta2 = options_.beta2,
                              .epsilon = options_.epsilon,
                              .weight_decay = weight_decay,
                              .decoupled = options_.kind == OptimiserOptions::Kind::kAdamW});
}

double Optimiser::grad_norm() const {
  if (squared_norm_.dtype() == DType::kF64) return std::sqrt(to_host<double>(squared_norm_)[0]);
  return std::sqrt(static_cast<double>(to_host<float>(squared_norm_)[0]));
}

}  // namespace fovea
