// The differentiable operations. Each checks its arguments, allocates its result, launches a kernel and adds a node to
// the tape. Errors read `op: expected ..., got ...`. Sequences are [T,B,D], scores and weights [B,H,T,S] (see
// kernels.h).
#pragma once

#include <span>
#include <utility>

#include "autograd/tape.h"

namespace fovea {

// ---- products ----
// y = x weight^T + bias: x [...,K], weight [N,K], bias [N] -> [...,N]. The gradient of the weight is deferred until all
// its uses are known (see Tape).
Var linear(const Var& x, const Var& weight, const Var& bias = {});
// Several linear layers of one size at once, with their weights stored one after the other, and their biases too:
// x [...,K], weights [several*N,K], biases [several*N] -> [several,...,N].
Var stacked_linear(const Var& x, const Var& weights, const Var& biases, int64_t several);
// y += x weight^T, in place. No backward may read the value of y.
void add_linear(const Var& y, const Var& x, const Var& weight);
// a [M,K] b [K,N], or batches [G,M,K] [G,K,N]. A flag says that the factor is stored transposed.
struct Transposes {
  bool a = false, b = false;
};
Var matmul(const Var& a, const Var& b, Transposes transposes = {});
// The precision to which products on this thread round their factors: f32 unless a PrecisionScope sets another. int8 is
// for decoding and means bf16 while a tape records.
Precision product_precision();
// The dtype of activations computed from this parameter: on a GPU bf16 if products are rounded to it, which
// halves their memory; else that of the parameter.
DType activation_type(const Tensor& parameter);
class PrecisionScope {
 public:
  explicit PrecisionScope(Precision precision);
  ~PrecisionScope();
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

 private:
  Precision before_;
};

// ---- elementwise ----
Var unary(UnaryOp op, const Var& x);
inline Var tanh(const Var& x) { return unary(UnaryOp::kTanh, x); }
inline Var sigmoid(const Var& x) { return unary(UnaryOp::kSigmoid, x); }
inline Var relu(const Var& x) { return unary(UnaryOp::kRelu, x); }
inline Var gelu(const Var& x) { return unary(UnaryOp::kGelu, x); }
inline Var exp(const Var& x) { return unary(UnaryOp::kExp, x); }
inline Var log(const Var& x) { return unary(UnaryOp::kLog, x); }
inline Var sqrt(const Var& x) { return unary(UnaryOp::kSqrt, x); }
inline Var square(const Var& x) { return unary(UnaryOp::kSquare, x); }
inline Var abs(const Var& x) { return unary(UnaryOp::kAbs, x); }
inline Var reciprocal(const Var& x) { return unary(UnaryOp::kReciprocal, x); }

// b is broadcast to a: it has the shape of a, of its last axes ([D] for [T,B,D]), of its first axes followed by ones
// ([T,B,1]), of axes in the middle between ones ([1,B,1]), or one element.
Var binary(BinaryOp op, const Var& a, const Var& b);
inline Var operator+(const Var& a, const Var& b) { return binary(BinaryOp::kAdd, a, b); }
inline Var operator-(const Var& a, const Var& b) { return binary(BinaryOp::kSubtract, a, b); }
inline Var operator*(const Var& a, const Var& b) { return binary(BinaryOp::kMultiply, a, b); }
inline Var operator/(const Var& a, const Var& b) { return binary(BinaryOp::kDivide, a, b); }
inline Var maximum(const Var& a, const Var& b) { return binary(BinaryOp::kMaximum, a, b); }
inline Var minimum(const Var& a, const Var& b) { return binary(BinaryOp::kMinimum, a, b); }

Var affine(const Var& x, float alpha, float beta = 0.0f);  // alpha x + beta
Var cast(const Var& x, DType dtype);

// ---- reductions ----
Var sum(const Var& x);  // of all elements, [1]
Var mean(const Var& x);
Var sum(const Var& x, int axis);  // removes the axis
Var mean(const Var& x, int axis);
Var maximum(const Var& x, int axis);
Tensor argmax(const Tensor& x, int axis);  // i32

// ---- moving data ----
Var concat(std::span<const Var> parts, int axis);
inline Var concat(std::initializer_list<Var> parts, int axis) {
  return concat(std::span(parts.begin(), parts.size()), axis);
}
Var stack(std::span<const Var> parts);                  // a new first axis
Var columns(const Var& x, int64_t begin, int64_t end);  // a slice of the last axis
// Axis i of the result is axis axes[i] of x.
Var permute(const Var& x, std::initializer_list<int> axes);
// As torch.gather: picks entries of x along an axis. The index (i32) has the rank of x and as many entries along the
// axis as the result; every other axis of it has the size of x's, or 1 for leading and trailing axes over which it is
// broadcast. The step lengths[b] - 1 of each sentence in [T,B,D] is picked by an index [1,B,1] along axis 0.
Var gather(const Var& x, int axis, const Tensor& index);
// As torch.scatter_add: x with the entries of `source` added along an axis, where the index says; entries with equal
// indices are all added. Copying attention weights [T,B,S] onto the vocabulary [T,B,V] takes an index [1,B,S].
Var scatter_add(const Var& x, int axis, const Tensor& index, const Var& source);
// table [V,E], ids [...] -> [...,E], in the dtype of the table or, from an f32 table, in bf16.
Var embedding(const Var& table, const Tensor& ids, float scale = 1.0f);
Var embedding(const Var& table, const Tensor& ids, float scale, DType elements);

// ---- regularisation and normalisation ----
// Drops only while a tape in training records. With `across_steps`, all steps of the first axis share one mask
// (variational dropout).
Var dropout(const Var& x, float rate, bool across_steps = false);
Var relu_dropout(const Var& x, float rate);  // dropout(relu(x))
Var layer_norm(const Var& x, const Var& gamma, const Var& beta, float epsilon = 1e-5f);
// A residual connection: sum = x + dropout(residual), and its layer norm.
struct Residual {
  Var sum, normed;
};
Residual layer_norm(const Var& x, const Var& residual, float rate, const Var& gamma, const Var& beta,
                    float epsilon = 1e-5f);
Var normalize(const Var& x, float epsilon = 1e-8f);  // rows of length 1, for cosine scores

// Batch normalisation of the last axis, [...,C]. While a tape in training records, each channel is normalised with the
// mean and variance of the batch, and the running averages move towards these by `momentum`, in place; otherwise with
// the running averages.
struct RunningStatistics {
  Tensor mean, variance;  // [C]
};
Var batch_norm(const Var& x, const Var& gamma, const Var& beta, const RunningStatistics& running, float momentum = 0.1f,
               float epsilon = 1e-5f);
// The parameters of a convolution [O,h,w,C], or of a depthwise one [h,w,C], that computes what it and a batch norm
// after it compute outside training. The bias may be absent.
struct ConvParameters {
  Var weight, bias;
};
ConvParameters fold_batch_norm(const ConvParameters& conv, const Var& gamma, const Var& beta,
                               const RunningStatistics& running, float epsilon = 1e-5f);

// ---- softmax and losses ----
Var softmax(const Var& x, const Mask& mask = {});  // over the last axis of [B,H,T,S], [B,T,S] or [...,S]
Var log_softmax(const Var& x, const Mask& mask = {});
Var sparsemax(const Var& x, const Mask& mask = {});
// One loss per row: logits [...,V], targets i32 [...] -> [...] in the dtype of the accumulator.
// With `consume`, backward overwrites the logits with their gradient, which halves the memory of a large vocabulary.
// No other backward that runs later may then read the logits (that of linear does not).
Var cross_entropy(const Var& logits, const Tensor& targets, float smoothing = 0.0f, int32_t ignore = -1,
                  bool consume = false);
// The same without smoothing, but with the gradient of the smoothed loss: for a part of a mixture, whose smoothing must
// not change the probability that the mixture sees.
Var negative_log_likelihood(const Var& logits, const Tensor& targets, float smoothing = 0.0f, int32_t ignore = -1,
                            bool consume = false);
// The loss of a pointer-generator for known targets (see PointerLossArgs), without a distribution over the vocabulary:
// weights [B,H,T,S], source i32 [B,S], targets i32 [T,B], nll and gate [T,B] or absent -> [T,B].
struct PointerTargets {
  Tensor source, targets;
  int64_t vocabulary = 0;  // the targets that can be generated are below it
  int32_t ignore = -1;
};
Var pointer_loss(const Var& weights, const Var& nll, const Var& gate, const PointerTargets& targets);

// ---- attention ----
// scale * query . keys per head: [T,B,D], [S,B,D] -> [B,H,T,S]
Var dot_score(const Var& query, const Var& keys, int64_t heads = 1, float scale = 1.0f);
// v . tanh(query + keys) per head, v [D]; cells past lengths (i32 [B]) are 0
Var additive_score(const Var& query, const Var& keys, const Var& v, int64_t heads = 1, const Tensor& lengths = {});
// The context vectors of attention: weights [B,H,T,S], values [S,B,D] -> [T,B,D]
Var weighted_sum(const Var& weights, const Var& values);
// Fused scaled-dot attention, which writes the weights only on request.
struct DotAttention {
  int64_t heads = 1;
  float scale = 0.0f;  // 0: 1/sqrt(D/heads)
  Mask mask;
  float dropout = 0.0f;
  bool capture_weights = false;
};
struct Attended {
  Var out;         // [T,B,D]
  Tensor weights;  // [B,H,T,S], if requested
};
// Fused additive attention, equal to weighted_sum(softmax(additive_score(...)), values), for the few queries of a
// decoder step: query [T,B,D], keys [S,B,D], v [D], values [S,B,E] -> [T,B,E]. The gradients of keys and values are
// deferred and computed for all steps over one memory together; therefore the values must have been computed before the
// keys.
struct AdditiveAttention {
  int64_t heads = 1;
  Tensor lengths;
};
Attended additive_attention(const Var& query, const Var& keys, const Var& v, const Var& values,
                            const AdditiveAttention& options = {});
Attended dot_attention(const Var& query, const Var& keys, const Var& values, const DotAttention& options = {});
// Rotary position embeddings of queries and keys: row t of x [T,B,H*d] has the position `position + t * stride`.
Var rotary(const Var& x, int64_t heads, int64_t position = 0, int64_t stride = 1);
// query . distances[clip(s - t)] per head (Shaw et al. 2018, equation 4), with a learned vector for each distance up to
// w: query [T,B,H*d], distances [2w+1,d] -> [B,H,T,S]. Query t has the position `first + t * stride` among the keys.
struct Positions {
  int64_t first = 0, stride = 1;
};
Var relative_score(const Var& query, const Var& distances, int64_t keys, int64_t heads, Positions positions = {});
// weights * exp(-(s-center)^2 / 2 sigma^2), and 0 where |s - center| > width (0: no limit); center [T,B,H]
Var gaussian_window(const Var& weights, const Var& center, float sigma, float width = 0.0f);

// ---- sampling ----
// A one-hot vector for each row of the last axis: stochastic, an index sampled in proportion to the weights (only while
// a tape records), or else the largest. With `straight_through` the gradient of the result is passed to the weights
// (Bengio et al. 2013); without it there is none.
Var sample_one_hot(const Var& weights, bool stochastic, bool straight_through);
struct TopK {
  Tensor values, index;  // [...,k], largest first
};
TopK top_k(const Tensor& x, int64_t k);

// ---- recurrence ----
struct State {
  Var state, cell_state;  // h and c [B,H]; c is for LSTM only
};
State cell(Cell kind, const Var& x_gates, const Var& h_gates, const State& before);
struct Recurrent {
  Cell cell = Cell::kGru;
  Var weight, bias;  // [G*H,H], [G*H]
  State initial;     // zero if absent
  Tensor lengths;    // i32 [B]
  bool reverse = false;
};
struct Unrolled {
  Var states;   // [T,B,H]
  State final;  // after the last step
};
Unrolled recurrent(const Var& x_gates, const Recurrent& layer);  // x_gates [T,B,G*H]
// Two independent layers that may run concurrently, as the two directions of an encoder do.
std::pair<Unrolled, Unrolled> recurrent_both(const Var& x_gates, const Recurrent& layer, const Var& other_gates,
                                             const Recurrent& other);

// ---- images ----
// The window with the padding that TensorFlow calls SAME: ceil(size / stride) windows along each axis; an odd padding
// has its last row at the bottom and its last column at the right.
Window same_padding(Window window, int64_t height, int64_t width);
struct ConvOutput {
  Var residual;  // added to the result; as large as it
  bool relu = false;
};
// [B,Y,X,C]; [O,h,w,C]. Where no gradient is needed, the residual and the rectifier are part of the kernel.
Var conv2d(const Var& x, const Var& weight, const Var& bias, const Window& window, const ConvOutput& output = {});
Var pool2d(PoolOp op, const Var& x, const Window& window);
// Each channel has a filter of its own: [B,Y,X,C]; [h,w,C].
Var depthwise_conv2d(const Var& x, const Var& weight, const Var& bias, const Window& window, bool rectified = false);
// The same over time: x [T,B,D], weight [k,D] -> [T + 2 pad - k + 1,B,D]. With a pad of k-1, the first T steps of the
// result are a causal convolution. Steps past a sentence's length should be 0.
Var depthwise_conv1d(const Var& x, const Var& weight, const Var& bias, int64_t pad);

// ---- pooling over time ----
// The mean or maximum over the steps below the lengths (i32 [B]; absent: all): [T,B,D] -> [B,D]. Length 0 gives 0.
Var pool_time(PoolOp op, const Var& x, const Tensor& lengths = {});
// Attention pooling: scores [T,B,H], softmax over the steps below the lengths, and the weighted sum of x [T,B,D] in H
// heads. out is [B,D], the weights are [B,H,1,T].
Attended attention_pool(const Var& scores, const Var& x, const Tensor& lengths = {});

}  // namespace fovea
