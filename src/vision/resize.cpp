#include <algorithm>
#include <cmath>
#include <span>

#include "base/error.h"
#include "base/threads.h"
#include "vision/formats.h"
#include "vision/image.h"

namespace fovea {

namespace {

constexpr int kPrecision = 22;  // bits after the point of a weight: 255 times the sum of the weights fits in 31 bits

// The input pixels that one output pixel is a weighted mean of, along one axis.
struct Taps {
  int64_t begin;
  std::span<const int32_t> weights;
};

// The taps of all output pixels of an axis. The triangle has a half width of one output pixel, or of one input pixel if
// that is larger. The formulas and their order are PIL's, so that the rounding is the same.
class Filter {
 public:
  Filter(int64_t in, int64_t out) : begins_(static_cast<size_t>(out)), counts_(begins_.size()) {
    const double scale = static_cast<double>(in) / static_cast<double>(out), half = std::max(scale, 1.0),
                 inverse = 1.0 / half;
    most_ = static_cast<size_t>(std::ceil(half)) * 2 + 1;
    weights_.resize(begins_.size() * most_);
    std::vector<double> exact(most_);
    for (size_t i = 0; i < begins_.size(); ++i) {
      const double centre = (static_cast<double>(i) + 0.5) * scale;
      const int64_t begin = std::max<int64_t>(0, static_cast<int64_t>(std::floor(centre - half + 0.5)));
      const int64_t end = std::min(in, static_cast<int64_t>(std::floor(centre + half + 0.5)));
      begins_[i] = begin;
      counts_[i] = static_cast<size_t>(end - begin);
      double sum = 0;
      for (size_t j = 0; j < counts_[i]; ++j) {
        const double distance =
            std::abs((static_cast<double>(begin + static_cast<int64_t>(j)) - centre + 0.5) * inverse);
        exact[j] = std::max(0.0, 1.0 - distance);
        sum += exact[j];
      }
      for (size_t j = 0; j < counts_[i]; ++j) {
        weights_[i * most_ + j] = static_cast<int32_t>(std::floor(exact[j] / sum * (1 << kPrecision) + 0.5));
      }
    }
  }

  Taps taps(int64_t i) const {
    const auto at = static_cast<size_t>(i);
    return {begins_[at], {weights_.data() + at * most_, counts_[at]}};
  }

 private:
  size_t most_;  // taps of an output pixel
  std::vector<int64_t> begins_;
  std::vector<size_t> counts_;
  std::vector<int32_t> weights_;  // [out, most_]
};

// The rows whose `pixels` input pixels each are worth a thread of their own, a few milliseconds of work.
int64_t grain(int64_t pixels) { return 1'000'000 / std::max<int64_t>(1, pixels) + 1; }

constexpr int32_t kHalf = 1 << (kPrecision - 1);
uint8_t rounded(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> kPrecision, 0, 255)); }

Image resize_rows(const Image& image, int64_t width) {
  const Filter filter(image.width, width);
  Image out{width, image.height, {}};
  out.pixels.resize(static_cast<size_t>(width * image.height * 3));
  parallel_for(image.height, grain(image.width), [&](int64_t begin, int64_t end) {
    for (int64_t y = begin; y < end; ++y) {
      const uint8_t* row = image.pixels.data() + 3 * y * image.width;
      uint8_t* pixel = out.pixels.data() + 3 * y * width;
      for (int64_t x = 0; x < width; ++x) {
        const Taps taps = filter.taps(x);
        const uint8_t* in = row + 3 * taps.begin;
        int32_t red = kHalf, green = kHalf, blue = kHalf;
        for (const int32_t weight : taps.weights) {
          red += weight * in[0];
          green += weight * in[1];
          blue += weight * in[2];
          in += 3;
        }
        *pixel++ = rounded(red);
        *pixel++ = rounded(green);
        *pixel++ = rounded(blue);
      }
    }
  });
  return out;
}

Image resize_columns(const Image& image, int64_t height) {
  const Filter filter(image.height, height);
  const int64_t row = 3 * image.width;
  Image out{image.width, height, {}};
  out.pixels.resize(static_cast<size_t>(row * height));
  constexpr int64_t kBlock = 256;  // sums are computed for so many neighbours at a time
  parallel_for(height, grain(image.width * image.height / height), [&](int64_t begin, int64_t end) {
    int32_t sums[kBlock];
    for (int64_t y = begin; y < end; ++y) {
      const Taps taps = filter.taps(y);
      for (int64_t x = 0; x < row; x += kBlock) {
        const int64_t count = std::min(kBlock, row - x);
        std::fill_n(sums, count, kHalf);
        const uint8_t* in = image.pixels.data() + taps.begin * row + x;
        for (const int32_t weight : taps.weights) {
          for (int64_t i = 0; i < count; ++i) sums[i] += weight * in[i];
          in += row;
        }
        std::transform(sums, sums + count, out.pixels.data() + y * row + x, rounded);
      }
    }
  });
  return out;
}

}  // namespace

Image resize(const Image& image, int64_t width, int64_t height) {
  check_image(image, "resize");
  check_image_size(width, height, "resize");
  if (width == image.width && height == image.height) return image;
  if (width == image.width) return resize_columns(image, height);
  if (height == image.height) return resize_rows(image, width);
  // PIL always resizes rows first; from 1 x 60000 to 60000 x 1 pixels, that would take 10 GB in between.
  if (width * image.height > kMaxImagePixels) return resize_rows(resize_columns(image, height), width);
  return resize_columns(resize_rows(image, width), height);
}

}  // namespace fovea
