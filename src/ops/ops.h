// The differentiable operations, one file each: check, allocate, launch, record. Errors read
// `op: expected ..., got ...`. Sequences are [T,B,D], scores and weights [B,H,T,S] (see kernels.h).
#pragma once

#include <span>
#include <utility>

#include "autograd/tape.h"

namespace fovea {

// ---- products ----
// y = x weight^T + bias: x [...,K], weight [N,K], bias [N] -> [...,N]. The weight's gradient is put off
// until all its uses are known (see Tape).
Var linear(const Var& x, const Var& weight, const Var& bias = {});
// Several of the same size at once, whose weights lie one after the other, and their biases too: [several,...,out].
Var linears(const Var& x, const Var& weights, const Var& biases, int64_t several);
// y += x weight^T, in place: for a y that no op's backward reads, and that is used for nothing else after.
void add_linear(const Var& y, const Var& x, const Var& weight);
// a [M,K] b [K,N], or batches of them [G,M,K] [G,K,N]; a transpose flag says the factor is stored so.
struct Transposes {
  bool a = false, b = false;
};
Var matmul(const Var& a, const Var& b, Transposes transposes = {});
// What products on this thread round their factors to. f32 unless a scope says otherwise; int8 is for decoding and
// means bf16 while a tape records.
Precision product_precision();
// What activations that begin with this parameter are kept in: on a card, where memory is what they cost, bf16 as soon
// as products are rounded to it.
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

// b has a's shape, or that of a run of a's axes: the last ones ([D] over [T,B,D]), the first ones
// (trailing ones may be written: [T,B,1]), or the middle ([1,B,1]); or one element.
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
Var sum(const Var& x, int axis);  // the axis goes
Var mean(const Var& x, int axis);
Var maximum(const Var& x, int axis);
Tensor argmax(const Tensor& x, int axis);  // i32

// ---- moving data ----
Var concat(std::span<const Var> parts, int axis);
inline Var concat(std::initializer_list<Var> parts, int axis) {
  return concat(std::span(parts.begin(), parts.size()), axis);
}
Var stack(std::span<const Var> parts);                  // a new first axis
Var columns(const Var& x, int64_t begin, int64_t end);  // of the last axis
// Axis i of the result is axis axes[i] of x.
Var permute(const Var& x, std::initializer_list<int> axes);
// As torch.gather: picks entries of x along an axis. The index (i32) has the rank of x and as many entries along the
// axis as the result; every other axis of it has the size of x's, or 1 for leading and trailing axes over which it is
// broadcast. The step lengths[b] - 1 of each sentence in [T,B,D] is picked by an index [1,B,1] along axis 0.
Var gather(const Var& x, int axis, const Tensor& index);
// As torch.scatter_add: x with the entries of `source` added along an axis, where the index says; entries with equal
// indices are all added. Copying attention weights [T,B,S] onto the vocabulary [T,B,V] takes an index [1,B,S].
Var scatter_add(const Var& x, int axis, const Tensor& index, const Var& source);
// [V,E], [...] -> [...,E], as the table's elements or, of an f32 one, as bf16.
Var embedding(const Var& table, const Tensor& ids, float scale = 1.0f);
Var embedding(const Var& table, const Tensor& ids, float scale, DType elements);

// ---- regularisation and normalisation ----
// Drops only while a tape in training records. `across_steps` repeats one mask over the first axis.
Var dropout(const Var& x, float rate, bool across_steps = false);
Var relu_dropout(const Var& x, float rate);  // dropout(relu(x))
Var layer_norm(const Var& x, const Var& gamma, const Var& beta, float epsilon = 1e-5f);
// A residual: x + dropout(more), and its layer norm.
struct Residual {
  Var sum, normed;
};
Residual layer_norm(const Var& x, const Var& more, float rate, const Var& gamma, const Var& beta,
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
// One loss a row: logits [...,V], targets i32 [...] -> [...] in the accumulator's dtype.
// With `consume`, backward writes the gradient over the logits: half the memory where the vocabulary is large.
// Then nothing else may need their values by that time, nor the op that made them (linear does not).
Var cross_entropy(const Var& logits, const Tensor& targets, float smoothing = 0.0f, int32_t ignore = -1,
                  bool consume = false);

// ---- attention ----
// scale * query . keys per head: [T,B,D], [S,B,D] -> [B,H,T,S]
Var dot_score(const Var& query, const Var& keys, int64_t heads = 1, float scale = 1.0f);
// v . tanh(query + keys) per head, v [D]; cells past lengths (i32 [B]) are 0
Var additive_score(const Var& query, const Var& keys, const Var& v, int64_t heads = 1, const Tensor& lengths = {});
// The weighted sum: weights [B,H,T,S], values [S,B,D] -> [T,B,D]
Var mix(const Var& weights, const Var& values);
// All at once, without writing the weights unless they are wanted.
struct DotAttention {
  int64_t heads = 1;
  float scale = 0.0f;  // 0: 1/sqrt(D/heads)
  Mask mask;
  float dropout = 0.0f;
  bool capture_weights = false;
};
struct Attended {
  Var out;         // [T,B,D]
  Tensor weights;  // [B,H,T,S], if wanted
};
// Additive attention whole, [T,B,D] [S,B,D] [D] [S,B,E]: as mix(softmax(additive_score(...)), values). For few queries:
// of many such calls on one memory, step by step, the gradients of keys and values are computed together; the values
// must have been made before the keys.
struct AdditiveAttention {
  int64_t heads = 1;
  Tensor lengths;
};
Attended additive_attention(const Var& query, const Var& keys, const Var& v, const Var& values,
                            const AdditiveAttention& options = {});
Attended dot_attention(const Var& query, const Var& keys, const Var& values, const DotAttention& options = {});
// Queries and keys turned by their positions: row t of x [T,B,H*d] stands at position + t * stride.
Var rotary(const Var& x, int64_t heads, int64_t position = 0, int64_t stride = 1);
// query . distances[clip(s - t)] per head (Shaw et al. 2018, equation 4): a learned vector for each distance up to
// w; query [T,B,H*d], distances [2w+1,d] -> [B,H,T,S]. Query t stands at position + t * stride among the keys.
struct Positions {
  int64_t first = 0, stride = 1;
};
Var relative_score(const Var& query, const Var& distances, int64_t keys, int64_t heads, Positions positions = {});
// weights * exp(-(s-center)^2 / 2 sigma^2), 0 further than width from the center; center [T,B,H]
Var gaussian_window(const Var& weights, const Var& center, float sigma, float width = 0.0f);

// ---- choosing ----
// One of each row of the last axis, as a row of one 1: by lot in proportion to the weights (only while a tape
// records), or the largest. `straight_through` gives the weights the gradient of what was chosen (Bengio et al. 2013);
// without it the choice has none.
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
  State final;  // after the last step taken
};
Unrolled recurrent(const Var& x_gates, const Recurrent& layer);  // x_gates [T,B,G*H]
// Two layers that may run side by side, as the two directions of an encoder do.
std::pair<Unrolled, Unrolled> recurrent_both(const Var& x_gates, const Recurrent& layer, const Var& other_gates,
                                             const Recurrent& other);

// ---- images ----
Var conv2d(const Var& x, const Var& weight, const Var& bias, const Window& window);  // [B,Y,X,C]; [O,h,w,C]
Var pool2d(PoolOp op, const Var& x, const Window& window);
// Each channel has a filter of its own: [B,Y,X,C]; [h,w,C].
Var depthwise_conv2d(const Var& x, const Var& weight, const Var& bias, const Window& window);
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
