// The only seam between mathematics and devices: one struct of named tensors per kernel, one table of
// functions per backend. Adding a backend is filling a table.
//
// What holds for every kernel:
//  - Every *_grad accumulates (+=) into its d* tensors, unless `accumulate` is there and not set: then it overwrites
//    them. A d* tensor that is not given is not computed. Every forward kernel overwrites its outputs, unless
//    `accumulate` is set.
//  - "Elements" (activations and their gradients) all have one dtype T: f32 or bf16, f64 on reference.
//    Sums are taken in A(T): f32 for bf16, else T. Parameters (weight, bias, gamma, v ...), their
//    gradients and statistics (mean, rstd, lse, loss ...) have A(T). Ids and lengths are i32.
//    Only `matmul` and `affine` mix dtypes freely.
//  - Sequences are time-major: query [T,B,D], keys and values [S,B,D]. Heads lie inside the last axis,
//    D = H*d. Scores and weights are [B,H,T,S].
//  - Shapes were checked by the caller (src/ops): a kernel may assert but does not throw for them.
//  - The same arguments give the same bits on every run and for every number of threads.
//  - A tensor may have zero elements; a kernel then does what the equation says of an empty sum.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "tensor/tensor.h"

namespace fovea {

// An ordered queue of work on a device. The host backends run at once and ignore it.
struct Stream {
  Device device;
  void* handle = nullptr;
};

// What the factors of a product are rounded to. kInt8 is for decoding: products by a weight stored [n,k] in
// 8 bits, with a scale for each row of either factor; everything else as with kBF16.
enum class Precision : uint8_t { kF32, kBF16, kInt8 };

// ---- matrix products ---------------------------------------------------------------------------

// A batch of matrices inside a tensor. `row_stride` is the distance between stored rows and
// `batch_stride` between matrices, in elements; `offset` is where the first one begins. `transposed`
// says that the stored matrix is the transpose of the factor.
struct Matrix {
  Tensor tensor;
  int64_t row_stride = 0;
  int64_t batch_stride = 0;
  int64_t offset = 0;
  bool transposed = false;
  // Contents change only with Buffer::contents_changed, so that a packed copy may be kept until then.
  bool weight = false;
};

// c[g] (+)= alpha * a[g] b[g] + bias, with a [m,k], b [k,n], c [m,n], bias [n] over the rows, or [batch,n] with one for
// each matrix.
// k = 0 gives the bias, or zero. Any of a, b, c may be f32 or bf16 (all f64 on reference);
// c is never transposed. Another `precision` than kF32 lets the backend round a, b and the bias.
struct MatmulArgs {
  Matrix a, b, c;
  Tensor bias;
  int64_t m = 0, n = 0, k = 0, batch = 1;
  float alpha = 1.0f;
  bool accumulate = false;
  Precision precision = Precision::kF32;

  // How far the biases of neighbouring matrices lie apart.
  int64_t bias_stride() const { return batch > 1 && bias.size() == batch * n ? n : 0; }
};

// ---- elementwise -------------------------------------------------------------------------------

// y (+)= alpha * x + beta, between any two of f32, bf16, f64, i32: scaling, casting, copying, adding.
// Without x, y is filled with beta. Computed in f64 if either side is f64, else in f32; i32 is cut
// towards zero.
struct AffineArgs {
  Tensor x, y;
  float alpha = 1.0f, beta = 0.0f;
  bool accumulate = false;
};

// kernels/pointwise.h has the functions and their derivatives, written once.
enum class UnaryOp : uint8_t { kTanh, kSigmoid, kRelu, kGelu, kExp, kLog, kSqrt, kSquare, kAbs, kReciprocal };
struct UnaryArgs {
  UnaryOp op;
  Tensor x, y;
};
struct UnaryGradArgs {
  UnaryOp op;
  Tensor x, y;  // only the one unary_reads_input(op) says is given
  Tensor dy, dx;
  bool accumulate = true;
};

// b is spread over a: a and y are [outer, b.size, inner] and b one value for each of the middle.
enum class BinaryOp : uint8_t { kAdd, kSubtract, kMultiply, kDivide, kMaximum, kMinimum };
struct BinaryArgs {
  BinaryOp op;
  Tensor a, b, y;
  int64_t outer = 1, inner = 1;
};
struct BinaryGradArgs {
  BinaryOp op;
  Tensor a, b;  // values, always given
  Tensor dy, da, db;
  int64_t outer = 1, inner = 1;
};

// x [outer, count, inner] -> y [outer, inner]. The maximum of nothing is -inf with index -1; of equal
// ones the first counts. index (i32) is given for kMaximum only. kMean of nothing is 0. A sum or mean may
// be taken into a y of A(T), and added to it: the gradient of a bias.
enum class ReduceOp : uint8_t { kSum, kMean, kMaximum };
struct ReduceArgs {
  ReduceOp op;
  Tensor x, y, index;
  int64_t outer = 1, count = 1, inner = 1;
  bool accumulate = false;  // not for kMaximum
};
struct ReduceGradArgs {
  ReduceOp op;
  Tensor dy, index, dx;
  int64_t outer = 1, count = 1, inner = 1;
};

// ---- moving data -------------------------------------------------------------------------------

// One column block of a joined [outer, sum of widths] tensor; without a tensor the block is skipped.
struct Piece {
  Tensor tensor;  // [outer, width]
  int64_t width = 0;
};
struct ConcatArgs {
  std::span<const Piece> pieces;
  Tensor joined;
  int64_t outer = 1;
  bool accumulate = false;  // joined += pieces
};
struct SplitArgs {
  Tensor joined;
  std::span<const Piece> pieces;
  int64_t outer = 1;
  bool accumulate = false;  // pieces += joined
};

// y[i] = scale * table[ids[i]], rows of a table with the dtype A(T) or T. Ids lie within the table. Of several tables,
// which lie one after the other, the same rows, one table's after the other's.
struct EmbeddingArgs {
  Tensor table, ids, y;
  float scale = 1.0f;
  int64_t tables = 1;
};
struct EmbeddingGradArgs {
  Tensor ids, dy, dtable;
  float scale = 1.0f;
};

// y (+)= x with its axes in another order: axis i of y is axis axes[i] of x. The gradient is the inverse permutation.
struct PermuteArgs {
  Tensor x, y;
  std::array<int, Shape::kMaxRank> axes = {};  // as many as x has
  bool accumulate = false;
};

// The sizes of a gather or a scatter-add along one axis, whose length is `count`: whole [outer,count,inner],
// picked [outer,picks,inner], index i32 [index_outer,picks,index_inner] with values in [0,count). The index is
// broadcast: index(o,k,i) is element (o % index_outer, k, i / (inner / index_inner)).
struct GatherShape {
  int64_t outer = 1, count = 1, picks = 1, inner = 1;
  int64_t index_outer = 1, index_inner = 1;
};
// picked[o,k,i] (+)= whole[o, index(o,k,i), i].
struct GatherArgs {
  Tensor whole, index, picked;
  GatherShape shape;
  bool accumulate = false;
};
// whole[o, index(o,k,i), i] += picked[o,k,i]. Elements with equal indices are all added. The gradient of a gather, and
// the other way round.
struct ScatterAddArgs {
  Tensor picked, index, whole;
  GatherShape shape;
};

// ---- randomness --------------------------------------------------------------------------------

// Names the random numbers of one place in one step: stream = step << 32 | site. The step is read from
// the device, so that a captured step draws anew each time it is replayed.
struct RandomSite {
  uint64_t seed = 0;
  uint32_t site = 0;
  Tensor step;  // i32 [1]
};

// y (+)= x * keep / (1 - rate), keep = random_word(seed, stream, i % period) >= drop_threshold(rate).
// 0 <= rate < 1. A period below the size repeats the mask over the leading axis (variational dropout).
// Its gradient is itself. With `base`, which is like x, y is base + that: a residual. With `gate`, which is like x,
// nothing is kept where it is not above 0: a ReLU before the dropout, if the gate is what went into it. Without
// `random.step` nothing is drawn and nothing dropped but by the gate, which may be what came out of such a dropout.
struct DropoutArgs {
  Tensor x, y, base, gate;
  float rate = 0.0f;
  RandomSite random;
  int64_t period = 0;
  bool accumulate = false;
};

// ---- normalisation -----------------------------------------------------------------------------

// y = (x - mean) * rstd * gamma + beta over rows of the last axis; x [N,D], mean and rstd [N]. With `more`, which is
// like x, that of `sum` = x + what `dropout` leaves of more, without a period. Its gradient is of the sum, in x's
// place, and the dropout of all that is in dx goes to dmore.
struct LayerNormArgs {
  Tensor x, gamma, beta, y, mean, rstd;
  float epsilon = 1e-5f;
  Tensor more, sum;
  float rate = 0.0f;
  RandomSite random;
};
struct LayerNormGradArgs {
  Tensor x, gamma, mean, rstd, dy, dx, dgamma, dbeta;
  bool accumulate = true;  // into dx; the parameters' are always added to
  Tensor dmore;            // only with dx
  bool accumulate_more = true;
  float rate = 0.0f;
  RandomSite random;
};

// y = x / max(|x|, epsilon) over rows of the last axis; x [N,D], scale [N] = 1 / max(|x|, epsilon),
// negative where the row was shorter than epsilon (its gradient is then dy * |scale| alone).
struct NormalizeArgs {
  Tensor x, y, scale;
  float epsilon = 1e-8f;
};
struct NormalizeGradArgs {
  Tensor y, scale, dy, dx;
};

// y = (x - mean) * rstd * gamma + beta for each channel (Ioffe & Szegedy 2015); x [N,C], all others [C]. In training,
// mean and variance (divided by N) are those of the batch, and running = (1 - momentum) * running + momentum * batch,
// with the variance divided by N - 1 as in PyTorch. Otherwise they are the running averages, which do not change.
// mean and rstd = 1 / sqrt(variance + epsilon) are written in both cases.
struct BatchNormArgs {
  Tensor x, gamma, beta, running_mean, running_variance, y, mean, rstd;
  float epsilon = 1e-5f, momentum = 0.1f;
  bool training = true;
};
// Outside training, mean and rstd are constants.
struct BatchNormGradArgs {
  Tensor x, gamma, mean, rstd, dy, dx, dgamma, dbeta;
  bool training = true;
  bool accumulate = true;  // into dx; dgamma and dbeta are always added to
};

// ---- softmax and losses ------------------------------------------------------------------------

// Which keys a query may see, and what is added to its scores. A key is absent when it lies at or past
// its sentence's length, when causal and s > t + offset, or when the bias there is -inf.
// A row with every key absent has weights 0 (log: -inf), output 0 and no gradient.
struct Mask {
  Tensor lengths;  // i32 [B]
  Tensor bias;     // A(T), [B|1, H|1, T|1, S]
  bool causal = false;
  int64_t offset = 0;  // position of the first query among the keys
};
struct ScoreShape {
  int64_t batch = 1, heads = 1, queries = 1, keys = 1;
};

// y = softmax(x + mask) over the last axis of [B,H,T,S], or its logarithm.
struct SoftmaxArgs {
  Tensor x, y;
  ScoreShape shape;
  Mask mask;
  bool log = false;
};
struct SoftmaxGradArgs {
  Tensor y, dy, dx;  // rows as in y; a masked cell of y is 0 (log: -inf) and gets no gradient
  ScoreShape shape;
  bool log = false;
};

// The Euclidean projection of a row onto the simplex (Martins & Astudillo 2016).
struct SparsemaxArgs {
  Tensor x, y;
  ScoreShape shape;
  Mask mask;
};
struct SparsemaxGradArgs {
  Tensor y, dy, dx;
  ScoreShape shape;
};

// loss[i] = (1-smoothing) * -log p(target) + smoothing * mean over the classes of -log p; 0 where the
// target is `ignore`. logits [N,V], targets i32 [N], loss and lse [N] with lse = log sum exp(logits).
struct CrossEntropyArgs {
  Tensor logits, targets, loss, lse;
  float smoothing = 0.0f;
  int32_t ignore = -1;
};
// dlogits may be the logits themselves: then it is overwritten, not accumulated.
struct CrossEntropyGradArgs {
  Tensor logits, targets, lse, dloss, dlogits;
  float smoothing = 0.0f;
  int32_t ignore = -1;
};

// ---- attention ---------------------------------------------------------------------------------

// score[b,h,t,s] = sum_d v[h,d] tanh(query[t,b,h,d] + keys[s,b,h,d]): Bahdanau's additive score on
// projected queries and keys. The B*T*S*D tanh is never written; backward computes it again.
// Cells with s >= lengths[b] are set to 0 and have no gradient.
struct AdditiveScoreArgs {
  Tensor query, keys, v, score, lengths;
  int64_t heads = 1;
};
struct AdditiveScoreGradArgs {
  Tensor query, keys, v, lengths, dscore, dquery, dkeys, dv;
  int64_t heads = 1;
};

// Additive attention whole, for the few queries of a decoder's step: weights = softmax(score) over the keys below the
// length, out = weights values, per head. query [T,B,D], keys [S,B,D], values [S,B,E], weights [B,H,T,S], out [T,B,E].
struct AdditiveAttentionArgs {
  Tensor query, keys, v, values, lengths, weights, out;
  int64_t heads = 1;
  Precision precision = Precision::kF32;
};
// What the step before needs at once: dscore [B,H,T,S] and dquery, both overwritten. The other gradients are sums over
// all steps: additive_score_grad has them from the dscore of all steps, and matmul those of the values from the
// weights.
struct AdditiveAttentionGradArgs {
  Tensor query, keys, v, values, lengths, weights, dout, dscore, dquery;
  int64_t heads = 1;
  Precision precision = Precision::kF32;
};

// out = softmax(scale * query keys^T + mask) values, per head, with dropout on the weights. lse [B,H,T]
// is the log-sum-exp of each row (-inf when fully masked), from which backward computes the weights
// again. weights [B,H,T,S], before dropout, are written only if given. Dropout counts cells of
// [B,H,T,S] in order.
struct DotAttentionArgs {
  Tensor query, keys, values, out, lse, weights;
  int64_t heads = 1;
  float scale = 1.0f;
  Mask mask;
  float dropout = 0.0f;
  RandomSite random;
};
struct DotAttentionGradArgs {
  Tensor query, keys, values, out, lse, dout, dquery, dkeys, dvalues;
  int64_t heads = 1;
  bool accumulate = true;
  float scale = 1.0f;
  Mask mask;
  float dropout = 0.0f;
  RandomSite random;
};

// y = x * exp(-(s - center)^2 / (2 sigma^2)) where |s - center| <= width (0: everywhere), else 0.
// x, y [B,H,T,S], center [T,B,H]. Luong et al. 2015, equation 10.
struct GaussianWindowArgs {
  Tensor x, center, y;
  ScoreShape shape;
  float sigma = 1.0f, width = 0.0f;
};
struct GaussianWindowGradArgs {
  Tensor x, center, dy, dx, dcenter;
  ScoreShape shape;
  float sigma = 1.0f, width = 0.0f;
};

// y (+)= x turned: with d the depth of a head and w = position * 10000^(-2i/d), the pair (x[i], x[i + d/2]) of
// each head becomes (x[i] cos w - x[i + d/2] sin w, x[i] sin w + x[i + d/2] cos w) (Su et al. 2021). Row t of
// x [T,B,H*d] stands at position + t * stride. Its gradient is the turn back; d is even.
struct RotaryArgs {
  Tensor x, y;
  int64_t heads = 1, position = 0, stride = 1;
  bool back = false, accumulate = false;
};

// ---- choosing ----------------------------------------------------------------------------------

// One of each row of weights [N,S], which are at least 0: the first with sum of those up to it > u * sum of all,
// for u = random_word(seed, stream, row) / 2^32; without `random.step`, the largest, of equal ones the first.
// chosen [N,S] is 1 there and 0 elsewhere. A row of zeros has nothing to choose and stays zero.
struct ChooseArgs {
  Tensor weights, chosen;
  RandomSite random;
};

// The k largest of each row of x [N,V], largest first, of equal ones the first: values [N,k] and index i32 [N,k].
// Past the end of a short row the value is -inf and the index -1. NaN is never chosen.
struct TopKArgs {
  Tensor x, values, index;
  int64_t k = 1;
};

// ---- recurrence --------------------------------------------------------------------------------

// tanh: h' = tanh(x + h).  gates in x and h [B,H]
// gru:  r = s(xr+hr), z = s(xz+hz), n = tanh(xn + r*hn), h' = (1-z) n + z h.  [B,3H] = r,z,n
// lstm: i,f,g,o = s,s,tanh,s of (x+h), c' = f c + i g, h' = o tanh(c').  [B,4H] = i,f,g,o
// x is the input's part of the gates (with its bias), h the state's (with its own).
enum class Cell : uint8_t { kTanh, kGru, kLstm };
constexpr int64_t gates_of(Cell cell) { return cell == Cell::kTanh ? 1 : cell == Cell::kGru ? 3 : 4; }
// What backward reads: gru r,z,n,hn; lstm i,f,g,o after their activations; tanh nothing but the state.
constexpr int64_t saved_of(Cell cell) { return cell == Cell::kTanh ? 0 : 4; }

struct CellArgs {
  Cell cell;
  Tensor x_gates, h_gates;       // [B,G*H]
  Tensor state, memory;          // h, c [B,H]; memory for lstm only, here and below
  Tensor new_state, new_memory;  // [B,H]
  Tensor saved;                  // [B,saved*H]; may be absent when there will be no backward
};
struct CellGradArgs {
  Cell cell;
  Tensor state, memory, new_state, new_memory, saved;
  Tensor dnew_state, dnew_memory;  // either may be absent: no gradient came that way
  Tensor dx_gates, dh_gates, dstate, dmemory;
  bool accumulate = true;  // into dh_gates; the others are always added to
};

// A whole layer in one direction, given the input's part of the gates for all steps (one product).
// states [T+1,B,H] and memories (lstm) hold the state before step t at t and after it at t+1, or, in
// reverse, before step t at t+1 and after it at t; the kernel copies the initial ones (zero if absent)
// into their slot. At a step past its sentence's length a state stays as it is.
struct RecurrentArgs {
  Cell cell;
  Tensor x_gates;                        // [T,B,G*H]
  Tensor weight, bias;                   // [G*H,H], [G*H] (may be absent)
  Tensor initial_state, initial_memory;  // [B,H]
  Tensor lengths;                        // i32 [B] (may be absent)
  Tensor states, memories;               // [T+1,B,H]
  Tensor saved;  // [T,B,saved*H], unset past a length; may be absent when there will be no backward
  bool reverse = false;
  Precision precision = Precision::kF32;
  const RecurrentArgs* beside = nullptr;  // another layer, to be done too: neither reads what the other writes
};
// dstates [T,B,H] is the gradient of the T outputs, dfinal_memory [B,H] of the last memory (may be
// absent). dh_gates [T,B,G*H] is what the weight's gradient is one product of: it is overwritten, not
// accumulated, and for tanh and lstm may be the same tensor as dx_gates, which then is overwritten too.
struct RecurrentGradArgs {
  Cell cell;
  Tensor weight, lengths, states, memories, saved;
  Tensor dstates, dfinal_memory;
  Tensor dx_gates, dh_gates, dinitial_state, dinitial_memory;
  bool reverse = false;
  Precision precision = Precision::kF32;
  const RecurrentGradArgs* beside = nullptr;
};

// ---- images ------------------------------------------------------------------------------------

struct Window {
  int64_t height = 1, width = 1;
  int64_t stride_y = 1, stride_x = 1;
  int64_t pad_y = 0, pad_x = 0;
};

// x [B,Y,X,C], weight [O,height,width,C], bias [O] (may be absent), y [B,Y',X',O]; zero padding.
struct Conv2dArgs {
  Tensor x, weight, bias, y;
  Window window;
};
struct Conv2dGradArgs {
  Tensor x, weight, dy, dx, dweight, dbias;
  Window window;
};

// x [B,Y,X,C] -> y [B,Y',X',C]. Padding takes no part: averages divide by the cells inside the image.
// index (i32, like y; kMaximum only) is the flat element of x that won, of equal ones the first.
enum class PoolOp : uint8_t { kMaximum, kAverage };
struct Pool2dArgs {
  PoolOp op;
  Tensor x, y, index;
  Window window;
};
struct Pool2dGradArgs {
  PoolOp op;
  Tensor dy, index, dx;
  Window window;
};

// Pooling over the time steps t < lengths[b] of x [T,B,D] (all T without lengths) -> y [B,D]. A sentence of length 0
// gives 0 and has no gradient. index (i32 [B,D]; kMaximum only) is the step of the maximum, the first of equal ones, or
// -1 for length 0.
struct PoolTimeArgs {
  PoolOp op;
  Tensor x, lengths, y, index;
};
struct PoolTimeGradArgs {
  PoolOp op;
  Tensor dy, lengths, index, dx;
};

// A convolution in which each channel has a filter of its own: x [B,Y,X,C], weight [height,width,C], bias [C] (may be
// absent), y [B,Y',X',C]; zero padding.
struct DepthwiseConv2dArgs {
  Tensor x, weight, bias, y;
  Window window;
};
struct DepthwiseConv2dGradArgs {
  Tensor x, weight, dy, dx, dweight, dbias;
  Window window;
};

// ---- optimisers --------------------------------------------------------------------------------

// out[0] += sum of x^2. out has A(T).
struct SquaredNormArgs {
  Tensor x, out;
};

// What every optimiser does first: g = grad * min(1, max_norm / sqrt(squared_norm)), with no clipping
// when max_norm is 0. Last, grad is set to zero, ready for the next step.
// `rate` [3] holds the learning rate and, for Adam, 1 - beta1^t and 1 - beta2^t; it and squared_norm [1]
// are tensors so that a captured step can be replayed with other values.
// g += decay param; velocity = momentum velocity + g; param -= rate velocity.
struct SgdArgs {
  Tensor param, grad, velocity;  // velocity may be absent: momentum 0
  Tensor rate, squared_norm;
  float max_norm = 0.0f, momentum = 0.0f, weight_decay = 0.0f;
};
// m = b1 m + (1-b1) g, v = b2 v + (1-b2) g^2; param -= rate (m/rate[1]) / (sqrt(v/rate[2]) + epsilon).
// Weight decay is decoupled (AdamW: param -= rate*decay*param, first) or added to g.
struct AdamArgs {
  Tensor param, grad, m, v;
  Tensor rate, squared_norm;
  float max_norm = 0.0f, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f, weight_decay = 0.0f;
  bool decoupled = true;
};

// ---- the table ---------------------------------------------------------------------------------

#define FOVEA_KERNELS(X)                                \
  X(matmul, MatmulArgs)                                 \
  X(affine, AffineArgs)                                 \
  X(unary, UnaryArgs)                                   \
  X(unary_grad, UnaryGradArgs)                          \
  X(binary, BinaryArgs)                                 \
  X(binary_grad, BinaryGradArgs)                        \
  X(reduce, ReduceArgs)                                 \
  X(reduce_grad, ReduceGradArgs)                        \
  X(concat, ConcatArgs)                                 \
  X(split, SplitArgs)                                   \
  X(embedding, EmbeddingArgs)                           \
  X(embedding_grad, EmbeddingGradArgs)                  \
  X(permute, PermuteArgs)                               \
  X(gather, GatherArgs)                                 \
  X(scatter_add, ScatterAddArgs)                        \
  X(dropout, DropoutArgs)                               \
  X(layer_norm, LayerNormArgs)                          \
  X(layer_norm_grad, LayerNormGradArgs)                 \
  X(normalize, NormalizeArgs)                           \
  X(normalize_grad, NormalizeGradArgs)                  \
  X(batch_norm, BatchNormArgs)                          \
  X(batch_norm_grad, BatchNormGradArgs)                 \
  X(softmax, SoftmaxArgs)                               \
  X(softmax_grad, SoftmaxGradArgs)                      \
  X(sparsemax, SparsemaxArgs)                           \
  X(sparsemax_grad, SparsemaxGradArgs)                  \
  X(cross_entropy, CrossEntropyArgs)                    \
  X(cross_entropy_grad, CrossEntropyGradArgs)           \
  X(additive_score, AdditiveScoreArgs)                  \
  X(additive_score_grad, AdditiveScoreGradArgs)         \
  X(additive_attention, AdditiveAttentionArgs)          \
  X(additive_attention_grad, AdditiveAttentionGradArgs) \
  X(dot_attention, DotAttentionArgs)                    \
  X(dot_attention_grad, DotAttentionGradArgs)           \
  X(gaussian_window, GaussianWindowArgs)                \
  X(gaussian_window_grad, GaussianWindowGradArgs)       \
  X(rotary, RotaryArgs)                                 \
  X(choose, ChooseArgs)                                 \
  X(top_k, TopKArgs)                                    \
  X(cell, CellArgs)                                     \
  X(cell_grad, CellGradArgs)                            \
  X(recurrent, RecurrentArgs)                           \
  X(recurrent_grad, RecurrentGradArgs)                  \
  X(conv2d, Conv2dArgs)                                 \
  X(conv2d_grad, Conv2dGradArgs)                        \
  X(pool2d, Pool2dArgs)                                 \
  X(pool2d_grad, Pool2dGradArgs)                        \
  X(pool_time, PoolTimeArgs)                            \
  X(pool_time_grad, PoolTimeGradArgs)                   \
  X(depthwise_conv2d, DepthwiseConv2dArgs)              \
  X(depthwise_conv2d_grad, DepthwiseConv2dGradArgs)     \
  X(squared_norm, SquaredNormArgs)                      \
  X(sgd, SgdArgs)                                       \
  X(adam, AdamArgs)

// A function pointer that cannot be left out of a table.
template <class Args> struct Kernel {
  using Function = void (*)(Stream&, const Args&);
  Kernel(Function f) : function(f) {}  // NOLINT(google-explicit-constructor)
  void operator()(Stream& stream, const Args& args) const { function(stream, args); }
  Function function;
};

struct KernelTable {
#define FOVEA_KERNEL_FIELD(name, Args) Kernel<Args> name;
  FOVEA_KERNELS(FOVEA_KERNEL_FIELD)
#undef FOVEA_KERNEL_FIELD
};

// The kernels of a device. Error when this build has none for it.
const KernelTable& kernels(Device device);
// Where work on the device is queued by this thread.
Stream& stream(Device device);

// Puts another table in a device's place (null: its own again), as the profile does. Not while others
// compute.
void replace_kernels(Device device, const KernelTable* table);

}  // namespace fovea
