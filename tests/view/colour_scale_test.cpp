#include "view/colour_scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace fovea {
namespace {

Grid grid_of(std::vector<float> weights) {
  Grid grid;
  grid.rows.resize(1);
  grid.columns.resize(weights.size());
  grid.weights = std::move(weights);
  return grid;
}

struct Lab {
  double l, a, b;
};

// CIELAB under D65.
Lab lab_of(Rgb colour) {
  const auto linear = [](uint8_t c) {
    const double x = c / 255.0;
    return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
  };
  const double r = linear(colour.red), g = linear(colour.green), b = linear(colour.blue);
  const auto f = [](double t) { return t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116; };
  const double x = f((0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047),
               y = f(0.2126729 * r + 0.7151522 * g + 0.0721750 * b),
               z = f((0.0193339 * r + 0.1191920 * g + 0.9503041 * b) / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

// CIEDE2000 (Sharma, Wu & Dalal 2005).
double difference(Lab p, Lab q) {
  const auto radians = [](double degrees) { return degrees * std::numbers::pi / 180; };
  const double mean = (std::hypot(p.a, p.b) + std::hypot(q.a, q.b)) / 2, seventh = std::pow(mean, 7);
  const double g = 0.5 * (1 - std::sqrt(seventh / (seventh + std::pow(25.0, 7))));
  const double a1 = (1 + g) * p.a, a2 = (1 + g) * q.a, c1 = std::hypot(a1, p.b), c2 = std::hypot(a2, q.b);
  const auto hue = [](double b, double a) {
    const double h = std::atan2(b, a) * 180 / std::numbers::pi;
    return h < 0 ? h + 360 : h;
  };
  const double h1 = hue(p.b, a1), h2 = hue(q.b, a2);
  double turn = c1 * c2 == 0 ? 0 : h2 - h1, h = h1 + h2;
  if (turn > 180) turn -= 360;
  if (turn < -180) turn += 360;
  if (c1 * c2 != 0) h = std::abs(h1 - h2) <= 180 ? h / 2 : (h < 360 ? h + 360 : h - 360) / 2;
  const double dl = q.l - p.l, dc = c2 - c1, dh = 2 * std::sqrt(c1 * c2) * std::sin(radians(turn / 2));
  const double l = (p.l + q.l) / 2, c = (c1 + c2) / 2, c7 = std::pow(c, 7);
  const double t = 1 - 0.17 * std::cos(radians(h - 30)) + 0.24 * std::cos(radians(2 * h)) +
                   0.32 * std::cos(radians(3 * h + 6)) - 0.20 * std::cos(radians(4 * h - 63));
  const double sl = 1 + 0.015 * (l - 50) * (l - 50) / std::sqrt(20 + (l - 50) * (l - 50)), sc = 1 + 0.045 * c,
               sh = 1 + 0.015 * c * t;
  const double rotation =
      -2 * std::sqrt(c7 / (c7 + std::pow(25.0, 7))) * std::sin(radians(60 * std::exp(-std::pow((h - 275) / 25, 2))));
  const double x = dl / sl, y = dc / sc, z = dh / sh;
  return std::sqrt(x * x + y * y + z * z + rotation * y * z);
}

TEST(ColourScale, TheDifferenceIsThePublishedOne) {
  EXPECT_NEAR(difference({50, 2.6772, -79.7751}, {50, 0, -82.7485}), 2.0425, 1e-4);
  EXPECT_NEAR(difference({50, 2.5, 0}, {73, 25, -18}), 27.1492, 1e-4);
  EXPECT_NEAR(difference({60.2574, -34.0099, 36.2677}, {60.4626, -34.1751, 39.4387}), 1.2644, 1e-4);
}

// A colour vision deficiency changes hues and leaves lightness, so that a scale of falling lightness reads alike.
TEST(ColourScale, LightnessFallsFromWhiteToDarkAndRisesOnDarkPaper) {
  for (const char* palette : {"blues", "greys"}) {
    EXPECT_EQ(hex(colour_at(palette, 0, Paper::kLight)), "#ffffff");
    for (int i = 0; i < 64; ++i) {
      const double a = i / 64.0, b = (i + 1) / 64.0;
      EXPECT_GT(lab_of(colour_at(palette, a, Paper::kLight)).l, lab_of(colour_at(palette, b, Paper::kLight)).l) << i;
      EXPECT_LT(lab_of(colour_at(palette, a, Paper::kDark)).l, lab_of(colour_at(palette, b, Paper::kDark)).l) << i;
    }
    EXPECT_LT(lab_of(colour_at(palette, 1, Paper::kLight)).l, 10);
  }
}

TEST(ColourScale, EqualStepsAreEqualDifferences) {
  for (const char* palette : {"blues", "greys"}) {
    std::vector<double> steps;
    for (int i = 0; i < 16; ++i) {
      steps.push_back(difference(lab_of(colour_at(palette, i / 16.0, Paper::kLight)),
                                 lab_of(colour_at(palette, (i + 1) / 16.0, Paper::kLight))));
    }
    const auto [least, most] = std::minmax_element(steps.begin(), steps.end());
    EXPECT_LT(*most / *least, 1.15) << palette;  // what rounding to 8 bits leaves
  }
}

TEST(ColourScale, EndsAtTheLargestWeightShown) {
  const Grid a = grid_of({0.1F, 0.25F, kAbsent}), b = grid_of({0.5F, 0.0F});
  EXPECT_EQ(WeightScale({}, a).largest(), 0.25);
  EXPECT_EQ(WeightScale({}, std::vector{a, b}).largest(), 0.5);
  EXPECT_EQ(WeightScale({.max_weight = 1}, a).largest(), 1);
  EXPECT_EQ(WeightScale({}, grid_of({0.0F, kAbsent})).largest(), 1);
  EXPECT_EQ(WeightScale({}, a).share(0.125), 0.5);
}

}  // namespace
}  // namespace fovea
