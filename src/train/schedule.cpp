#include "train/schedule.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "recipe/recipe.h"

namespace fovea {

Schedule::Schedule(const TrainingConfig& config)
    : peak_(config.learning_rate),
      final_(config.final_rate),
      factor_(config.plateau_factor),
      warmup_(config.warmup),
      patience_(config.plateau_patience) {
  const std::vector<std::string> names = schedule_names();
  const auto found = std::find(names.begin(), names.end(), config.schedule);
  check(found != names.end(), "training.schedule: expected one of {}, got {}", fmt::join(names, ", "), config.schedule);
  kind_ = static_cast<Kind>(found - names.begin());
}

double Schedule::rate(int64_t step, double done) const {
  const auto t = static_cast<double>(step), w = static_cast<double>(warmup_);
  if (step < warmup_) return peak_ * state_.scale * t / w;
  switch (kind_) {
    case Kind::kConstant: return peak_;
    case Kind::kInverseSqrt: return peak_ * std::sqrt(std::max(w, 1.0) / t);
    case Kind::kCosine: {
      const double wave = 0.5 * (1 + std::cos(std::numbers::pi * std::clamp(done, 0.0, 1.0)));
      return peak_ * (final_ + (1 - final_) * wave);
    }
    case Kind::kPlateau: return peak_ * state_.scale;
  }
  return peak_;
}

bool Schedule::validated(bool improved) {
  if (kind_ != Kind::kPlateau) return false;
  state_.validations_since_best = improved ? 0 : state_.validations_since_best + 1;
  if (state_.validations_since_best < patience_) return false;
  state_.validations_since_best = 0;
  state_.scale *= factor_;
  return true;
}

}  // namespace fovea
