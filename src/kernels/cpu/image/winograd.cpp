#include "kernels/cpu/image/winograd.h"

#include <algorithm>
#include <array>

#include "base/threads.h"
#include "kernels/cpu/common/parallel_blocks.h"
#include "kernels/cpu/common/workspace.h"
#include "kernels/cpu/gemm/packed_weights.h"
#include "kernels/cpu/gemm/panel_gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/image/winograd.cpp"
#include "kernels/cpu/common/simd.h"

#ifndef FOVEA_KERNELS_CPU_IMAGE_WINOGRAD_CPP_
#define FOVEA_KERNELS_CPU_IMAGE_WINOGRAD_CPP_

namespace fovea::cpu {

constexpr int64_t kSpots = 16;      // elements of a transformed tile
constexpr int64_t kMostTiles = 24;  // at once, so that the transformed tiles stay in the L2 cache

// The sizes of a convolution, whose results are divided into tiles of 2x2.
struct Tiling {
  int64_t height, width, channels;
  int64_t out_height, out_width, out_channels;
  int64_t rows, columns, tiles;  // of tiles in an image; tiles of all images

  explicit Tiling(const Conv2dArgs& args)
      : height(args.x.dim(1)),
        width(args.x.dim(2)),
        channels(args.x.dim(3)),
        out_height(args.y.dim(1)),
        out_width(args.y.dim(2)),
        out_channels(args.y.dim(3)),
        rows(divide_up(out_height, 2)),
        columns(divide_up(out_width, 2)),
        tiles(args.x.dim(0) * rows * columns) {}
  int64_t panels() const { return divide_up(out_channels, kPanel); }
  int64_t image(int64_t tile) const { return tile / (rows * columns); }
  int64_t out_y(int64_t tile) const { return tile / columns % rows * 2; }
  int64_t out_x(int64_t tile) const { return tile % columns * 2; }
};

}  // namespace fovea::cpu

#endif

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

using Pixels = std::array<const float*, kSpots>;

// B^T d B of one tile, for one register of channels; element p is stored at v + p * stride.
template <class Lanes>
HWY_INLINE void transform_pixels(const Pixels& pixels, int64_t c, float* v, int64_t stride, Lanes lanes) {
  Floats t[4][4];
#pragma GCC unroll 4
  for (size_t j = 0; j < 4; ++j) {
    const Floats d0 = load(pixels[j] + c, lanes), d1 = load(pixels[4 + j] + c, lanes);
    const Floats d2 = load(pixels[8 + j] + c, lanes), d3 = load(pixels[12 + j] + c, lanes);
    t[0][j] = d0 - d2;
    t[1][j] = d1 + d2;
    t[2][j] = d2 - d1;
    t[3][j] = d1 - d3;
  }
#pragma GCC unroll 4
  for (int64_t i = 0; i < 4; ++i) {
    float* row = v + i * 4 * stride + c;
    store(t[i][0] - t[i][2], row, lanes);
    store(t[i][1] + t[i][2], row + stride, lanes);
    store(t[i][2] - t[i][1], row + 2 * stride, lanes);
    store(t[i][1] - t[i][3], row + 3 * stride, lanes);
  }
}

// A^T m A of one tile, whose element p is at m + p * stride.
template <class Lanes> HWY_INLINE void transform_products(const float* m, int64_t stride, Floats y[4], Lanes lanes) {
  Floats s[2][4];
#pragma GCC unroll 4
  for (int64_t j = 0; j < 4; ++j) {
    const Floats m0 = load(m + j * stride, lanes), m1 = load(m + (4 + j) * stride, lanes);
    const Floats m2 = load(m + (8 + j) * stride, lanes), m3 = load(m + (12 + j) * stride, lanes);
    s[0][j] = m0 + m1 + m2;
    s[1][j] = m1 - m2 - m3;
  }
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    y[2 * i] = s[i][0] + s[i][1] + s[i][2];
    y[2 * i + 1] = s[i][1] - s[i][2] - s[i][3];
  }
}

class Convolution {
 public:
  Convolution(const Conv2dArgs& args, const float* filters) : args_(args), filters_(filters), t_(args) {}

  void run() const {
    parallel_for(t_.tiles, kMostTiles, [&](int64_t begin, int64_t end) {
      const int64_t parts = divide_up(end - begin, kMostTiles);
      for (int64_t part = 0; part < parts; ++part) {
        const int64_t first = begin + (end - begin) * part / parts;
        run(first, begin + (end - begin) * (part + 1) / parts - first);
      }
    });
  }

 private:
  void run(int64_t first, int64_t count) const {
    float* pixels = workspace<float, struct WinogradPixels>(static_cast<size_t>(kSpots * count * t_.channels));
    float* products = workspace<float, struct WinogradProducts>(static_cast<size_t>(kSpots * count * kPanel));
    transform_inputs(first, count, pixels);
    for (int64_t panel = 0; panel < t_.panels(); ++panel) {
      const int64_t columns = std::min(kPanel, t_.out_channels - panel * kPanel);
      for (int64_t p = 0; p < kSpots; ++p) {
        const float* filter = filters_ + (p * t_.panels() + panel) * t_.channels * kPanel;
        cpu::multiply({.whole = pixels + p * count * t_.channels, .stride = t_.channels, .m = count},
                      {.n = columns, .k = t_.channels, .whole = filter}, 0, 1,
                      {.data = products + p * count * kPanel, .row_stride = kPanel});
      }
      for (int64_t i = 0; i < count; ++i) {
        write_results(first + i, panel * kPanel, columns, products + i * kPanel, count * kPanel);
      }
    }
  }

  void transform_inputs(int64_t first, int64_t count, float* to) const {
    float* zeros = workspace<float, struct WinogradPadding>(static_cast<size_t>(t_.channels));
    std::fill_n(zeros, t_.channels, 0.0f);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t tile = first + i;
      const float* image = args_.x.data<float>() + t_.image(tile) * t_.height * t_.width * t_.channels;
      Pixels pixels;
      for (int64_t p = 0; p < kSpots; ++p) {
        const int64_t y = t_.out_y(tile) - args_.window.pad_y + p / 4, x = t_.out_x(tile) - args_.window.pad_x + p % 4;
        const bool inside = 0 <= y && y < t_.height && 0 <= x && x < t_.width;
        pixels[static_cast<size_t>(p)] = inside ? image + (y * t_.width + x) * t_.channels : zeros;
      }
      each_register(t_.channels, [&](int64_t c, auto lanes) {
        transform_pixels(pixels, c, to + i * t_.channels, count * t_.channels, lanes);
      });
    }
  }

  // Writes channels [channel, channel + columns) of a tile.
  void write_results(int64_t tile, int64_t channel, int64_t columns, const float* products, int64_t stride) const {
    const float *bias = args_.bias.data<float>(), *residual = args_.residual.data<float>();
    const int64_t top = t_.out_y(tile), left = t_.out_x(tile);
    const int64_t high = std::min<int64_t>(2, t_.out_height - top), wide = std::min<int64_t>(2, t_.out_width - left);
    const int64_t corner = ((t_.image(tile) * t_.out_height + top) * t_.out_width + left) * t_.out_channels + channel;
    each_register(columns, [&](int64_t c, auto lanes) {
      Floats y[4];
      transform_products(products + c, stride, y, lanes);
      for (int64_t q = 0; q < 4; ++q) {
        if (q / 2 >= high || q % 2 >= wide) continue;
        const int64_t at = corner + (q / 2 * t_.out_width + q % 2) * t_.out_channels + c;
        Floats result = y[q];
        if (bias) result += load(bias + channel + c, lanes);
        if (residual) result += load(residual + at, lanes);
        store(args_.relu ? maximum(result, Floats(0)) : result, args_.y.data<float>() + at, lanes);
      }
    });
  }

  const Conv2dArgs& args_;
  const float* filters_;
  Tiling t_;
};

void run_winograd(const Conv2dArgs& args, const float* filters) { Convolution(args, filters).run(); }

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {

HWY_EXPORT(run_winograd);

namespace {

struct WinogradFilters : PackedCopy {
  WinogradFilters(PackedMemory& memory, size_t count) : data(memory.get<float>(count)) {}
  float* data;
};

// G g G^T of all filters, in panels as panel_gemm.h reads them: [16][O/32][C][32], padded with 0.
void transform_filters(const Tensor& weight, float* to) {
  const int64_t out = weight.dim(0), channels = weight.dim(3), panels = divide_up(out, kPanel);
  const int64_t spot = panels * channels * kPanel;
  std::fill_n(to, kSpots * spot, 0.0f);
  parallel_for(panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin * kPanel; o < std::min(out, end * kPanel); ++o) {
      const float* filter = weight.data<float>() + o * 9 * channels;
      float* column = to + o / kPanel * channels * kPanel + o % kPanel;
      for (int64_t c = 0; c < channels; ++c) {
        float t[4][3];
        for (int64_t j = 0; j < 3; ++j) {
          const float g0 = filter[j * channels + c], g1 = filter[(3 + j) * channels + c];
          const float g2 = filter[(6 + j) * channels + c];
          t[0][j] = g0;
          t[1][j] = (g0 + g1 + g2) / 2;
          t[2][j] = (g0 - g1 + g2) / 2;
          t[3][j] = g2;
        }
        for (int64_t i = 0; i < 4; ++i) {
          float* u = column + i * 4 * spot + c * kPanel;
          u[0] = t[i][0];
          u[spot] = (t[i][0] + t[i][1] + t[i][2]) / 2;
          u[2 * spot] = (t[i][0] - t[i][1] + t[i][2]) / 2;
          u[3 * spot] = t[i][2];
        }
      }
    }
  });
}

}  // namespace

bool suits_winograd(const Conv2dArgs& args) {
  constexpr int64_t kLeastChannels = 16;
  const Window& w = args.window;
  return w.height == 3 && w.width == 3 && w.stride_y == 1 && w.stride_x == 1 && args.x.dtype() == DType::kF32 &&
         args.x.dim(3) >= kLeastChannels && args.y.dim(3) >= kLeastChannels && Tiling(args).tiles >= kMostTiles / 2;
}

void conv2d_winograd(const Conv2dArgs& args) {
  const Tensor& weight = args.weight;
  const int64_t out = weight.dim(0), channels = weight.dim(3);
  const auto count = static_cast<size_t>(kSpots * divide_up(out, kPanel) * channels * kPanel);
  const Matrix matrix{.tensor = weight, .row_stride = 9 * channels, .weight = true};
  const float* filters = nullptr;
  if (PackedWeights::can_cache(matrix)) {
    filters = PackedWeights::get<WinogradFilters>(
                  matrix, {PackedWeightKey::Layout::kWinograd, matrix, out, channels},
                  [&](PackedMemory& memory) { return std::make_unique<WinogradFilters>(memory, count); },
                  [&](WinogradFilters& stale) { transform_filters(weight, stale.data); })
                  .data;
  } else {
    float* data = workspace<float, struct TransformedFilters>(count);
    transform_filters(weight, data);
    filters = data;
  }
  HWY_DYNAMIC_DISPATCH(run_winograd)(args, filters);
}

}  // namespace fovea::cpu
#endif  // HWY_ONCE
