#include "view/style.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace fovea {

namespace {

// Ten equal steps of each, dark to light; what lies between is mixed.
using Palette = std::array<Rgb, 10>;
// Nunez, Anderton & Renslow 2018: read alike with and without colour vision deficiency.
constexpr Palette kCividis = {{{0x00, 0x22, 0x4e},
                               {0x12, 0x35, 0x70},
                               {0x3b, 0x49, 0x6c},
                               {0x57, 0x5d, 0x6d},
                               {0x70, 0x71, 0x73},
                               {0x8a, 0x86, 0x78},
                               {0xa5, 0x9c, 0x74},
                               {0xc3, 0xb3, 0x69},
                               {0xe1, 0xcc, 0x55},
                               {0xfe, 0xe8, 0x38}}};
constexpr Palette kViridis = {{{0x44, 0x01, 0x54},
                               {0x48, 0x28, 0x78},
                               {0x3e, 0x49, 0x89},
                               {0x31, 0x68, 0x8e},
                               {0x26, 0x82, 0x8e},
                               {0x1f, 0x9e, 0x89},
                               {0x35, 0xb7, 0x79},
                               {0x6e, 0xce, 0x58},
                               {0xb5, 0xde, 0x2b},
                               {0xfd, 0xe7, 0x25}}};

// The least weight a log scale tells from nothing.
constexpr double kLogFloor = 1e-3;

}  // namespace

void PictureStyle::describe(Fields& f) {
  f.add("scale", scale, "How weights become colours: as they are, by their root, or by their logarithm from 0.001 up.")
      .choices({"linear", "sqrt", "log"});
  f.add("palette", palette, "Colours, dark to light.").choices({"cividis", "viridis"});
  f.add("hide", hide, "flow: the share of each row's attention, in its smallest links, that is not drawn.")
      .at_least(0)
      .below(1);
}

double on_scale(const PictureStyle& style, double weight) {
  const double w = std::clamp(weight, 0.0, 1.0);
  if (style.scale == "sqrt") return std::sqrt(w);
  if (style.scale == "log") return w <= kLogFloor ? 0.0 : 1.0 - std::log(w) / std::log(kLogFloor);
  return w;
}

Rgb colour_at(const PictureStyle& style, double share) {
  const Palette& palette = style.palette == "viridis" ? kViridis : kCividis;
  const double place = std::clamp(share, 0.0, 1.0) * static_cast<double>(palette.size() - 1);
  const size_t below = std::min(static_cast<size_t>(place), palette.size() - 2);
  const double part = place - static_cast<double>(below);
  const auto mix = [part](uint8_t a, uint8_t b) {
    return static_cast<uint8_t>(std::lround((1.0 - part) * static_cast<double>(a) + part * static_cast<double>(b)));
  };
  const Rgb a = palette[below], b = palette[below + 1];
  return {mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue)};
}

Rgb ink_on(Rgb colour) {
  // Relative luminance as WCAG 2 has it; above 0.18 black has the higher contrast.
  const auto linear = [](uint8_t c) {
    const double x = static_cast<double>(c) / 255.0;
    return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
  };
  const double luminance = 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) + 0.0722 * linear(colour.blue);
  return luminance > 0.179 ? Rgb{0, 0, 0} : Rgb{255, 255, 255};
}

std::string hex(Rgb colour) { return fmt::format("#{:02x}{:02x}{:02x}", colour.red, colour.green, colour.blue); }

}  // namespace fovea
