#include "kernels/by_parts.h"

namespace fovea {

namespace {

// A head's [N,d] inside a sequence [N,B,H*d], and its [T,S] inside scores [B,H,T,S]; one batch a sentence and head.
Matrix of_sequence(const Tensor& x, int64_t heads, bool transposed = false) {
  return {.tensor = x, .row_stride = x.dim(1) * x.dim(2), .batch_stride = x.dim(2) / heads, .transposed = transposed};
}
Matrix of_scores(const Tensor& x) { return {.tensor = x, .row_stride = x.dim(3), .batch_stride = x.dim(2) * x.dim(3)}; }

ScoreShape shape_of(const Tensor& scores) { return {scores.dim(0), scores.dim(1), scores.dim(2), scores.dim(3)}; }

}  // namespace

void additive_attention_by_parts(const KernelTable& table, Stream& stream, const AdditiveAttentionArgs& args) {
  const ScoreShape shape = shape_of(args.weights);
  const Tensor score = empty_like(args.weights);
  table.additive_score(stream, {.query = args.query,
                                .keys = args.keys,
                                .v = args.v,
                                .score = score,
                                .lengths = args.lengths,
                                .heads = args.heads});
  table.softmax(stream, {.x = score, .y = args.weights, .shape = shape, .mask = {.lengths = args.lengths}});
  table.matmul(stream, {.a = of_scores(args.weights),
                        .b = of_sequence(args.values, args.heads),
                        .c = of_sequence(args.out, args.heads),
                        .m = shape.queries,
                        .n = args.values.dim(2) / args.heads,
                        .k = shape.keys,
                        .batch = shape.batch * shape.heads,
                        .precision = args.precision});
}

void additive_attention_grad_by_parts(const KernelTable& table, Stream& stream, const AdditiveAttentionGradArgs& args) {
  const ScoreShape shape = shape_of(args.weights);
  const Tensor dweights = empty_like(args.weights);
  table.matmul(stream, {.a = of_sequence(args.dout, args.heads),
                        .b = of_sequence(args.values, args.heads, true),
                        .c = of_scores(dweights),
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
