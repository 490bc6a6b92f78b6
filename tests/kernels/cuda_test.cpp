// The card's kernels against the reference in f64 on sizes that are hard to cut: long sums, more rows than a block
// has, heads wider than a tile, every mask; and the same bits on every run. parity_test.cpp has the small cases.
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
  // What was handed over may be changed at once.
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

// ---- products ----------------------------------------------------------------------------------

struct ProductCase {
  int64_t m, n, k, batch = 1;
  bool ta = false, tb = false;
  DType a = DType::kF32, b = DType::kF32, c = DType::kF32;
  bool interleaved = false;
  int64_t gap = 0;
  bool bias = false, accumulate = false, weight = false;
  float alpha = 1.0f;
  Precision precision = Precision::kF32;
};

void check_product(const ProductCase& p) {
  const auto matrix = [&](Maker& make, int64_t rows, int64_t columns, DType dtype) {
    Matrix x{.tensor = make.typed({p.batch * rows * (columns + p.gap) + p.gap}, dtype),
             .row_stride = columns + p.gap,
             .batch_stride = rows * (columns + p.gap),
             .offset = p.gap};
    if (p.interleaved) {
      x.batch_stride = x.row_stride;
      x.row_stride *= p.batch;
    }
    return x;
  };
  const bool narrow = p.a == DType::kBF16 || p.b == DType::kBF16 || p.precision != Precision::kF32;
  // Where rounding is allowed, a bias is rounded like what it is added to: two roundings, each of half a unit.
  const bool rounds_bias = p.bias && p.c == DType::kBF16 && p.precision != Precision::kF32;
  const double epsilon =
      p.c == DType::kBF16 || narrow ? (rounds_bias ? 2 : 1) * kBf16 : kF32 * (16 + static_cast<double>(p.k) / 64);
  const std::string name =
      fmt::format("m{} n{} k{} batch{} ta{} tb{} {} {} {} interleaved{} gap{} bias{} accumulate{} weight{} alpha{} {}",
                  p.m, p.n, p.k, p.batch, p.ta, p.tb, p.a, p.b, p.c, p.interleaved, p.gap, p.bias, p.accumulate,
                  p.weight, p.alpha, static_cast<int>(p.precision));
  expect_right(name, DType::kF32, epsilon, [&](Maker& make) -> std::vector<Tensor> {
    MatmulArgs args{.a = matrix(make, p.ta ? p.k : p.m, p.ta ? p.m : p.k, p.a),
                    .b = matrix(make, p.tb ? p.n : p.k, p.tb ? p.k : p.n, p.b),
                    .c = matrix(make, p.m, p.n, p.c),
                    .bias = p.bias ? make.parameter({p.n}) : Tensor(),
                    .m = p.m,
                    .n = p.n,
                    .k = p.k,
                    .batch = p.batch,
                    .alpha = p.alpha,
                    .accumulate = p.accumulate,
                    .precision = p.precision};
    args.a.transposed = p.ta;
    args.b.transposed = p.tb;
    args.b.weight = p.weight;
    make.table().matmul(make.queue(), args);
    return {args.c.tensor};
  });
}

TEST_F(Cuda, ProductsOfEveryShape) {
  constexpr int64_t kShapes[][3] = {{1, 1, 1},     {1, 33, 65},  {2, 31, 1},   {13, 7, 37},
                                    {16, 64, 64},  {33, 70, 63}, {47, 1, 129}, {64, 128, 96},
                                    {67, 257, 97}, {5, 300, 70}, {9, 40, 1100}};
  for (const auto& [m, n, k] : kShapes) {
    for (int form = 0; form < 4; ++form) {
      for (const DType type : {DType::kF32, DType::kBF16}) {
        check_product(
            {.m = m, .n = n, .k = k, .ta = (form & 1) != 0, .tb = (form & 2) != 0, .a = type, .b = type, .c = type});
      }
      check_product(
          {.m = m, .n = n, .k = k, .ta = (form & 1) != 0, .tb = (form & 2) != 0, .precision = Precision::kBF16});
    }
  }
}

TEST_F(Cuda, ProductsOfEveryMixture) {
  for (int bits = 0; bits < 128; ++bits) {
    const auto type = [&](int bit) { return bits >> bit & 1 ? DType::kBF16 : DType::kF32; };
    for (const Precision precision : {Precision::kF32, Precision::kBF16, Precision::kInt8}) {
      check_product({.m = 19,
                     .n = 45,
                     .k = 39,
                     .tb = true,
                     .a = type(0),
                     .b = type(1),
                     .c = type(2),
                     .bias = (bits >> 3 & 1) != 0,
                     .accumulate = (bits >> 4 & 1) != 0,
                     .weight = (bits >> 5 & 1) != 0,
                     .alpha = bits >> 6 & 1 ? -0.37f : 1.0f,
                     .precision = precision});
    }
  }
}

TEST_F(Cuda, ProductsOfBatchesAndStrides) {
  for (int bits = 0; bits < 64; ++bits) {
    const DType type = bits & 1 ? DType::kBF16 : DType::kF32;
    check_product({.m = 11,
                   .n = 37,
                   .k = bits & 32 ? 0 : 35,
                   .batch = 7,
                   .ta = (bits & 2) != 0,
                   .tb = (bits & 4) != 0,
                   .a = type,
                   .b = type,
                   .c = type,
                   .interleaved = (bits & 8) != 0,
                   .gap = bits & 16 ? 5 : 0,
                   .bias = true,
                   .accumulate = true});
  }
}

TEST_F(Cuda, RoundedWeightsFollowTheirContents) {
  expect_right("changed weight", DType::kBF16, kBf16, [](Maker& make) -> std::vector<Tensor> {
    const Tensor x = make.elements({6, 40}), weight = make.parameter({30, 40}), other = make.parameter({30, 40});
    const Tensor y = make.output({6, 30}), z = make.output({6, 30});
    const auto product = [&](const Tensor& to) {
      make.table().matmul(make.queue(), {.a = {.tensor = x, .row_stride = 40},
                                         .b = {.tensor = weight, .row_stride = 40, .transposed = true, .weight = true},
                                         .c = {.tensor = to, .row_stride = 30},
                                         .m = 6,
                                         .n = 30,
                                         .k = 40,
                                         .precision = Precision::kBF16});
    };
    product(y);
    copy(other, weight);
    weight.contents_changed();
    product(z);
    return {y, z};
  });
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

TEST_F(Cuda, SpreadGradients) {
  struct Extent {
    int64_t outer, middle, inner;
  };
  for (const auto& [outer, middle, inner] : {Extent{2000, 40, 1}, Extent{1, 1, 40000}, Extent{40, 1, 1000},
                                             Extent{1, 300, 50}, Extent{7, 30, 90}, Extent{1, 5000, 1}}) {
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

TEST_F(Cuda, ManyPieces) {
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

TEST_F(Cuda, DropoutIsWhatTheCounterSays) {
  for (const int64_t period : {3001, 1000, 7}) {
    expect_right(fmt::format("period {}", period), 4, 1, [&](Maker& make) -> std::vector<Tensor> {
      const Tensor x = make.elements({3001}), y = make.output({3001}), z = make.elements({3001});
      DropoutArgs args{.x = x, .y = y, .rate = 0.3f, .random = make.random_site(), .period = period};
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

TEST_F(Cuda, ChoosesWhatTheReferenceChooses) {
  for (const int64_t width : {5, 2500}) {
    expect_right(fmt::format("choices among {}", width), 0, 0, [&](Maker& make) -> std::vector<Tensor> {
      std::vector<double> x(static_cast<size_t>(6 * width));
      for (double& value : x) value = static_cast<double>(make.random().below(40)) / 8;  // many are equal
      std::fill(x.begin(), x.begin() + width, 0.0);
      const Tensor weights =
          make.given(x, {6, width}, make.elements({1}).dtype() == DType::kBF16 ? DType::kBF16 : DType::kF32);
      const Tensor lot = make.output({6, width}), top = make.output({6, width}), values = make.output({6, 8});
      const Tensor index = from_host(std::vector<int32_t>(48), {6, 8}, make.device());
      make.table().choose(make.queue(), {.weights = weights, .chosen = lot, .random = make.random_site()});
      make.table().choose(make.queue(), {.weights = weights, .chosen = top});
      make.table().top_k(make.queue(), {.x = weights, .values = values, .index = index, .k = 8});
      return {lot, top, values, index};
    });
  }
}

// ---- attention ---------------------------------------------------------------------------------

struct Sizes {
  int64_t batch, heads, queries, keys, width;
};
const Sizes kSizes[] = {{1, 1, 1, 1, 1},    {2, 3, 1, 7, 5},    {3, 2, 5, 1, 19},   {2, 1, 25, 25, 37},
                        {1, 2, 6, 130, 64}, {2, 2, 3, 0, 8},    {1, 1, 0, 4, 8},    {2, 1, 1, 40, 300},
                        {1, 1, 70, 90, 33}, {2, 4, 33, 65, 32}, {2, 1, 9, 67, 130}, {1, 1, 3, 5, 270},
                        {3, 2, 1, 150, 20}};

Mask mask_named(const std::string& name, const Sizes& sizes, Maker& make) {
  Mask mask;
  if (name == "lengths" || name == "all") {
    std::vector<int32_t> ends;
    for (int64_t b = 0; b < sizes.batch; ++b) ends.push_back(static_cast<int32_t>(sizes.keys * b / sizes.batch));
    mask.lengths = make.ints(ends);
  }
  if (name == "causal" || name == "all") {
    mask.causal = true;
    mask.offset = sizes.keys > sizes.queries ? sizes.keys - sizes.queries : -1;
  }
  if (name == "bias" || name == "all") {
    const Shape shape{name == "all" ? 1 : sizes.batch, 1, sizes.queries, sizes.keys};
    std::vector<double> bias(static_cast<size_t>(shape.count()));
    for (double& x : bias) x = make.random().uniform() < 0.25 ? -HUGE_VAL : make.random().normal();
    mask.bias = make.given(bias, shape, DType::kF32);
  }
  return mask;
}

TEST_F(Cuda, AdditiveScores) {
  for (const Sizes& z : kSizes) {
    for (const double spread : {1.0, 30.0}) {
      for (const bool lengths : {false, true}) {
        expect_right(fmt::format("B{} H{} T{} S{} d{}", z.batch, z.heads, z.queries, z.keys, z.width), 128, 3,
                     [&](Maker& make) -> std::vector<Tensor> {
                       const int64_t depth = z.heads * z.width;
                       const Shape scores{z.batch, z.heads, z.queries, z.keys};
                       const Tensor query = make.elements({z.queries, z.batch, depth}, spread);
                       const Tensor keys = make.elements({z.keys, z.batch, depth}, spread), v = make.parameter({depth});
                       const Tensor ends = lengths ? mask_named("lengths", z, make).lengths : Tensor();
                       const Tensor score = make.output(scores), dscore = make.elements(scores);
                       const Tensor dquery = make.elements({z.queries, z.batch, depth});
                       const Tensor dkeys = make.elements({z.keys, z.batch, depth}), dv = make.parameter({depth});
                       make.table().additive_score(
                           make.queue(),
                           {.query = query, .keys = keys, .v = v, .score = score, .lengths = ends, .heads = z.heads});
                       make.table().additive_score_grad(make.queue(), {.query = query,
                                                                       .keys = keys,
                                                                       .v = v,
                                                                       .lengths = ends,
                                                                       .dscore = dscore,
                                                                       .dquery = dquery,
                                                                       .dkeys = dkeys,
                                                                       .dv = dv,
                                                                       .heads = z.heads});
                       return {score, dquery, dkeys, dv};
                     });
      }
    }
  }
}

// One query, in groups of lanes of every size.
const Sizes kOneQuery[] = {
    {3, 2, 1, 150, 4}, {2, 2, 1, 33, 32}, {2, 1, 1, 100, 64}, {2, 1, 1, 5, 128}, {2, 1, 1, 700, 120}};

struct DotForm {
  std::string mask = "none";
  int64_t extra = 0;  // columns that values have more than keys
  float dropout = 0.0f;
  double spread = 1.0;
  bool weights = true, dquery = true, dkeys = true, dvalues = true;
};
std::vector<Tensor> attend(Maker& make, const Sizes& z, const DotForm& form) {
  const int64_t depth = z.heads * z.width, out_depth = z.heads * (z.width + form.extra);
  const Shape scores{z.batch, z.heads, z.queries, z.keys};
  const Shape asked{z.queries, z.batch, depth}, known{z.keys, z.batch, depth};
  const Shape held{z.keys, z.batch, out_depth}, said{z.queries, z.batch, out_depth};
  const DotAttentionArgs args{.query = make.elements(asked, form.spread),
                              .keys = make.elements(known, form.spread),
                              .values = make.elements(held),
                              .out = make.output(said),
                              .lse = make.output(scores.without(3), DType::kF32),
                              .weights = form.weights ? make.output(scores) : Tensor(),
                              .heads = z.heads,
                              .scale = 0.3f,
                              .mask = mask_named(form.mask, z, make),
                              .dropout = form.dropout,
                              .random = make.random_site()};
  make.table().dot_attention(make.queue(), args);
  const Tensor dout = make.elements(said);
  const Tensor dquery = make.elements(asked), dkeys = make.elements(known), dvalues = make.elements(held);
  const DotAttentionGradArgs grad{.query = args.query,
                                  .keys = args.keys,
                                  .values = args.values,
                                  .out = args.out,
                                  .lse = args.lse,
                                  .dout = dout,
                                  .dquery = form.dquery ? dquery : Tensor(),
                                  .dkeys = form.dkeys ? dkeys : Tensor(),
                                  .dvalues = form.dvalues ? dvalues : Tensor(),
                                  .heads = z.heads,
                                  .scale = args.scale,
                                  .mask = args.mask,
                                  .dropout = args.dropout,
                                  .random = args.random};
  make.table().dot_attention_grad(make.queue(), grad);
  return {args.out, args.lse, args.weights, dquery, dkeys, dvalues};
}
std::string name_of(const Sizes& z, const DotForm& form) {
  return fmt::format("B{} H{} T{} S{} d{}+{} {} dropout {} spread {}", z.batch, z.heads, z.queries, z.keys, z.width,
                     form.extra, form.mask, form.dropout, form.spread);
}

TEST_F(Cuda, DotAttention) {
  for (const Sizes& z : kSizes) {
    for (const std::string mask : {"none", "lengths", "causal", "bias", "all"}) {
      for (const int64_t extra : {0, 7}) {
        const DotForm form{.mask = mask, .extra = extra, .dropout = mask == "all" ? 0.3f : 0.0f};
        expect_right(name_of(z, form), 256, 6, [&](Maker& make) { return attend(make, z, form); });
      }
    }
  }
}

TEST_F(Cuda, DotAttentionOfOneQuery) {
  for (const Sizes& z : kOneQuery) {
    for (const std::string mask : {"none", "lengths", "bias", "all"}) {
      for (const int64_t extra : {0, 8}) {
        const DotForm form{
            .mask = mask, .extra = extra, .dropout = mask == "all" ? 0.3f : 0.0f, .weights = mask != "none"};
        expect_right(name_of(z, form), 256, 6, [&](Maker& make) { return attend(make, z, form); });
      }
    }
  }
}

// Sizes for the tensor cores: tiles that are full, short by one, and begun by one; widths that fill them and do not.
const Sizes kTiledSizes[] = {{3, 2, 1, 1, 64},    {3, 2, 1, 100, 64},  {2, 1, 7, 31, 16},    {2, 2, 16, 16, 32},
                             {2, 2, 16, 100, 64}, {3, 2, 32, 32, 64},  {2, 2, 31, 33, 64},   {2, 1, 33, 32, 128},
                             {2, 2, 32, 100, 8},  {2, 1, 64, 64, 64},  {2, 1, 33, 64, 96},   {2, 1, 100, 7, 32},
                             {2, 1, 64, 33, 128}, {2, 1, 130, 31, 64}, {2, 1, 100, 130, 64}, {2, 1, 130, 100, 128},
                             {2, 1, 7, 130, 96},  {2, 1, 130, 65, 40}, {2, 1, 65, 128, 32},  {0, 1, 3, 5, 64},
                             {2, 1, 0, 5, 64},    {2, 1, 5, 0, 64}};

void expect_right_in_bf16(const Sizes& z, const DotForm& form) {
  expect_right(name_of(z, form), DType::kBF16, 6 * kBf16, [&](Maker& make) { return attend(make, z, form); });
}

TEST_F(Cuda, DotAttentionInTiles) {
  for (const Sizes& z : kTiledSizes) {
    for (const std::string mask : {"none", "lengths", "causal", "bias", "all"}) {
      expect_right_in_bf16(z, {.mask = mask, .weights = false});
    }
  }
}

TEST_F(Cuda, DotAttentionInTilesWithDropout) {
  for (const Sizes& z : kTiledSizes) {
    for (const std::string mask : {"none", "all"}) {
      expect_right_in_bf16(z, {.mask = mask, .dropout = 0.4f, .weights = mask == "all"});
    }
  }
}

// Many heads, so that blocks are as large as they come.
TEST_F(Cuda, DotAttentionInLargeTiles) {
  const DotForm form{
      .mask = "causal", .dropout = 0.1f, .weights = false, .dquery = false, .dkeys = false, .dvalues = false};
  for (const Sizes& z : {Sizes{44, 3, 65, 70, 32}, Sizes{44, 3, 65, 40, 64}}) expect_right_in_bf16(z, form);
}

// So long that a library may do it.
TEST_F(Cuda, DotAttentionOfLongSequences) {
  for (const int64_t width : {64, 128}) {
    expect_right_in_bf16({1, 2, 514, 520, width}, {.weights = false});
  }
}

// Far from zero weights are nearly all or nothing, and in bf16 no more can be asked of the gradients than that they
// are right in between.
TEST_F(Cuda, DotAttentionOfLargeScores) {
  for (const Sizes& z : {Sizes{2, 2, 32, 32, 64}, Sizes{2, 1, 1, 50, 64}, Sizes{2, 1, 40, 100, 64}}) {
    expect_right_in_bf16(z, {.mask = "causal", .spread = 4.0});
    expect_right_in_bf16(z, {.mask = "lengths", .spread = 100.0, .dquery = false, .dkeys = false, .dvalues = false});
  }
}

TEST_F(Cuda, DotAttentionGradientsThatAreAskedFor) {
  for (const Sizes& z : {Sizes{2, 2, 20, 30, 32}, Sizes{2, 1, 20, 70, 64}}) {
    for (int asked = 0; asked < 8; ++asked) {
      expect_right_in_bf16(z, {.mask = "lengths",
                               .dropout = 0.1f,
                               .weights = false,
                               .dquery = (asked & 1) != 0,
                               .dkeys = (asked & 2) != 0,
                               .dvalues = (asked & 4) != 0});
    }
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
                              .initial_memory = whole && lstm ? make.elements({B, H}, 0.5) : Tensor(),
                              .lengths = whole ? make.ints(ends) : Tensor(),
                              .states = make.output({T + 1, B, H}),
                              .memories = lstm ? make.output({T + 1, B, H}) : Tensor(),
                              .saved = S > 0 ? make.output({T, B, S * H}) : Tensor(),
                              .reverse = reverse,
                              .precision = precision};
        make.table().recurrent(make.queue(), x);
        const Tensor dh_gates = make.output({T, B, G * H});
        const RecurrentGradArgs d{.cell = cell,
                                  .weight = x.weight,
                                  .lengths = x.lengths,
                                  .states = x.states,
                                  .memories = x.memories,
                                  .saved = x.saved,
                                  .dstates = make.elements({T, B, H}),
                                  .dfinal_memory = whole && lstm ? make.elements({B, H}) : Tensor(),
                                  .dx_gates = whole && cell != Cell::kGru ? dh_gates : make.elements({T, B, G * H}),
                                  .dh_gates = dh_gates,
                                  .dinitial_state = whole ? make.elements({B, H}) : Tensor(),
                                  .dinitial_memory = whole && lstm ? make.elements({B, H}) : Tensor(),
                                  .reverse = reverse,
                                  .precision = precision};
        make.table().recurrent_grad(make.queue(), d);
        return {x.states, x.memories, d.dx_gates, d.dh_gates, d.dinitial_state, d.dinitial_memory};
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
