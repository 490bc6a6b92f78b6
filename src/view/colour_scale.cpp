#include "view/colour_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace fovea {

namespace {

// Sixteen steps from white to nearly black, equal by CIEDE2000 (5.8 +- 0.3 in blues), each darker than the one before;
// colours between them are mixed in sRGB. A palette of one hue and falling lightness is read alike with every colour
// vision deficiency.
using Palette = std::array<uint32_t, 17>;
constexpr Palette kBlues = {0xffffff, 0xe9f2fa, 0xd3eafd, 0xb6daf9, 0x96c8f4, 0x78b5ed, 0x5ea1e2, 0x4a8fd4, 0x3d7fc5,
                            0x3370b4, 0x2d60a0, 0x285188, 0x24426d, 0x213352, 0x1c273a, 0x171c25, 0x111213};
constexpr Palette kGreys = {0xffffff, 0xe9e9e9, 0xd5d5d5, 0xc3c3c3, 0xb2b2b2, 0xa2a2a2, 0x949494, 0x878787, 0x7b7b7b,
                            0x6f6f6f, 0x646464, 0x575757, 0x4a4a4a, 0x3d3d3d, 0x2f2f2f, 0x212121, 0x121212};

constexpr double kDecades = 3;  // of a log scale

std::string tick_name(double weight) { return fmt::format("{:.3g}", weight); }

// Round weights below the largest, in falling order: on a linear scale multiples of the least 1, 2, 2.5 or 5 times a
// power of ten that is `gap` of the scale, else 1, 2 and 5 times the powers of ten themselves.
std::vector<double> round_weights(const std::string& scale, double largest, double gap) {
  std::vector<double> weights;
  if (scale == "linear") {
    const double decade = std::pow(10.0, std::floor(std::log10(gap * largest)));
    double step = 10 * decade;
    for (const double times : {5.0, 2.5, 2.0, 1.0}) {
      if (times * decade >= gap * largest * 0.999) step = times * decade;
    }
    for (auto i = static_cast<int64_t>(largest / step); i > 0; --i) weights.push_back(step * static_cast<double>(i));
    return weights;
  }
  for (double decade = std::pow(10.0, std::floor(std::log10(largest))); decade > largest * 1e-4; decade /= 10) {
    for (const double times : {5.0, 2.0, 1.0}) {
      if (scale == "log" && times > 1) continue;
      if (times * decade < largest) weights.push_back(times * decade);
    }
  }
  return weights;
}

}  // namespace

Rgb colour_at(const std::string& name, double share, Paper paper) {
  const Palette& palette = name == "greys" ? kGreys : kBlues;
  const double within = std::clamp(share, 0.0, 1.0);
  const double place = (paper == Paper::kDark ? 1.0 - within : within) * static_cast<double>(palette.size() - 1);
  const size_t below = std::min(static_cast<size_t>(place), palette.size() - 2);
  const double part = place - static_cast<double>(below);
  const auto mix = [&](uint32_t shift) {
    const double a = palette[below] >> shift & 255U, b = palette[below + 1] >> shift & 255U;
    return static_cast<uint8_t>(std::lround((1.0 - part) * a + part * b));
  };
  return {mix(16), mix(8), mix(0)};
}

Rgb ink_on(Rgb colour) {
  // Relative luminance of WCAG 2; above 0.179 black has the higher contrast.
  const auto linear = [](uint8_t c) {
    const double x = static_cast<double>(c) / 255.0;
    return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
  };
  const double luminance = 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) + 0.0722 * linear(colour.blue);
  return luminance > 0.179 ? Rgb{0, 0, 0} : Rgb{255, 255, 255};
}

std::string hex(Rgb colour) { return fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue); }

WeightScale::WeightScale(const PictureStyle& style, std::span<const Grid> grids) : style_(style) {
  double largest = 0;
  for (const Grid& grid : grids) {
    for (const float weight : grid.weights) {
      if (!is_absent(weight)) largest = std::max(largest, static_cast<double>(weight));
    }
  }
  largest_ = style.max_weight > 0 ? style.max_weight : largest > 0 ? largest : 1.0;
}

double WeightScale::share(double weight) const {
  const double w = std::clamp(weight / largest_, 0.0, 1.0);
  if (style_.scale == "sqrt") return std::sqrt(w);
  if (style_.scale == "log") return w > 0 ? std::max(0.0, 1.0 + std::log10(w) / kDecades) : 0.0;
  return w;
}

std::vector<Tick> WeightScale::ticks(double gap) const {
  std::vector<Tick> ticks = {{largest_, 1.0, tick_name(largest_)}};
  for (const double weight : round_weights(style_.scale, largest_, gap)) {
    const double at = share(weight);
    if (at <= ticks.back().share - gap && at >= gap) ticks.push_back({weight, at, tick_name(weight)});
  }
  const double lowest = style_.scale == "log" ? largest_ * std::pow(10.0, -kDecades) : 0.0;
  ticks.push_back({lowest, 0.0, (style_.scale == "log" ? "≤ " : "") + tick_name(lowest)});
  std::reverse(ticks.begin(), ticks.end());
  return ticks;
}

}  // namespace fovea
