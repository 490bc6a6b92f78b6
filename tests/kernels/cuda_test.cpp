// CUDA memory, reductions, rows, recurrent layers, images and optimisers against the reference in f64, with sizes that
// are hard to split and the same bits in every run. parity_test.cpp has the small cases.
#include "kernels/card.h"

namespace fovea::testing {
namespace {

// ---- memory ------------------------------------------------------------------------------------

TEST(CudaBuild, SaysWhenThereIsNone) {
  if (available(Device::cuda())) GTEST_SKIP() << "there is one";
  EXPECT_THROW(empty({2}, DType::kF32, Device::cuda()), Error);
}

TEST_F(Cuda, CopiesOfEverySizeArrive) {
  for (const int64_t size : {0, 1, 63, 1000, 3 << 20}) {
    std::vector<int32_t> x(static_cast<size_t>(size));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<int32_t>(i * 7);
    const Tensor first = from_host(x, {size}, Device::cuda()), second = zeros({size}, DType::kI32, Device::cuda());
    copy(first, second);
    EXPECT_EQ(to_host<int32_t>(second), x);
  }
  // The source of a copy may be changed immediately.
  std::vector<int32_t> x(1000);
  std::vector<Tensor> kept;
  for (int32_t round = 0; round < 50; ++round) {
    std::fill(x.begin(), x.end(), round);
    kept.push_back(from_host(x, {1000}, Device::cuda()));
  }
  for (int32_t round = 0; round < 50; ++round) {
    EXPECT_EQ(to_host<int32_t>(kept[static_cast<size_t>(round)]), std::vector<int32_t>(1000, round));
  }
}

// ---- elementwise and reductions ----------------------------------------------------------------

TEST_F(Cuda, LongReductions) {
  struct Extent {
    int64_t outer, count, inner;
  };
  for (const auto& [outer, count, inner] :
       {Extent{1, 70001, 1}, Extent{3, 20000, 1}, Extent{3, 1500, 1}, Extent{301, 33, 1}, Extent{1, 3001, 70},
        Extent{5, 300, 40}, Extent{2, 0, 3}, Extent{4, 0, 1}, Extent{1, 129, 1}}) {
    for (const ReduceOp op : {ReduceOp::kSum, ReduceOp::kMean, ReduceOp::kMaximum}) {
      const bool largest = op == ReduceOp::kMaximum;
      expect_right(fmt::format("reduce {} {} {} op {}", outer, count, inner, static_cast<int>(op)), 256, 2,
                   [&, outer = outer, count = count, inner = inner](Maker& make) -> std::vector<Tensor> {
                     const Shape small{outer, inner};
                     const Tensor x = make.elements({outer, count, inner}), y = make.elements(small);
                     const Tensor index = largest ? make.output(small, DType::kI32) : Tensor();
                     const Tensor i = index ? from_host(std::vector<int32_t>(static_cast<size_t>(outer * inner)), small,
                                                        make.device())
                                            : Tensor();
                     make.table().reduce(make.queue(), {.op = op,
                                                        .x = x,
                                                        .y = y,
                                                        .index = i,
                                                        .outer = outer,
                                                        .count = count,
                                                        .inner = inner,
                                                        .accumulate = !largest});
                     return {y, i};
                   });
    }
  }
}

TEST_F(Cuda, BroadcastGradients) {
  struct Extent {
    int64_t outer, middle, inner;
  };
  for (const auto& [outer, middle, inner] :
       {Extent{2000, 40, 1}, Extent{1, 1, 40000}, Extent{40, 1, 1000}, Extent{1, 300, 50}, Extent{7, 30, 90},
        Extent{1, 5000, 1}, Extent{1, 2'200'000, 1}, Extent{2, 2'200'000, 1}}) {
    expect_right(fmt::format("multiply {} {} {}", outer, middle, inner), 256, 2,
                 [outer = outer, middle = middle, inner = inner](Maker& make) -> std::vector<Tensor> {
                   const Shape whole{outer, middle, inner};
                   const Tensor a = make.elements(whole), b = make.elements({middle}), dy = make.elements(whole);
                   const Tensor y = make.output(whole), da = make.elements(whole), db = make.elements({middle});
                   make.table().binary(
                       make.queue(),
                       {.op = BinaryOp::kMultiply, .a = a, .b = b, .y = y, .outer = outer, .inner = inner});
                   make.table().binary_grad(make.queue(), {.op = BinaryOp::kMultiply,
                                                           .a = a,
                                                           .b = b,
                                                           .dy = dy,
                                                           .da = da,
                                                           .db = db,
                                                           .outer = outer,
                                                           .inner = inner});
                   return {y, da, db};
                 });
  }
}

TEST_F(Cuda, ConcatOfManyPieces) {
  for (const int64_t outer : {1, 6}) {
    expect_right(fmt::format("pieces of {}", outer), 1, 1, [&](Maker& make) -> std::vector<Tensor> {
      std::vector<Piece> pieces, parts;
      int64_t total = 0;
      for (int64_t i = 0; i < 150; ++i) {
        const int64_t width = i % 7;
        pieces.push_back({i % 11 == 5 ? Tensor() : make.elements({outer, width}), width});
        parts.push_back({i % 13 == 5 ? Tensor() : make.elements({outer, width}), width});
        total += width;
      }
      const Tensor joined = make.elements({outer, total});
      make.table().concat(make.queue(), {.pieces = pieces, .joined = joined, .outer = outer});
      make.table().concat(make.queue(), {.pieces = pieces, .joined = joined, .outer = outer, .accumulate = true});
      make.table().split(make.queue(), {.joined = joined, .pieces = parts, .outer = outer, .accumulate = true});
      std::vector<Tensor> results = {joined};
      for (const Piece& part : parts) results.push_back(part.tensor);
      return results;
    });
  }
}

TEST_F(Cuda, EmbeddingOfSeveralTables) {
  for (const int64_t width : {7, 40}) {
    expect_right(fmt::format("rows of {}", width), 2, 1, [&](Maker& make) -> std::vector<Tensor> {
      const Tensor tables = make.elements({3 * 5, width}), y = make.output({3, 6, width});
      const Tensor ids = make.ints({4, 0, 2, 2, 1, 4});
      make.table().embedding(make.queue(), {.table = tables, .ids = ids, .y = y, .tables = 3});
      return {y};
    });
  }
}

TEST_F(Cuda, RepeatedIds) {
  for (const int64_t rows : {3, 50, 4000}) {
    expect_right(fmt::format("embedding of {} rows", rows), 64, 2, [&](Maker& make) -> std::vector<Tensor> {
      std::vector<int32_t> ids(700);
      for (int32_t& id : ids) id = static_cast<int32_t>(make.random().below(static_cast<uint64_t>(rows)));
      ids[10] = ids[400] = ids[699] = ids[0];
      const Tensor dy = make.elements({700, 150}), dtable = make.elements({rows, 150});
      make.table().embedding_grad(make.queue(), {.ids = make.ints(ids), .dy = dy, .dtable = dtable, .scale = 0.5f});
      return {dtable};
    });
  }
}

TEST_F(Cuda, DropoutMatchesTheCounter) {
  for (const int64_t period : {3001, 1000, 7}) {
    expect_right(fmt::format("period {}", period), 4, 1, [&](Maker& make) -> std::vector<Tensor> {
      const Tensor x = make.elements({3001}), y = make.output({3001}), z = make.elements({3001});
      DropoutArgs args{.x = x, .y = y, .rate = 0.3f, .random = make.random_stream(), .period = period};
      make.table().dropout(make.queue(), args);
      args.y = z;
      args.accumulate = true;
      make.table().dropout(make.queue(), args);
      return {y, z};
    });
  }
}

// ---- rows --------------------------------------------------------------------------------------

TEST_F(Cuda, WideRows) {
  for (const auto& [rows, width] : {std::pair<int64_t, int64_t>{300, 60}, {5, 1500}, {2, 1024}}) {
    expect_right(fmt::format("layer norm {} {}", rows, width), 256, 4,
                 [rows = rows, width = width](Maker& make) -> std::vector<Tensor> {
                   const Tensor x = make.elements({rows, width}), dy = make.elements({rows, width});
                   const Tensor gamma = make.parameter({width}), beta = make.parameter({width});
                   const Tensor y = make.output({rows, width}), mean = make.output({rows}, DType::kF32);
                   const Tensor rstd = make.output({rows}, DType::kF32), dx = make.elements({rows, width});
                   const Tensor dgamma = make.parameter({width}), dbeta = make.parameter({width});
                   make.table().layer_norm(make.queue(),
                                           {.x = x, .gamma = gamma, .beta = beta, .y = y, .mean = mean, .rstd = rstd});
                   make.table().layer_norm_grad(make.queue(), {.x = x,
                                                               .gamma = gamma,
                                                               .mean = mean,
                                                               .rstd = rstd,
                                                               .dy = dy,
                                                               .dx = dx,
                                                               .dgamma = dgamma,
                                                               .dbeta = dbeta});
                   const Tensor unit = make.output({rows, width}), scale = make.output({rows}, DType::kF32);
                   const Tensor dunit = make.elements({rows, width});
                   make.table().normalize(make.queue(), {.x = x, .y = unit, .scale = scale});
                   make.table().normalize_grad(make.queue(), {.y = unit, .scale = scale, .dy = dy, .dx = dunit});
                   return {y, mean, rstd, dx, dgamma, dbeta, unit, scale, dunit};
                 });
  }
}

TEST_F(Cuda, LongDistributions) {
  for (const int64_t keys : {33, 3000}) {
    const ScoreShape shape{.batch = 2, .heads = 1, .queries = 3, .keys = keys};
    expect_right(fmt::format("distributions over {}", keys), 256, 6, [&](Maker& make) -> std::vector<Tensor> {
      const Shape scores{2, 1, 3, keys};
      const Mask mask{.lengths = make.ints({static_cast<int32_t>(keys - 7), 5})};
      const Tensor x = make.elements(scores, 2.0), dy = make.elements(scores);
      std::vector<Tensor> results;
      for (const bool log : {false, true}) {
        const Tensor y = make.output(scores), dx = make.elements(scores);
        make.table().softmax(make.queue(), {.x = x, .y = y, .shape = shape, .mask = mask, .log = log});
        make.table().softmax_grad(make.queue(), {.y = y, .dy = dy, .dx = dx, .shape = shape, .log = log});
        results.insert(results.end(), {y, dx});
      }
      const Tensor y = make.output(scores);
      make.table().sparsemax(make.queue(), {.x = x, .y = y, .shape = shape, .mask = mask});
      results.push_back(y);
      const Tensor loss = make.output({6}, DType::kF32), lse = make.output({6}, DType::kF32);
      const Tensor targets = make.ints({0, 5, -1, 32, 7, 1}), dloss = make.parameter({6}),
                   dx = make.elements({6, keys});
      const Tensor logits = x.reshape({6, keys});
      make.table().cross_entropy(make.queue(),
                                 {.logits = logits, .targets = targets, .loss = loss, .lse = lse, .smoothing = 0.1f});
      make.table().cross_entropy_grad(
          make.queue(),
          {.logits = logits, .targets = targets, .lse = lse, .dloss = dloss, .dlogits = dx, .smoothing = 0.1f});
      make.table().cross_entropy_grad(
          make.queue(),
          {.logits = logits, .targets = targets, .lse = lse, .dloss = dloss, .dlogits = logits, .smoothing = 0.1f});
      results.insert(results.end(), {loss, lse, dx, logits});
      return results;
    });
  }
}

TEST_F(Cuda, SamplesLikeTheReference) {
  for (const int64_t width : {5, 2500}) {
    expect_right(fmt::format("choices among {}", width), 0, 0, [&](Maker& make) -> std::vector<Tensor> {
      std::vector<double> x(static_cast<size_t>(6 * width));
      for (double& value : x) value = static_cast<double>(make.random().below(40)) / 8;  // many are equal
      std::fill(x.begin(), x.begin() + width, 0.0);
      const Tensor weights =
          make.given(x, {6, width}, make.elements({1}).dtype() == DType::kBF16 ? DType::kBF16 : DType::kF32);
      const Tensor lot = make.output({6, width}), top = make.output({6, width}), values = make.output({6, 8});
      const Tensor index = from_host(std::vector<int32_t>(48), {6, 8}, make.device());
      make.table().sample(make.queue(), {.weights = weights, .one_hot = lot, .random = make.random_stream()});
      make.table().sample(make.queue(), {.weights = weights, .one_hot = top});
      make.table().top_k(make.queue(), {.x = weights, .values = values, .index = index, .k = 8});
      return {lot, top, values, index};
    });
  }
}

// ---- recurrence --------------------------------------------------------------------------------

TEST_F(Cuda, RecurrentLayers) {
  struct Layer {
    int64_t T, B, H;
  };
  for (const auto& [T, B, H] :
       {Layer{3, 1, 1}, Layer{1, 5, 7}, Layer{0, 3, 4}, Layer{4, 0, 5}, Layer{4, 13, 31}, Layer{2, 64, 96}}) {
    for (int form = 0; form < 24; ++form) {
      const Cell cell = static_cast<Cell>(form % 3);
      const bool lstm = cell == Cell::kLstm, reverse = (form / 3 & 1) != 0, whole = (form / 6 & 1) != 0;
      const Precision precision = form / 12 & 1 ? Precision::kBF16 : Precision::kF32;
      const int64_t G = gates_of(cell), S = saved_of(cell);
      const Problem problem = [&, T = T, B = B, H = H](Maker& make) -> std::vector<Tensor> {
        std::vector<int32_t> ends(static_cast<size_t>(B));
        for (size_t b = 0; b < ends.size(); ++b)
          ends[b] = static_cast<int32_t>(static_cast<int64_t>(b * 5 + 2) % (T + 1));
        const RecurrentArgs x{.cell = cell,
                              .x_gates = make.elements({T, B, G * H}),
                              .weight = make.parameter({G * H, H}, 1 / std::sqrt(static_cast<double>(H))),
                              .bias = whole ? make.parameter({G * H}, 0.3) : Tensor(),
                              .initial_state = whole ? make.elements({B, H}, 0.5) : Tensor(),
                              .initial_cell_state = whole && lstm ? make.elements({B, H}, 0.5) : Tensor(),
                              .lengths = whole ? make.ints(ends) : Tensor(),
                              .states = make.output({T + 1, B, H}),
                              .cell_states = lstm ? make.output({T + 1, B, H}) : Tensor(),
                              .saved = S > 0 ? make.output({T, B, S * H}) : Tensor(),
                              .reverse = reverse,
                              .precision = precision};
        make.table().recurrent(make.queue(), x);
        const Tensor dh_gates = make.output({T, B, G * H});
        const RecurrentGradArgs d{.cell = cell,
                                  .weight = x.weight,
                                  .lengths = x.lengths,
                                  .states = x.states,
                                  .cell_states = x.cell_states,
                                  .saved = x.saved,
                                  .dstates = make.elements({T, B, H}),
                                  .dfinal_cell_state = whole && lstm ? make.elements({B, H}) : Tensor(),
                                  .dx_gates = whole && cell != Cell::kGru ? dh_gates : make.elements({T, B, G * H}),
                                  .dh_gates = dh_gates,
                                  .dinitial_state = whole ? make.elements({B, H}) : Tensor(),
                                  .dinitial_cell_state = whole && lstm ? make.elements({B, H}) : Tensor(),
                                  .reverse = reverse,
                                  .precision = precision};
        make.table().recurrent_grad(make.queue(), d);
        return {x.states, x.cell_states, d.dx_gates, d.dh_gates, d.dinitial_state, d.dinitial_cell_state};
      };
      const std::string name = fmt::format("T{} B{} H{} form {}", T, B, H, form);
      expect_right(name, DType::kF32, precision == Precision::kF32 ? 128 * kF32 : 3 * kBf16, problem);
      expect_right(name, DType::kBF16, 6 * kBf16, problem);
    }
  }
}

// ---- images and optimisers ---------------------------------------------------------------------

TEST_F(Cuda, Convolutions) {
  struct Size {
    Shape x;
    int64_t out;
    Window window;
  };
  const Size sizes[] = {
      {{5, 12, 9, 16}, 32, {.height = 3, .width = 3, .pad_y = 1, .pad_x = 1}},
      {{3, 10, 10, 8}, 48, {}},
      {{2, 14, 14, 20}, 33, {.height = 5, .width = 5, .stride_y = 3, .stride_x = 2, .pad_y = 2, .pad_x = 1}}};
  for (const auto& [shape, out, w] : sizes) {
    expect_right(fmt::format("image {}", shape), 256, 4,
                 [shape = shape, out = out, w = w](Maker& make) -> std::vector<Tensor> {
                   const Shape result{shape[0], (shape[1] + 2 * w.pad_y - w.height) / w.stride_y + 1,
                                      (shape[2] + 2 * w.pad_x - w.width) / w.stride_x + 1, out};
                   const Shape kernel{out, w.height, w.width, shape[3]};
                   const Tensor x = make.elements(shape), weight = make.parameter(kernel), bias = make.parameter({out});
                   const Tensor y = make.output(result), dy = make.elements(result), dx = make.elements(shape);
                   const Tensor dweight = make.parameter(kernel), dbias = make.parameter({out});
                   make.table().conv2d(make.queue(), {.x = x, .weight = weight, .bias = bias, .y = y, .window = w});
                   make.table().conv2d_grad(
                       make.queue(),
                       {.x = x, .weight = weight, .dy = dy, .dx = dx, .dweight = dweight, .dbias = dbias, .window = w});
                   return {y, dx, dweight, dbias};
                 });
  }
}

TEST_F(Cuda, Optimisers) {
  for (const float max_norm : {0.0f, 0.5f}) {
    for (const bool flag : {false, true}) {
      expect_right(fmt::format("steps with norm {} flag {}", max_norm, flag), DType::kF32, 64 * kF32,
                   [&](Maker& make) -> std::vector<Tensor> {
                     const Shape shape{50001};
                     const Tensor p = make.parameter(shape), q = make.parameter(shape), m = make.parameter(shape, 0.1);
                     const Tensor v = make.given(std::vector<double>(50001, 0.25), shape, DType::kF32);
                     const Tensor velocity = flag ? make.parameter(shape) : Tensor();
                     const Tensor rate = make.given({0.1, 0.3, 0.2}, {3}, DType::kF32);
                     const Tensor norm = make.given({0.5}, {1}, DType::kF32);
                     const Tensor g = make.parameter(shape), h = make.parameter(shape);
                     make.table().squared_norm(make.queue(), {.x = g, .out = norm});
                     make.table().sgd(make.queue(), {.param = p,
                                                     .grad = g,
                                                     .velocity = velocity,
                                                     .rate = rate,
                                                     .squared_norm = norm,
                                                     .max_norm = max_norm,
                                                     .momentum = 0.9f,
                                                     .weight_decay = 0.01f});
                     make.table().adam(make.queue(), {.param = q,
                                                      .grad = h,
                                                      .m = m,
                                                      .v = v,
                                                      .rate = rate,
                                                      .squared_norm = norm,
                                                      .max_norm = max_norm,
                                                      .weight_decay = 0.1f,
                                                      .decoupled = flag});
                     return {norm, p, velocity, g, q, h, m, v};
                   });
    }
  }
}

}  // namespace
}  // namespace fovea::testing
