// Convolution and its gradients as GEMMs, in f32: images [B,Y,X,C], weights [O,height,width,C]. The pixels under the
// window of a result are gathered as a row [height * width * C] ("im2col"), a block of results at a time, so that the
// rows stay in the cache. A window of 1x1 with stride 1 reads the images themselves. The weight is packed once for each
// version of its contents. Sums do not depend on the number of threads: the gradient of the weight adds the sums of a
// few pieces of the batch, each of which one thread computes.
#include <algorithm>

#include "kernels/cpu/common/convert_bf16.h"
#include "kernels/cpu/common/parallel_blocks.h"
#include "kernels/cpu/common/workspace.h"
#include "kernels/cpu/functions.h"
#include "kernels/cpu/gemm/panel_gemm.h"
#include "kernels/cpu/image/winograd.h"

namespace fovea::cpu {

namespace {

// The sizes of a convolution. Results are numbered over all images.
struct Sizes {
  int64_t images, height, width, channels;
  int64_t out_height, out_width, out_channels;
  Window window;

  Sizes(const Tensor& x, const Tensor& y, const Window& over)
      : images(x.dim(0)),
        height(x.dim(1)),
        width(x.dim(2)),
        channels(x.dim(3)),
        out_height(y.dim(1)),
        out_width(y.dim(2)),
        out_channels(y.dim(3)),
        window(over) {}
  int64_t image() const { return height * width * channels; }
  int64_t out_pixels() const { return out_height * out_width; }
  int64_t depth() const { return window.height * window.width * channels; }  // of a sum: the length of a row
  // Whether the images are the rows.
  bool gathers() const {
    const Window& w = window;
    return w.height * w.width * w.stride_y * w.stride_x != 1 || out_height != height || out_width != width ||
           w.pad_y != 0 || w.pad_x != 0;
  }
  // The number of results whose rows are in memory at once.
  int64_t block() const {
    constexpr int64_t kElements = 1 << 16, kLeast = 12, kMost = 240;
    return std::clamp(kElements / depth(), kLeast, kMost);
  }
};

// ---- rows --------------------------------------------------------------------------------------

// The part of one row of the window that is inside the image.
struct Run {
  int64_t pixel;          // in the image, of the first column inside
  int64_t begin, length;  // columns of the window
};
// Calls body(y, run) for each row y of the window of result `result` of an image; a run may have no length.
template <class Body> void for_window(const Sizes& s, int64_t result, Body&& body) {
  const Window& w = s.window;
  const int64_t top = result / s.out_width * w.stride_y - w.pad_y, left = result % s.out_width * w.stride_x - w.pad_x;
  const int64_t begin = std::clamp<int64_t>(-left, 0, w.width);
  const int64_t end = std::clamp<int64_t>(s.width - left, begin, w.width);
  for (int64_t y = 0; y < w.height; ++y) {
    const bool inside = top + y >= 0 && top + y < s.height;
    body(y, Run{(top + y) * s.width + left + begin, begin, inside ? end - begin : 0});
  }
}

// Copies the pixels of results [first, first + count) to rows of s.depth().
void gather(const Sizes& s, const float* x, int64_t first, int64_t count, float* rows) {
  const int64_t C = s.channels, across = s.window.width * C;
  for (int64_t i = 0; i < count; ++i) {
    const float* image = x + (first + i) / s.out_pixels() * s.image();
    for_window(s, (first + i) % s.out_pixels(), [&](int64_t y, const Run& run) {
      float* row = rows + i * s.depth() + y * across;
      std::fill_n(row, run.begin * C, 0.0f);
      if (run.length > 0) std::copy_n(image + run.pixel * C, run.length * C, row + run.begin * C);
      std::fill(row + (run.begin + run.length) * C, row + across, 0.0f);
    });
  }
}

// Adds rows to the pixels that gather() would copy them from, all in one image.
void scatter_add(const Sizes& s, const float* rows, int64_t first, int64_t count, float* image) {
  const int64_t C = s.channels, across = s.window.width * C;
  for (int64_t i = 0; i < count; ++i) {
    for_window(s, first + i, [&](int64_t y, const Run& run) {
      add(rows + i * s.depth() + y * across + run.begin * C, image + run.pixel * C, run.length * C);
    });
  }
}

// Calls body(first, rows) with the rows of blocks of the results [begin, end).
template <class Body> void for_blocks(const Sizes& s, const float* x, int64_t begin, int64_t end, Body&& body) {
  const int64_t depth = s.depth(), blocks = divide_up(end - begin, s.block());
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t first = begin + (end - begin) * block / blocks;
    const int64_t count = begin + (end - begin) * (block + 1) / blocks - first;
    const float* rows = x + first * depth;
    if (s.gathers()) {
      float* copies = workspace<float, struct GatheredPixels>(static_cast<size_t>(count * depth));
      gather(s, x, first, count, copies);
      rows = copies;
    }
    body(first, PanelRows{.whole = rows, .stride = depth, .m = count});
  }
}

// ---- elements ----------------------------------------------------------------------------------

// Returns the elements in f32: the stored ones, or a copy in the workspace.
template <class Name> float* in_f32(const Tensor& x) {
  if (x.dtype() == DType::kF32) return x.data<float>();
  return workspace<float, Name>(static_cast<size_t>(x.size()));
}
template <class Name> const float* read_f32(const Tensor& x) {
  float* wide = in_f32<Name>(x);
  if (x.dtype() == DType::kBF16)
    convert(x.data<bf16>(), wide, {x.dim(0), x.size() / x.dim(0), x.size() / x.dim(0), x.size() / x.dim(0)});
  return wide;
}

// ---- gradients ---------------------------------------------------------------------------------

// dx += dy weight, gathered backwards. Each image has one thread.
void grad_of_images(const Conv2dGradArgs& args, const Sizes& s, const float* dy) {
  const Matrix matrix = {.tensor = args.weight, .row_stride = s.depth(), .weight = true};
  Workspace spare;
  const PanelWeight weight = panel_weight(matrix, s.depth(), s.out_channels, Precision::kF32, spare);
  const bool rounded = args.dx.dtype() == DType::kBF16;
  parallel_for(s.images, 1, [&](int64_t begin, int64_t end) {
    float* wide = rounded ? workspace<float, struct WideImageGradient>(static_cast<size_t>(s.image())) : nullptr;
    float* rows = workspace<float, struct RowGradients>(static_cast<size_t>(s.block() * s.depth()));
    for (int64_t image = begin; image < end; ++image) {
      float* dx = rounded ? wide : args.dx.data<float>() + image * s.image();
      if (rounded) std::fill_n(wide, s.image(), 0.0f);
      const int64_t blocks = divide_up(s.out_pixels(), s.block());
      for (int64_t block = 0; block < blocks; ++block) {
        const int64_t first = s.out_pixels() * block / blocks, count = s.out_pixels() * (block + 1) / blocks - first;
        multiply(
            {.whole = dy + (image * s.out_pixels() + first) * s.out_channels, .stride = s.out_channels, .m = count},
            weight, 0, weight.panels(), {.data = rows, .row_stride = s.depth()});
        scatter_add(s, rows, first, count, dx);
      }
      if (rounded) add(dx, args.dx.data<bf16>() + image * s.image(), s.image());
    }
  });
}

// dweight [O,depth] += dy^T rows; dbias [O] += the sums of dy.
void grad_of_weight(const Conv2dGradArgs& args, const Sizes& s, const float* dy) {
  constexpr int64_t kPieces = 8;  // upper limit
  const int64_t pieces = std::min(kPieces, s.images), O = s.out_channels, size = O * s.depth();
  float* dweights = workspace<float, struct PieceWeights>(static_cast<size_t>(pieces * size));
  float* dbiases = workspace<float, struct PieceBiases>(static_cast<size_t>(pieces * O));
  std::fill_n(dbiases, pieces * O, 0.0f);
  const float* x = read_f32<struct WideImages>(args.x);
  parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t first = s.images * piece / pieces * s.out_pixels();
      const int64_t last = s.images * (piece + 1) / pieces * s.out_pixels();
      for_blocks(s, x, first, last, [&](int64_t result, const PanelRows& rows) {
        const int64_t packed = divide_up(s.depth(), kPanel) * kPanel * rows.m;
        float* to = workspace<float, struct PackedPixels>(static_cast<size_t>(packed));
        const PanelWeight right = pack_panels({.data = rows.whole, .row_stride = rows.stride}, s.depth(), rows.m, to);
        multiply({.whole = dy + result * O, .stride = O, .m = O, .transposed = true}, right, 0, right.panels(),
                 {.data = dweights + piece * size, .row_stride = s.depth(), .accumulate = result > first});
      });
      for (int64_t result = first; result < last; ++result) add(dy + result * O, dbiases + piece * O, O);
    }
  });
  for (int64_t piece = 0; piece < pieces; ++piece) {
    if (args.dweight) add(dweights + piece * size, args.dweight.data<float>(), size);
    if (args.dbias) add(dbiases + piece * O, args.dbias.data<float>(), O);
  }
}

}  // namespace

void conv2d(Stream&, const Conv2dArgs& args) {
  const Tensor &x = args.x, &y = args.y;
  if (x.size() == 0 || y.size() == 0) return;
  if (suits_winograd(args)) return conv2d_winograd(args);
  const Sizes s(x, y, args.window);
  const Matrix matrix = {.tensor = args.weight, .row_stride = s.depth(), .transposed = true, .weight = true};
  Workspace spare;
  const PanelWeight weight = panel_weight(matrix, s.out_channels, s.depth(), Precision::kF32, spare);
  const float* images = read_f32<struct WideImages>(x);
  const PanelOutput out = {.data = in_f32<struct WideResults>(y),
                           .row_stride = s.out_channels,
                           .bias = args.bias ? args.bias.data<float>() : nullptr,
                           .residual = args.residual ? read_f32<struct WideResiduals>(args.residual) : nullptr,
                           .relu = args.relu};
  const int64_t results = s.images * s.out_pixels();
  if (!s.gathers()) {
    multiply({.whole = images, .stride = s.channels, .m = results}, weight, out);
  } else {
    for_cells(results, weight, [&](Range rows, Range panels) {
      for_blocks(s, images, rows.begin, rows.end, [&](int64_t first, const PanelRows& block) {
        multiply(block, weight, panels.begin, panels.end, out.at(first, 0));
      });
    });
  }
  if (y.dtype() == DType::kBF16) {
    const int64_t image = y.size() / s.images;
    convert(out.data, y.data<bf16>(), {s.images, image, image, image});
  }
}

void conv2d_grad(Stream&, const Conv2dGradArgs& args) {
  if (args.dy.size() == 0 || args.x.size() == 0) return;
  const Sizes s(args.x, args.dy, args.window);
  const float* dy = read_f32<struct WideResultGradient>(args.dy);
  if (args.dx) grad_of_images(args, s, dy);
  if (args.dweight || args.dbias) grad_of_weight(args, s, dy);
}

}  // namespace fovea::cpu
