// The interface between mathematics and devices: each kernel has a struct of named tensors for its arguments, and each
// backend has a table of functions. Adding a backend means filling a table.
//
// These rules hold for every kernel:
//  - Every *_grad kernel accumulates (+=) into its d* tensors, unless it has an `accumulate` argument that is false:
//    then it overwrites them. An absent d* tensor is not computed. Every forward kernel overwrites its outputs, unless
//    `accumulate` is true.
//  - "Elements" (activations and their gradients) all have one dtype T: f32 or bf16, f64 on reference. Sums are
//    computed in A(T): f32 for bf16, else T. Parameters (weight, bias, gamma, v ...), their gradients and statistics
//    (mean, rstd, lse, loss ...) have dtype A(T). Token ids, indices and lengths are i32. Only `matmul` and `affine`
//    accept any mixture of dtypes.
//  - Sequences are time-major: query [T,B,D], keys and values [S,B,D]. The last axis contains the heads, D = H*d.
//    Scores and attention weights are [B,H,T,S].
//  - The caller (src/ops) has checked the shapes: a kernel may assert them but does not throw.
//  - The same arguments give the same bits in every run and for every number of threads.
//  - A tensor may have zero elements; a kernel then computes the equation with an empty sum.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "tensor/tensor.h"

namespace fovea {

// An ordered queue of work on a device. The host backends compute immediately and ignore it.
struct Stream {
  Device device;
  void* handle = nullptr;
};

// The precision to which a GEMM may round its factors. kInt8 is for decoding: a weight stored [n,k] is quantised to
// 8 bits with one scale per row, and so is the other factor; all other GEMMs are computed as with kBF16.
enum class Precision : uint8_t { kF32, kBF16, kInt8 };

// ---- matrix products ---------------------------------------------------------------------------

// A batch of matrices inside a tensor. In elements, `row_stride` is the distance between stored rows, `batch_stride`
// the distance between matrices and `offset` the start of the first matrix. If `transposed`, the stored matrix is the
// transpose of the factor.
struct Matrix {
  Tensor tensor;
  int64_t row_stride = 0;
  int64_t batch_stride = 0;
  int64_t offset = 0;
  bool transposed = false;
  // The contents change only with a call of Buffer::contents_changed, so that a packed copy can be cached until then.
  bool weight = false;
};

// c[g] (+)= alpha * a[g] b[g] + bias, with a [m,k], b [k,n], c [m,n] and a bias [n] that is added to every row, or
// [batch,n] with one row for each matrix. k = 0 gives the bias, or zero. Each of a, b, c may be f32 or bf16 (all are
// f64 on reference); c is never transposed. A `precision` other than kF32 allows the backend to round a, b and the
// bias.
struct MatmulArgs {
  Matrix a, b, c;
  Tensor bias;
  int64_t m = 0, n = 0, k = 0, batch = 1;
  float alpha = 1.0f;
  bool accumulate = false;
  Precision precision = Precision::kF32;

  // Returns the distance between the biases of consecutive matrices, in elements.
  int64_t bias_stride() const { return batch > 1 && bias.size() == batch * n ? n : 0; }
};

// ---- elementwise -------------------------------------------------------------------------------

// y (+)= alpha * x + beta, between any two of f32, bf16, f64, i32: scaling, casting, copying, adding. Without x, y is
// filled with beta. The kernel computes in f64 if either tensor is f64, else in f32; i32 results are truncated towards
// zero.
struct AffineArgs {
  Tensor x, y;
  float alpha = 1.0f, beta = 0.0f;
  bool accumulate = false;
};

// kernels/pointwise.h defines the functions and their derivatives.
enum class UnaryOp : uint8_t { kTanh, kSigmoid, kRelu, kGelu, kExp, kLog, kSqrt, kSquare, kAbs, kReciprocal };
struct UnaryArgs {
  UnaryOp op;
  Tensor x, y;
};
struct UnaryGradArgs {
  UnaryOp op;
  Tensor x, y;  // x is given if unary_reads_input(op), else y
  Tensor dy, dx;
  bool accumulate = true;
};

// b is broadcast over a: a and y are [outer, b.size, inner], and b has one value for each index of the middle axis.
enum class BinaryOp : uint8_t { kAdd, kSubtract, kMultiply, kDivide, kMaximum, kMinimum };
struct BinaryArgs {
  BinaryOp op;
  Tensor a, b, y;
  int64_t outer = 1, inner = 1;
};
struct BinaryGradArgs {
  BinaryOp op;
  Tensor a, b;  // the values are always required
  Tensor dy, da, db;
  int64_t outer = 1, inner = 1;
};

// x [outer, count, inner] -> y [outer, inner]. With count = 0 the maximum is -inf with index -1 and the mean is 0. Of
// equal maxima the first is taken. index (i32) is given for kMaximum only. For a sum or mean, y may have dtype A(T),
// and the result may be added to it, as for the gradient of a bias.
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

// ---- indexing ----------------------------------------------------------------------------------

// A block of columns of the concatenated tensor [outer, sum of widths]; a block without a tensor is skipped.
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

// y[i] = scale * table[ids[i]], for a table of dtype A(T) or T. The ids must be valid rows. With `tables` > 1 the
// tensor contains that many tables of equal height, and y contains the rows selected from each of them in turn.
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

// Identifies the random numbers of one op in one step: the stream number of Philox is step << 32 | op_index. The kernel
// reads the step from device memory, so that a captured graph draws new numbers in each launch.
struct RandomStream {
  uint64_t seed = 0;
  uint32_t op_index = 0;
  Tensor step;  // i32 [1]
};

// y (+)= x * keep / (1 - rate), with keep = random_word(seed, stream, i % period) >= drop_threshold(rate) and
// 0 <= rate < 1. A period smaller than the size repeats the mask over the leading axis (variational dropout). The
// gradient is the same kernel applied to dy. With `base` [as x], y = base + dropout(x): a residual connection. With
// `gate` [as x], elements with gate <= 0 become 0: a ReLU before the dropout, where the gate is the input of the ReLU.
// Without `random.step` only the gate drops elements; it may then be the output of a ReLU with dropout.
struct DropoutArgs {
  Tensor x, y, base, gate;
  float rate = 0.0f;
  RandomStream random;
  int64_t period = 0;
  bool accumulate = false;
};

// ---- normalisation -----------------------------------------------------------------------------

// y = (x - mean) * rstd * gamma + beta over rows of the last axis; x [N,D], mean and rstd [N]. With `residual` [as x],
// the kernel first computes sum = x + dropout(residual), without a period, and normalises the sum. In the gradient, x
// is then the sum: dx receives the gradient of the sum; dresidual receives dx with the dropout mask applied.
struct LayerNormArgs {
  Tensor x, gamma, beta, y, mean, rstd;
  float epsilon = 1e-5f;
  Tensor residual, sum;
  float rate = 0.0f;
  RandomStream random;
};
struct LayerNormGradArgs {
  Tensor x, gamma, mean, rstd, dy, dx, dgamma, dbeta;
  bool accumulate = true;  // into dx; dgamma and dbeta are always accumulated
  Tensor dresidual;        // requires dx
  bool accumulate_residual = true;
  float rate = 0.0f;
  RandomStream random;
};

// y = x / max(|x|, epsilon) over rows of the last axis; x [N,D], scale [N] = 1 / max(|x|, epsilon),
// stored negative for a row whose norm was below epsilon (its gradient is then dy * |scale|).
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

// The attention mask. A key s is masked if s >= lengths[b], if causal and s > t + offset, or if its bias is -inf;
// otherwise the bias is added to its score. A row whose keys are all masked has weights 0 (log: -inf), output 0 and no
// gradient.
struct Mask {
  Tensor lengths;  // i32 [B]
  Tensor bias;     // A(T), [B|1, H|1, T|1, S]
  bool causal = false;
  int64_t offset = 0;  // position of the first query in the sequence of keys
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
  Tensor y, dy, dx;  // an element that is masked (y = 0, or -inf for log) gets no gradient
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
// dlogits may be the same tensor as logits: then it is overwritten, not accumulated.
struct CrossEntropyGradArgs {
  Tensor logits, targets, lse, dloss, dlogits;
  float smoothing = 0.0f;
  int32_t ignore = -1;
};

// The loss of known targets where a token is generated with probability g = sigmoid(gate), and otherwise copied from
// the source by its attention weight (See et al. 2017, equation 9):
//   loss[t,b] = -log(g exp(-nll[t,b]) + (1 - g) copied[t,b] + 1e-20)
//   copied[t,b] = mean over h of the sum of weights[b,h,t,s] where source[b,s] = targets[t,b]
// It is 0 where the target is `ignore`. A target that is not below `vocabulary` can only be copied. Without nll and
// gate every target is copied: g = 0. weights [B,H,T,S] are elements, source i32 [B,S], targets i32 [T,B]; all others
// are statistics [T,B].
struct PointerLossArgs {
  Tensor weights, source, targets, nll, gate, copied, loss;
  ScoreShape shape;
  int32_t vocabulary = 0, ignore = -1;
};
struct PointerLossGradArgs {
  Tensor source, targets, nll, gate, copied, dloss, dweights, dnll, dgate;
  ScoreShape shape;
  int32_t vocabulary = 0, ignore = -1;
};

// ---- attention ---------------------------------------------------------------------------------

// score[b,h,t,s] = sum_d v[h,d] tanh(query[t,b,h,d] + keys[s,b,h,d]): Bahdanau's additive score on
// projected queries and keys. The B*T*S*D values of tanh are never stored; backward recomputes them.
// Scores with s >= lengths[b] are set to 0 and have no gradient.
struct AdditiveScoreArgs {
  Tensor query, keys, v, score, lengths;
  int64_t heads = 1;
};
struct AdditiveScoreGradArgs {
  Tensor query, keys, v, lengths, dscore, dquery, dkeys, dv;
  int64_t heads = 1;
};

// The whole of additive attention, for the few queries of a decoder step: weights = softmax(score) over the keys with
// s < lengths[b], out = weights values, per head. query [T,B,D], keys [S,B,D], values [S,B,E], weights [B,H,T,S],
// out [T,B,E].
struct AdditiveAttentionArgs {
  Tensor query, keys, v, values, lengths, weights, out;
  int64_t heads = 1;
  Precision precision = Precision::kF32;
};
// Computes the gradients that the previous step needs: dscore [B,H,T,S] and dquery, both overwritten. The other
// gradients are sums over all steps: additive_score_grad computes them from the dscore of all steps, and matmul
// computes dvalues from the weights.
struct AdditiveAttentionGradArgs {
  Tensor query, keys, v, values, lengths, weights, dout, dscore, dquery;
  int64_t heads = 1;
  Precision precision = Precision::kF32;
};

// out = softmax(scale * query keys^T + mask) values, per head, with dropout on the weights. lse [B,H,T] is the
// log-sum-exp of each row (-inf if fully masked), from which backward recomputes the weights. weights [B,H,T,S], before
// dropout, are written only if the tensor is given. The dropout mask is indexed by the flat element of [B,H,T,S].
struct DotAttentionArgs {
  Tensor query, keys, values, out, lse, weights;
  int64_t heads = 1;
  float scale = 1.0f;
  Mask mask;
  float dropout = 0.0f;
  RandomStream random;
};
struct DotAttentionGradArgs {
  Tensor query, keys, values, out, lse, dout, dquery, dkeys, dvalues;
  int64_t heads = 1;
  bool accumulate = true;
  float scale = 1.0f;
  Mask mask;
  float dropout = 0.0f;
  RandomStream random;
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

// y (+)= x rotated: with d the depth of a head and w = position * 10000^(-2i/d), the pair (x[i], x[i + d/2]) of
// each head becomes (x[i] cos w - x[i + d/2] sin w, x[i] sin w + x[i + d/2] cos w) (Su et al. 2021). Row t of
// x [T,B,H*d] has the position `position + t * stride`. The gradient is the inverse rotation; d is even.
struct RotaryArgs {
  Tensor x, y;
  int64_t heads = 1, position = 0, stride = 1;
  bool inverse = false, accumulate = false;
};

// ---- sampling ----------------------------------------------------------------------------------

// Samples one index of each row of nonnegative weights [N,S] in proportion to the weights: the first index whose
// cumulative sum exceeds u * the sum of the row, with u = random_word(seed, stream, row) / 2^32. Without `random.step`
// it takes the argmax, of equal weights the first. one_hot [N,S] is 1 at the index and 0 elsewhere; it is 0 everywhere
// for a row of zeros.
struct SampleArgs {
  Tensor weights, one_hot;
  RandomStream random;
};

// The k largest elements of each row of x [N,V] in descending order, of equal elements the first: values [N,k] and
// index i32 [N,k]. If V < k, the remaining values are -inf with index -1. NaN is never selected.
struct TopKArgs {
  Tensor x, values, index;
  int64_t k = 1;
};

// ---- recurrence --------------------------------------------------------------------------------

// tanh: h' = tanh(x + h).  gates in x and h [B,H]
// gru:  r = s(xr+hr), z = s(xz+hz), n = tanh(xn + r*hn), h' = (1-z) n + z h.  [B,3H] = r,z,n
// lstm: i,f,g,o = s,s,tanh,s of (x+h), c' = f c + i g, h' = o tanh(c').  [B,4H] = i,f,g,o
// x is the projection of the input (with its bias), h the projection of the previous state (with its own bias).
enum class Cell : uint8_t { kTanh, kGru, kLstm };
constexpr int64_t gates_of(Cell cell) { return cell == Cell::kTanh ? 1 : cell == Cell::kGru ? 3 : 4; }
// Number of saved values per unit that backward reads: r,z,n,hn for gru; the activated i,f,g,o for lstm; none for tanh.
constexpr int64_t saved_of(Cell cell) { return cell == Cell::kTanh ? 0 : 4; }

struct CellArgs {
  Cell cell;
  Tensor x_gates, h_gates;           // [B,G*H]
  Tensor state, cell_state;          // h, c [B,H]; the cell state is for lstm only, here and below
  Tensor new_state, new_cell_state;  // [B,H]
  Tensor saved;                      // [B,saved*H]; optional if there is no backward
};
struct CellGradArgs {
  Cell cell;
  Tensor state, cell_state, new_state, new_cell_state, saved;
  Tensor dnew_state, dnew_cell_state;  // either may be absent, meaning zero
  Tensor dx_gates, dh_gates, dstate, dcell_state;
  bool accumulate = true;  // into dh_gates; the others are always accumulated
};

// A whole layer in one direction, given the projected inputs of all steps (one GEMM). states [T+1,B,H] and cell_states
// (lstm) contain the state before step t at index t and after it at t+1; in reverse, before step t at t+1 and after it
// at t. The kernel copies the initial states (zero if absent) to their index. A step past the length of its sentence
// copies the state.
struct RecurrentArgs {
  Cell cell;
  Tensor x_gates;                            // [T,B,G*H]
  Tensor weight, bias;                       // [G*H,H], [G*H] (optional)
  Tensor initial_state, initial_cell_state;  // [B,H]
  Tensor lengths;                            // i32 [B] (optional)
  Tensor states, cell_states;                // [T+1,B,H]
  Tensor saved;                              // [T,B,saved*H], unset past a length; optional if there is no backward
  bool reverse = false;
  Precision precision = Precision::kF32;
  const RecurrentArgs* concurrent = nullptr;  // an independent layer to compute as well, such as the other direction
};
// dstates [T,B,H] is the gradient of the T outputs, dfinal_cell_state [B,H] (optional) that of the last cell state.
// dh_gates [T,B,G*H] is overwritten, not accumulated; the caller computes the gradient of the weight from it with one
// GEMM. For tanh and lstm it may be the same tensor as dx_gates, which is then overwritten too.
struct RecurrentGradArgs {
  Cell cell;
  Tensor weight, lengths, states, cell_states, saved;
  Tensor dstates, dfinal_cell_state;
  Tensor dx_gates, dh_gates, dinitial_state, dinitial_cell_state;
  bool reverse = false;
  Precision precision = Precision::kF32;
  const RecurrentGradArgs* concurrent = nullptr;
};

// ---- images ------------------------------------------------------------------------------------

// An image is padded by pad_y rows at the top and pad_y + extra_y rows at the bottom; columns alike. A kernel need not
// read extra_y and extra_x: they are part of the size of y.
struct Window {
  int64_t height = 1, width = 1;
  int64_t stride_y = 1, stride_x = 1;
  int64_t pad_y = 0, pad_x = 0;
  int64_t extra_y = 0, extra_x = 0;
};

// y = conv(x) + bias + residual, and then its positive part if `relu`: x [B,Y,X,C], weight [O,height,width,C], bias [O]
// (optional), y and residual (optional) [B,Y',X',O]; zero padding. The weight changes only with a call of
// Buffer::contents_changed, so that a packed copy can be cached until then.
struct Conv2dArgs {
  Tensor x, weight, bias, y;
  Window window;
  Tensor residual;
  bool relu = false;
};
struct Conv2dGradArgs {
  Tensor x, weight, dy, dx, dweight, dbias;
  Window window;
};

// x [B,Y,X,C] -> y [B,Y',X',C]. Padding is ignored: averages divide by the number of pixels inside the image. index
// (i32, shaped as y, kMaximum only) is the flat index in x of the maximum, of equal maxima the first.
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
// absent), y [B,Y',X',C]; zero padding. With `relu`, y is the positive part of the result.
struct DepthwiseConv2dArgs {
  Tensor x, weight, bias, y;
  Window window;
  bool relu = false;
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

// Every optimiser first clips the gradient, g = grad * min(1, max_norm / sqrt(squared_norm)), unless max_norm is 0, and
// finally sets grad to zero for the next step. `rate` [3] contains the learning rate and, for Adam, 1 - beta1^t and
// 1 - beta2^t; it and squared_norm [1] are tensors so that a captured graph can be launched with other values.
// g += decay param; velocity = momentum velocity + g; param -= rate velocity.
struct SgdArgs {
  Tensor param, grad, velocity;  // without velocity the momentum is 0
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
  X(pointer_loss, PointerLossArgs)                      \
  X(pointer_loss_grad, PointerLossGradArgs)             \
  X(additive_score, AdditiveScoreArgs)                  \
  X(additive_score_grad, AdditiveScoreGradArgs)         \
  X(additive_attention, AdditiveAttentionArgs)          \
  X(additive_attention_grad, AdditiveAttentionGradArgs) \
  X(dot_attention, DotAttentionArgs)                    \
  X(dot_attention_grad, DotAttentionGradArgs)           \
  X(gaussian_window, GaussianWindowArgs)                \
  X(gaussian_window_grad, GaussianWindowGradArgs)       \
  X(rotary, RotaryArgs)                                 \
  X(sample, SampleArgs)                                 \
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

// A function pointer without a default value, so that a table that omits a kernel does not compile.
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

// Returns the kernels of a device. Throws Error if this build has none for it.
const KernelTable& kernels(Device device);
// Returns the stream on which this thread queues work of the device.
Stream& stream(Device device);

// Replaces the table of a device, as the profile does; null restores the original one. No other thread may be
// computing.
void replace_kernels(Device device, const KernelTable* table);

}  // namespace fovea
