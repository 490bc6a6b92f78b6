// CUDA attention against the reference: heads wider than a tile, all masks, and every implementation.
#include "kernels/card.h"

namespace fovea::testing {
namespace {

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

// One query, with groups of lanes of every size.
const Sizes kOneQuery[] = {{3, 2, 1, 150, 4}, {2, 2, 1, 33, 32},   {2, 1, 1, 100, 64},
                           {2, 1, 1, 5, 128}, {2, 1, 1, 700, 120}, {3, 3, 1, 64, 64},
                           {3, 1, 1, 1, 64},  {5, 2, 1, 65, 64},   {3, 1, 1, 40, 16}};

struct DotForm {
  std::string mask = "none";
  int64_t extra = 0;  // columns of values beyond those of keys
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
                              .random = make.random_stream()};
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
        const DotForm plain{.mask = mask, .extra = extra, .weights = false};
        expect_right(name_of(z, plain), 256, 6, [&](Maker& make) { return attend(make, z, plain); });
      }
    }
  }
}

// Sizes for the tensor cores: tiles that are full, lack one row or have one row; widths that fill them or do not.
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

// With many heads the largest blocks are used.
TEST_F(Cuda, DotAttentionInLargeTiles) {
  const DotForm form{
      .mask = "causal", .dropout = 0.1f, .weights = false, .dquery = false, .dkeys = false, .dvalues = false};
  for (const Sizes& z : {Sizes{44, 3, 65, 70, 32}, Sizes{44, 3, 65, 40, 64}}) expect_right_in_bf16(z, form);
}

// Long sequences, for which cuDNN may be used.
TEST_F(Cuda, DotAttentionOfLongSequences) {
  for (const int64_t width : {64, 128}) {
    expect_right_in_bf16({1, 2, 514, 520, width}, {.weights = false});
  }
}

// With large scores the weights are nearly one-hot, and in bf16 only the gradients in between can be compared.
TEST_F(Cuda, DotAttentionOfLargeScores) {
  for (const Sizes& z : {Sizes{2, 2, 32, 32, 64}, Sizes{2, 1, 1, 50, 64}, Sizes{2, 1, 40, 100, 64}}) {
    expect_right_in_bf16(z, {.mask = "causal", .spread = 4.0});
    expect_right_in_bf16(z, {.mask = "lengths", .spread = 100.0, .dquery = false, .dkeys = false, .dvalues = false});
  }
}

TEST_F(Cuda, DotAttentionRequestedGradients) {
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

}  // namespace
}  // namespace fovea::testing
