#include "kernels/unfused.h"

#include "kernels/head_matrices.h"

namespace fovea {

namespace {

ScoreShape shape_of(const Tensor& scores) { return {scores.dim(0), scores.dim(1), scores.dim(2), scores.dim(3)}; }

}  // namespace

LayerNormArgs add_residual(const KernelTable& table, Stream& stream, LayerNormArgs args) {
  if (!args.residual) return args;
  table.dropout(stream, {.x = args.residual, .y = args.sum, .base = args.x, .rate = args.rate, .random = args.random});
  args.x = args.sum;
  args.residual = {};
  return args;
}

void residual_grad(const KernelTable& table, Stream& stream, const LayerNormGradArgs& args) {
  if (!args.dresidual) return;
  table.dropout(stream, {.x = args.dx,
                         .y = args.dresidual,
                         .rate = args.rate,
                         .random = args.random,
                         .accumulate = args.accumulate_residual});
}

void finish_convolution(const KernelTable& table, Stream& stream, const Tensor& y, const Tensor& residual, bool relu) {
  if (residual) table.affine(stream, {.x = residual, .y = y, .accumulate = true});
  if (relu) table.unary(stream, {.op = UnaryOp::kRelu, .x = y, .y = y});
}

void additive_attention_unfused(const KernelTable& table, Stream& stream, const AdditiveAttentionArgs& args) {
  const ScoreShape shape = shape_of(args.weights);
  const Tensor score = empty_like(args.weights);
  table.additive_score(stream, {.query = args.query,
                                .keys = args.keys,
                                .v = args.v,
                                .score = score,
                                .lengths = args.lengths,
                                .heads = args.heads});
  table.softmax(stream, {.x = score, .y = args.weights, .shape = shape, .mask = {.lengths = args.lengths}});
  table.matmul(stream, {.a = per_head(args.weights),
                        .b = per_head(args.values, args.heads),
                        .c = per_head(args.out, args.heads),
                        .m = shape.queries,
                        .n = args.values.dim(2) / args.heads,
                        .k = shape.keys,
                        .batch = shape.batch * shape.heads,
                        .precision = args.precision});
}

void additive_attention_grad_unfused(const KernelTable& table, Stream& stream, const AdditiveAttentionGradArgs& args) {
  const ScoreShape shape = shape_of(args.weights);
  const Tensor dweights = empty_like(args.weights);
  table.matmul(stream, {.a = per_head(args.dout, args.heads),
                        .b = per_head(args.values, args.heads, true),
                        .c = per_head(dweights),
                        .m = shape.queries,
                        .n = shape.keys,
                        .k = args.values.dim(2) / args.heads,
                        .batch = shape.batch * shape.heads,
                        .precision = args.precision});
  zero_memory(stream.device, args.dscore.raw(), args.dscore.bytes());
  table.softmax_grad(stream, {.y = args.weights, .dy = dweights, .dx = args.dscore, .shape = shape});
  if (!args.dquery) return;
  zero_memory(stream.device, args.dquery.raw(), args.dquery.bytes());
  table.additive_score_grad(stream, {.query = args.query,
                                     .keys = args.keys,
                                     .v = args.v,
                                     .lengths = args.lengths,
                                     .dscore = args.dscore,
                                     .dquery = args.dquery,
                                     .heads = args.heads});
}

}  // namespace fovea
