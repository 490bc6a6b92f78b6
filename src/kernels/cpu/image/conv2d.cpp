// Convolution and its gradients with oneDNN, in f32: images [B,Y,X,C], weights [O,height,width,C], which are packed
// once for each version of their contents. oneDNN distributes the forward pass to threads. It would sum the gradients
// in an order that depends on their number, so a batch is split into a few pieces, each computed on one thread.
#include <algorithm>

#include "base/threads.h"
#include "kernels/cpu/common/convert_bf16.h"
#include "kernels/cpu/common/onednn.h"
#include "kernels/cpu/common/workspace.h"
#include "kernels/cpu/functions.h"
#include "kernels/cpu/image/winograd.h"

namespace fovea::cpu {

namespace {

using dnnl::memory;

constexpr int64_t kPieces = 8;  // upper limit

// The sizes of a convolution of some images.
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
  Sizes of(int64_t some_images) const {
    Sizes some = *this;
    some.images = some_images;
    return some;
  }
  int64_t image() const { return height * width * channels; }
  int64_t out_image() const { return out_height * out_width * out_channels; }
};

// oneDNN names the axes B C Y X, whatever their order in memory.
memory::desc images_desc(int64_t b, int64_t y, int64_t x, int64_t c) {
  return {{b, c, y, x}, memory::data_type::f32, memory::dims{y * x * c, 1, x * c, c}};
}
memory::desc source_desc(const Sizes& s) { return images_desc(s.images, s.height, s.width, s.channels); }
memory::desc result_desc(const Sizes& s) { return images_desc(s.images, s.out_height, s.out_width, s.out_channels); }
memory::desc weight_desc(const Sizes& s) {
  return images_desc(s.out_channels, s.window.height, s.window.width, s.channels);
}
memory::desc any_layout(const Sizes& s) {
  return {
      {s.out_channels, s.channels, s.window.height, s.window.width}, memory::data_type::f32, memory::format_tag::any};
}
memory::desc bias_desc(const Sizes& s) { return {{s.out_channels}, memory::data_type::f32, memory::format_tag::a}; }

// ---- primitives --------------------------------------------------------------------------------

// kPack and kUnpack are added to the kind of the primitive whose weight is packed or unpacked.
enum class Kind : int64_t { kForward = 100, kBackwardData, kBackwardWeights, kPack = 100, kUnpack = 200 };
enum Place : size_t { kImages, kWeight, kResult, kBias };

struct Geometry {
  memory::dims strides, padding, end_padding;
  explicit Geometry(const Window& w)
      : strides{w.stride_y, w.stride_x},
        padding{w.pad_y, w.pad_x},
        end_padding{w.pad_y + w.extra_y, w.pad_x + w.extra_x} {}
};

// What happens to the sums of products before they are stored. The residual is in the result's memory before.
struct Finish {
  bool bias = false, residual = false, relu = false;

  int64_t code() const { return int64_t{bias} | int64_t{residual} << 1 | int64_t{relu} << 2; }
  dnnl::primitive_attr attributes() const {
    dnnl::post_ops after;
    if (residual) after.append_sum(1.0f);
    if (relu) after.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
    dnnl::primitive_attr attr = with_our_scratchpad();
    attr.set_post_ops(after);
    return attr;
  }
};

dnnl::convolution_forward::primitive_desc forward_desc(const Sizes& s, const memory::desc& layout,
                                                       const Finish& finish) {
  const Geometry g(s.window);
  return {{dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, source_desc(s), layout,
           finish.bias ? bias_desc(s) : memory::desc(), result_desc(s), g.strides, g.padding, g.end_padding},
          finish.attributes(),
          onednn_engine()};
}

std::unique_ptr<Prepared> make_forward(const Sizes& s, const Finish& finish) {
  const auto description = forward_desc(s, any_layout(s), finish);
  Arguments arguments = {
      {DNNL_ARG_SRC, source_desc(s)}, {DNNL_ARG_WEIGHTS, description.weights_desc()}, {DNNL_ARG_DST, result_desc(s)}};
  if (finish.bias) arguments.push_back({DNNL_ARG_BIAS, bias_desc(s)});
  return std::make_unique<Prepared>(description, arguments);
}

std::unique_ptr<Prepared> make_backward_data(const Sizes& s, const memory::desc& layout) {
  const Geometry g(s.window);
  const dnnl::convolution_backward_data::primitive_desc description(
      {dnnl::algorithm::convolution_direct, source_desc(s), layout, result_desc(s), g.strides, g.padding,
       g.end_padding},
      with_our_scratchpad(), onednn_engine(), forward_desc(s, any_layout(s), {}));
  return std::make_unique<Prepared>(description, Arguments{{DNNL_ARG_DIFF_SRC, source_desc(s)},
                                                           {DNNL_ARG_WEIGHTS, description.weights_desc()},
                                                           {DNNL_ARG_DIFF_DST, result_desc(s)}});
}

std::unique_ptr<Prepared> make_backward_weights(const Sizes& s, const memory::desc& layout) {
  const Geometry g(s.window);
  const dnnl::convolution_backward_weights::primitive_desc description(
      {dnnl::algorithm::convolution_direct, source_desc(s), layout, bias_desc(s), result_desc(s), g.strides, g.padding,
       g.end_padding},
      with_our_scratchpad(), onednn_engine(), forward_desc(s, any_layout(s), {.bias = true}));
  return std::make_unique<Prepared>(description, Arguments{{DNNL_ARG_SRC, source_desc(s)},
                                                           {DNNL_ARG_DIFF_WEIGHTS, description.diff_weights_desc()},
                                                           {DNNL_ARG_DIFF_DST, result_desc(s)},
                                                           {DNNL_ARG_DIFF_BIAS, bias_desc(s)}});
}

PrimitiveKey key_of(Kind kind, const Sizes& s, int64_t variant) {
  const Window& w = s.window;
  return {static_cast<int64_t>(kind),
          variant,
          thread_count(),
          s.images,
          s.height,
          s.width,
          s.channels,
          s.out_height,
          s.out_width,
          s.out_channels,
          w.height,
          w.width,
          w.stride_y,
          w.stride_x,
          w.pad_y,
          w.pad_x,
          w.extra_y,
          w.extra_x};
}

memory memory_at(const memory::desc& desc, const void* data) {
  const OneDnnScope scope;
  return {desc, onednn_engine(), const_cast<void*>(data)};
}

// Copies a weight to another layout, or back with accumulation. `key` is that of the primitive that uses the other
// layout.
void reorder_weight(PrimitiveKey key, Kind kind, const memory& from, const memory& to) {
  key[0] += static_cast<int64_t>(kind);
  Prepared& reorder = primitive(key, [&] {
    dnnl::primitive_attr attr = with_our_scratchpad();
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    if (kind == Kind::kUnpack) attr.set_post_ops(sum);
    const dnnl::reorder::primitive_desc description(onednn_engine(), from.get_desc(), onednn_engine(), to.get_desc(),
                                                    attr);
    return std::make_unique<Prepared>(description,
                                      Arguments{{DNNL_ARG_FROM, from.get_desc()}, {DNNL_ARG_TO, to.get_desc()}});
  });
  reorder.bind(0, from);
  reorder.bind(1, to);
  reorder.run();
}

struct PackedFilters : PackedCopy {
  memory packed;
};

int64_t hash_of(const memory::desc& layout) {
  uint64_t h = 0;
  const auto mix = [&](int64_t part) {
    h = (h ^ static_cast<uint64_t>(part)) * 0x9E3779B97F4A7C15u;
    h ^= h >> 29;
  };
  const auto& blocking = layout.data.format_desc.blocking;
  for (int axis = 0; axis < layout.data.ndims; ++axis) mix(blocking.strides[axis]);
  for (int block = 0; block < blocking.inner_nblks; ++block) {
    mix(blocking.inner_blks[block]);
    mix(blocking.inner_idxs[block]);
  }
  return static_cast<int64_t>(h);
}

// The weight in `layout`: a copy that its buffer caches, or one in the workspace if it cannot be cached.
memory packed_weight(const Tensor& weight, const Sizes& s, const PrimitiveKey& key, const memory::desc& layout) {
  const memory plain = memory_at(weight_desc(s), weight.data<float>());
  const Matrix matrix{.tensor = weight, .row_stride = hash_of(layout), .weight = true};  // a key, not a stride
  if (!PackedWeights::can_cache(matrix)) {
    const memory packed = memory_at(layout, workspace<std::byte, struct PackedKernel>(layout.get_size()));
    reorder_weight(key, Kind::kPack, plain, packed);
    return packed;
  }
  const auto make = [&] {
    const OneDnnScope scope;
    auto copy = std::make_unique<PackedFilters>();
    copy->packed = memory(layout, onednn_engine());
    return copy;
  };
  const auto fill = [&](PackedFilters& stale) { reorder_weight(key, Kind::kPack, plain, stale.packed); };
  const PackedWeightKey place(PackedWeightKey::Layout::kConv2d, matrix, s.out_channels, weight.size());
  return PackedWeights::get<PackedFilters>(matrix, place, make, fill).packed;
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

void copy_f32(const Tensor& from, float* to) {
  if (from.dtype() == DType::kBF16) {
    return convert(from.data<bf16>(), to, {1, from.size(), from.size(), from.size()});
  }
  parallel_for(from.size(), 1 << 14, [&](int64_t begin, int64_t end) {
    std::copy(from.data<float>() + begin, from.data<float>() + end, to + begin);
  });
}

// ---- gradients ---------------------------------------------------------------------------------

// A batch split into pieces of `images`; the last may have fewer.
struct Pieces {
  int64_t total, images, count;

  explicit Pieces(int64_t all)
      : total(all), images((all + kPieces - 1) / kPieces), count((all + images - 1) / images) {}
  int64_t first(int64_t piece) const { return piece * images; }
  int64_t size(int64_t piece) const { return std::min(images, total - first(piece)); }
};

// One of the two gradients, piece by piece. The layout of the weight is the one that the full pieces prefer.
class Gradient {
 public:
  using Make = std::unique_ptr<Prepared> (*)(const Sizes&, const memory::desc& layout);
  Gradient(Kind kind, Make make, const Sizes& s) : pieces(s.images), kind_(kind), make_(make), s_(s) {
    const OneThread alone;
    const Sizes full = s.of(pieces.images);
    key = key_of(kind, full, pieces.images);
    layout = primitive(key, [&] { return make(full, any_layout(s)); }).desc(kWeight);
  }
  // Calls body(piece, primitive) for each piece, each on one thread.
  template <class Body> void for_each(Body&& body) const {
    parallel_for(pieces.count, 1, [&](int64_t begin, int64_t end) {
      const OneThread alone;
      for (int64_t piece = begin; piece < end; ++piece) {
        const Sizes some = s_.of(pieces.size(piece));
        body(piece, primitive(key_of(kind_, some, pieces.images), [&] { return make_(some, layout); }));
      }
    });
  }

  Pieces pieces;
  PrimitiveKey key;
  memory::desc layout;

 private:
  Kind kind_;
  Make make_;
  const Sizes& s_;
};

void grad_of_images(const Conv2dGradArgs& args, const Sizes& s, const float* dy) {
  const Gradient gradient(Kind::kBackwardData, make_backward_data, s);
  const memory weight = packed_weight(args.weight, s, gradient.key, gradient.layout);
  gradient.for_each([&](int64_t piece, Prepared& prepared) {
    const int64_t image = gradient.pieces.first(piece), count = gradient.pieces.size(piece) * s.image();
    float* dx = workspace<float, struct PieceOfImages>(static_cast<size_t>(count));
    prepared.bind(kImages, dx);
    prepared.bind(kWeight, weight);
    prepared.bind(kResult, dy + image * s.out_image());
    prepared.run();
    args.dx.dtype() == DType::kBF16 ? add(dx, args.dx.data<bf16>() + image * s.image(), count)
                                    : add(dx, args.dx.data<float>() + image * s.image(), count);
  });
}

void grad_of_weight(const Conv2dGradArgs& args, const Sizes& s, const float* dy) {
  const Gradient gradient(Kind::kBackwardWeights, make_backward_weights, s);
  const auto size = static_cast<int64_t>(gradient.layout.get_size() / sizeof(float)), count = gradient.pieces.count;
  float* dweights = workspace<float, struct PieceWeights>(static_cast<size_t>(count * size));
  float* dbiases = workspace<float, struct PieceBiases>(static_cast<size_t>(count * s.out_channels));
  const float* x = read_f32<struct WideImages>(args.x);
  gradient.for_each([&](int64_t piece, Prepared& prepared) {
    const int64_t image = gradient.pieces.first(piece);
    prepared.bind(kImages, x + image * s.image());
    prepared.bind(kWeight, dweights + piece * size);
    prepared.bind(kResult, dy + image * s.out_image());
    prepared.bind(kBias, dbiases + piece * s.out_channels);
    prepared.run();
  });
  for (int64_t piece = 1; piece < count && args.dweight; ++piece) add(dweights + piece * size, dweights, size);
  if (args.dweight) {
    reorder_weight(gradient.key, Kind::kUnpack, memory_at(gradient.layout, dweights),
                   memory_at(weight_desc(s), args.dweight.data<float>()));
  }
  for (int64_t piece = 0; piece < count && args.dbias; ++piece) {
    add(dbiases + piece * s.out_channels, args.dbias.data<float>(), s.out_channels);
  }
}

}  // namespace

void conv2d(Stream&, const Conv2dArgs& args) {
  const Tensor &x = args.x, &y = args.y;
  if (x.size() == 0 || y.size() == 0) return;
  if (suits_winograd(args)) return conv2d_winograd(args);
  const Sizes s(x, y, args.window);
  publish_thread_count();  // oneDNN plans with it
  const Finish finish{static_cast<bool>(args.bias), static_cast<bool>(args.residual), args.relu};
  const PrimitiveKey key = key_of(Kind::kForward, s, finish.code());
  const auto make = [&] { return make_forward(s, finish); };
  const memory weight = packed_weight(args.weight, s, key, primitive(key, make).desc(kWeight));
  Prepared& prepared = primitive(key, make);  // looked up again, because packing may have evicted it
  float* result = in_f32<struct WideResults>(y);
  if (finish.residual) copy_f32(args.residual, result);
  prepared.bind(kImages, read_f32<struct WideImages>(x));
  prepared.bind(kWeight, weight);
  prepared.bind(kResult, result);
  if (finish.bias) prepared.bind(kBias, args.bias.data<float>());
  prepared.run();
  if (y.dtype() == DType::kBF16)
    convert(result, y.data<bf16>(), {s.images, s.out_image(), s.out_image(), s.out_image()});
}

void conv2d_grad(Stream&, const Conv2dGradArgs& args) {
  if (args.dy.size() == 0 || args.x.size() == 0) return;
  const Sizes s(args.x, args.dy, args.window);
  const float* dy = read_f32<struct WideResultGradient>(args.dy);
  if (args.dx) grad_of_images(args, s, dy);
  if (args.dweight || args.dbias) grad_of_weight(args, s, dy);
}

}  // namespace fovea::cpu
