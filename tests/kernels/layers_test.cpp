// Permutation, gather and scatter-add, pooling over time, batch norm and depthwise convolution on larger sizes than
// those of the cases, on the CPU and on the card: against the reference in f64, and with the same bits again, on the
// CPU for every number of threads.
#include "base/threads.h"
#include "kernels/card.h"

namespace fovea::testing {
namespace {

struct Layer {
  std::string name;
  double f32, bf16;  // tolerances in multiples of epsilon
  Problem problem;
};

void add_permutations(std::vector<Layer>& list) {
  struct Order {
    Shape x;
    std::array<int, Shape::kMaxRank> axes;
  };
  for (const Order& order : {Order{{2, 3, 4500}, {1, 0, 2}}, Order{{17, 40, 70}, {2, 0, 1}}, Order{{70, 530}, {1, 0}},
                             Order{{3, 65, 8, 31}, {0, 3, 2, 1}}}) {
    list.push_back({"permute", 2, 2, [order](Maker& make) -> std::vector<Tensor> {
                      std::vector<int64_t> sizes;
                      for (int i = 0; i < order.x.rank(); ++i)
                        sizes.push_back(order.x[order.axes[static_cast<size_t>(i)]]);
                      const Shape shape{std::span<const int64_t>(sizes)};
                      const Tensor x = make.elements(order.x), y = make.output(shape), sum = make.elements(shape);
                      make.table().permute(make.queue(), {.x = x, .y = y, .axes = order.axes});
                      make.table().permute(make.queue(), {.x = x, .y = sum, .axes = order.axes, .accumulate = true});
                      return {y, sum};
                    }});
  }
}

void add_gathers(std::vector<Layer>& list) {
  for (const GatherShape& s :
       {GatherShape{17, 2000, 200, 1, 1, 1}, GatherShape{12, 50, 100, 1, 4, 1}, GatherShape{3, 40, 300, 70, 1, 1},
        GatherShape{2, 9, 90, 40, 2, 40}, GatherShape{1, 20, 77, 24, 1, 6}, GatherShape{1, 3, 70, 600, 1, 1}}) {
    list.push_back(
        {"gather", 64, 4, [s](Maker& make) -> std::vector<Tensor> {
           std::vector<int32_t> at(static_cast<size_t>(s.index_outer * s.picks * s.index_inner));
           for (int32_t& value : at) {
             const double u = make.random().uniform(0, 1);  // small indices more often than large ones
             value = static_cast<int32_t>(u * u * static_cast<double>(s.count));
           }
           const Tensor index = make.ints(at);
           const Tensor whole = make.elements({s.outer, s.count, s.inner});
           const Tensor picked = make.elements({s.outer, s.picks, s.inner}), y = make.output(picked.shape());
           make.table().gather(make.queue(), {.whole = whole, .index = index, .picked = y, .shape = s});
           make.table().scatter_add(make.queue(), {.picked = picked, .index = index, .whole = whole, .shape = s});
           make.table().gather(make.queue(),
                               {.whole = whole, .index = index, .picked = picked, .shape = s, .accumulate = true});
           return {y, whole, picked};
         }});
  }
}

// A thousand ones on one element: in bf16, a sum that is rounded at each step ends at 256.
void add_long_scatters(std::vector<Layer>& list) {
  for (const int64_t inner : {1, 40}) {
    list.push_back({"scatter_add", 1, 1, [inner](Maker& make) -> std::vector<Tensor> {
                      const GatherShape s{.count = 2, .picks = 1000, .inner = inner};
                      const std::vector<double> ones(static_cast<size_t>(s.picks * inner), 1.0);
                      const Shape shape = {s.picks, inner};
                      const DType elements = make.output({1}).dtype();
                      const Tensor picked = make.given(ones, shape, elements);
                      const Tensor index = make.ints(std::vector<int32_t>(1000, 1));
                      const Tensor whole = zeros({s.count, inner}, elements, make.device());
                      make.table().scatter_add(make.queue(),
                                               {.picked = picked, .index = index, .whole = whole, .shape = s});
                      return {whole};
                    }});
  }
}

void add_pooling(std::vector<Layer>& list) {
  for (const PoolOp op : {PoolOp::kAverage, PoolOp::kMaximum}) {
    for (const Shape& shape : {Shape{70, 9, 130}, Shape{300, 1, 40}, Shape{3, 50, 700}}) {
      list.push_back(
          {"pool_time", 32, 3, [=](Maker& make) -> std::vector<Tensor> {
             std::vector<int32_t> some(static_cast<size_t>(shape[1]));
             for (size_t b = 0; b < some.size(); ++b)
               some[b] = static_cast<int32_t>(make.random().uniform(0, static_cast<double>(shape[0]) + 1));
             some.back() = 0;
             const Tensor lengths = make.ints(some);
             const Shape result = {shape[1], shape[2]};
             const Tensor x = make.elements(shape), y = make.output(result);
             const Tensor dy = make.elements(result), dx = make.elements(shape);
             const Tensor index = op == PoolOp::kMaximum ? zeros(result, DType::kI32, make.device()) : Tensor();
             make.table().pool_time(make.queue(), {.op = op, .x = x, .lengths = lengths, .y = y, .index = index});
             make.table().pool_time_grad(make.queue(),
                                         {.op = op, .dy = dy, .lengths = lengths, .index = index, .dx = dx});
             return {y, index, dx};
           }});
    }
  }
}

void add_batch_norm(std::vector<Layer>& list) {
  for (const Shape& shape : {Shape{1201, 33}, Shape{40, 5}, Shape{2, 5000}, Shape{500, 1}}) {
    for (const bool training : {true, false}) {
      list.push_back({"batch_norm", 1024, 8, [=](Maker& make) -> std::vector<Tensor> {
                        const Shape channels = {shape[1]};
                        const Tensor x = make.elements(shape), gamma = make.parameter(channels);
                        const Tensor beta = make.parameter(channels), running_mean = make.parameter(channels);
                        const Tensor running_variance =
                            make.given(std::vector<double>(static_cast<size_t>(shape[1]), 0.75), channels, DType::kF32);
                        const Tensor y = make.output(shape), mean = make.output(channels, DType::kF32);
                        const Tensor rstd = make.output(channels, DType::kF32), dy = make.elements(shape);
                        const Tensor dx = make.elements(shape), overwritten = make.output(shape);
                        const Tensor dgamma = make.parameter(channels), dbeta = make.parameter(channels);
                        make.table().batch_norm(make.queue(), {.x = x,
                                                               .gamma = gamma,
                                                               .beta = beta,
                                                               .running_mean = running_mean,
                                                               .running_variance = running_variance,
                                                               .y = y,
                                                               .mean = mean,
                                                               .rstd = rstd,
                                                               .training = training});
                        BatchNormGradArgs back{.x = x,
                                               .gamma = gamma,
                                               .mean = mean,
                                               .rstd = rstd,
                                               .dy = dy,
                                               .dx = dx,
                                               .dgamma = dgamma,
                                               .dbeta = dbeta,
                                               .training = training};
                        make.table().batch_norm_grad(make.queue(), back);
                        back.dx = overwritten;
                        back.dgamma = back.dbeta = {};
                        back.accumulate = false;
                        make.table().batch_norm_grad(make.queue(), back);
                        // Of two rows, dx nearly cancels.
                        if (training && shape[0] == 2) return {y, running_mean, running_variance, dgamma, dbeta};
                        return {y, running_mean, running_variance, dx, overwritten, dgamma, dbeta};
                      }});
    }
  }
}

void add_depthwise(std::vector<Layer>& list) {
  struct Size {
    Shape x;
    Window window;
  };
  for (const Size& size :
       {Size{{5, 20, 17, 40}, {.height = 3, .width = 3, .pad_y = 1, .pad_x = 1}},
        Size{{2, 31, 30, 19}, {.height = 5, .width = 7, .stride_y = 2, .stride_x = 3, .pad_y = 4, .pad_x = 2}},
        Size{{1, 90, 6, 33}, {.height = 7, .pad_y = 6}},
        Size{{70, 2, 3, 8}, {.height = 2, .width = 2, .stride_y = 2, .stride_x = 2}}}) {
    list.push_back(
        {"depthwise_conv2d", 512, 4, [size](Maker& make) -> std::vector<Tensor> {
           const Window& w = size.window;
           const Shape result = {size.x[0], (size.x[1] + 2 * w.pad_y - w.height) / w.stride_y + 1,
                                 (size.x[2] + 2 * w.pad_x - w.width) / w.stride_x + 1, size.x[3]};
           const Shape filter = {w.height, w.width, size.x[3]};
           const Tensor x = make.elements(size.x), weight = make.parameter(filter);
           const Tensor bias = make.parameter({size.x[3]}), y = make.output(result), dy = make.elements(result);
           const Tensor dx = make.elements(size.x), dweight = make.parameter(filter);
           const Tensor dbias = make.parameter({size.x[3]});
           make.table().depthwise_conv2d(make.queue(), {.x = x, .weight = weight, .bias = bias, .y = y, .window = w});
           make.table().depthwise_conv2d_grad(
               make.queue(),
               {.x = x, .weight = weight, .dy = dy, .dx = dx, .dweight = dweight, .dbias = dbias, .window = w});
           return {y, dx, dweight, dbias};
         }});
  }
}

std::vector<Layer> layers() {
  std::vector<Layer> list;
  add_permutations(list);
  add_gathers(list);
  add_long_scatters(list);
  add_pooling(list);
  add_batch_norm(list);
  add_depthwise(list);
  for (size_t i = 0; i < list.size(); ++i) list[i].name += fmt::format(" (layer {})", i);
  return list;
}

void expect_right(const Layer& layer, Device device) {
  expect_right(layer.name, DType::kF32, layer.f32 * kF32, layer.problem, device);
  expect_right(layer.name, DType::kBF16, layer.bf16 * kBf16, layer.problem, device);
}

TEST_F(Cuda, Layers) {
  for (const Layer& layer : layers()) expect_right(layer, Device::cuda());
}

TEST(Layers, AgreeWithTheReferenceOnTheCpu) {
  if (!available(Device::cpu())) GTEST_SKIP() << "a build without the CPU backend";
  for (const Layer& layer : layers()) expect_right(layer, Device::cpu());
}

TEST(Layers, HaveTheSameBitsForEveryNumberOfThreads) {
  if (!available(Device::cpu())) GTEST_SKIP() << "a build without the CPU backend";
  const auto run = [](const Layer& layer, DType elements, int threads) {
    const ThreadCountScope scope(threads);
    Maker make(Device::cpu(), elements);
    return layer.problem(make);
  };
  for (const Layer& layer : layers()) {
    for (const DType elements : {DType::kF32, DType::kBF16}) {
      const std::vector<Tensor> expected = run(layer, elements, 1);
      for (const int threads : {2, 3}) {
        const std::vector<Tensor> got = run(layer, elements, threads);
        for (size_t i = 0; i < got.size(); ++i) {
          if (!got[i]) continue;
          EXPECT_EQ(std::memcmp(got[i].raw(), expected[i].raw(), got[i].bytes()), 0)
              << layer.name << ": output " << i << " on " << threads << " threads";
        }
      }
    }
  }
}

}  // namespace
}  // namespace fovea::testing
