#include "bench/additive_attention.h"

#include <cstring>
#include <fstream>

#include "base/random.h"
#include "bench/harness.h"
#include "kernels/kernels.h"

namespace bench {

using namespace fovea;

namespace {

const Device kCpu = Device::cpu();

std::vector<Tensor> make_tensors(const std::vector<Shape>& shapes, Device device) {
  std::vector<Tensor> tensors;
  tensors.reserve(shapes.size());
  for (const Shape& shape : shapes) tensors.push_back(zeros(shape, DType::kF32, device));
  return tensors;
}
void read_all(const std::string& file, const std::vector<Tensor>& tensors) {
  std::ifstream in(file, std::ios::binary);
  for (const Tensor& x : tensors) in.read(reinterpret_cast<char*>(x.raw()), static_cast<std::streamsize>(x.bytes()));
  if (!in) wrong("cannot read " + file);
}
void write_all(const std::string& file, const std::vector<Tensor>& tensors) {
  std::ofstream out(file, std::ios::binary);
  for (const Tensor& x : tensors) {
    out.write(reinterpret_cast<const char*>(x.raw()), static_cast<std::streamsize>(x.bytes()));
  }
  if (!out) wrong("cannot write " + file);
}

AttentionInputs make_inputs(const AttentionSize& size) {
  const Shape queries{size.queries, size.batch, size.width}, keys{size.keys, size.batch, size.width};
  const auto tensors = make_tensors({queries, keys, keys, {size.width}, queries}, kCpu);
  return {tensors[0], tensors[1], tensors[2], tensors[3], tensors[4]};
}

// Both versions share everything after the scores.
class ScoredAttention : public AdditiveAttention {
 public:
  explicit ScoredAttention(const AttentionInputs& inputs)
      : in_(inputs),
        size_{in_.query.dim(1), in_.query.dim(0), in_.keys.dim(0), in_.query.dim(2)},
        device_(in_.query.device()),
        results_(make_results(size_, device_)) {
    const Shape cells{size_.batch, 1, size_.queries, size_.keys};
    for (Tensor* x : {&score_, &weights_, &dscore_, &dweights_}) *x = zeros(cells, DType::kF32, device_);
  }

  void forward() override {
    scores();
    table().softmax(queue(), {.x = score_, .y = weights_, .shape = shape()});
    table().matmul(queue(), {.a = cells(weights_),
                             .b = sequence(in_.values),
                             .c = sequence(context()),
                             .m = size_.queries,
                             .n = size_.width,
                             .k = size_.keys,
                             .batch = size_.batch});
  }

  void backward() override {
    clear(dscore_);
    table().matmul(queue(), {.a = transposed(cells(weights_)),
                             .b = sequence(in_.dcontext),
                             .c = sequence(dvalues()),
                             .m = size_.keys,
                             .n = size_.width,
                             .k = size_.queries,
                             .batch = size_.batch});
    table().matmul(queue(), {.a = sequence(in_.dcontext),
                             .b = transposed(sequence(in_.values)),
                             .c = cells(dweights_),
                             .m = size_.queries,
                             .n = size_.keys,
                             .k = size_.width,
                             .batch = size_.batch});
    table().softmax_grad(queue(), {.y = weights_, .dy = dweights_, .dx = dscore_, .shape = shape()});
    score_gradients();
  }

  const AttentionResults& results() const override { return results_; }

 protected:
  virtual void scores() = 0;           // sets score_ [B,1,T,S]
  virtual void score_gradients() = 0;  // sets dquery, dkeys and dv

  const KernelTable& table() const { return kernels(device_); }
  Stream& queue() const { return stream(device_); }
  ScoreShape shape() const { return {.batch = size_.batch, .queries = size_.queries, .keys = size_.keys}; }
  const Tensor& context() const { return results_[0]; }
  const Tensor& dquery() const { return results_[1]; }
  const Tensor& dkeys() const { return results_[2]; }
  const Tensor& dvalues() const { return results_[3]; }
  const Tensor& dv() const { return results_[4]; }
  // One matrix per sentence.
  Matrix cells(const Tensor& x) const {
    return {.tensor = x, .row_stride = x.dim(3), .batch_stride = x.dim(2) * x.dim(3)};
  }
  Matrix sequence(const Tensor& x) const {
    return {.tensor = x, .row_stride = x.dim(1) * x.dim(2), .batch_stride = x.dim(2)};
  }
  void clear(const Tensor& x) const { zero_memory(device_, x.raw(), x.bytes()); }
  static Matrix transposed(Matrix x) {
    x.transposed = true;
    return x;
  }

  AttentionInputs in_;
  AttentionSize size_;
  Device device_;
  AttentionResults results_;
  Tensor score_, weights_, dscore_, dweights_;
};

class Fused : public ScoredAttention {
 public:
  using ScoredAttention::ScoredAttention;

 private:
  void scores() override {
    table().additive_score(queue(), {.query = in_.query, .keys = in_.keys, .v = in_.v, .score = score_});
  }
  void score_gradients() override {
    for (const Tensor& x : {dquery(), dkeys(), dv()}) clear(x);
    table().additive_score_grad(queue(), {.query = in_.query,
                                          .keys = in_.keys,
                                          .v = in_.v,
                                          .dscore = dscore_,
                                          .dquery = dquery(),
                                          .dkeys = dkeys(),
                                          .dv = dv()});
  }
};

// Writes the tanh out as [T,S,B,D], one query after the other.
class Unfused : public ScoredAttention {
 public:
  explicit Unfused(const AttentionInputs& inputs) : ScoredAttention(inputs) {
    const Shape cells{size_.queries, size_.keys, size_.batch, size_.width};
    for (Tensor* x : {&sum_, &tanh_, &dsum_}) *x = empty(cells, DType::kF32, device_);
    dv_parts_ = empty({size_.batch, size_.width}, DType::kF32, device_);
  }

 private:
  void scores() override {
    for (int64_t t = 0; t < size_.queries; ++t) {
      table().binary(queue(),
                     {.op = BinaryOp::kAdd, .a = in_.keys, .b = in_.query[t], .y = sum_[t], .outer = size_.keys});
    }
    table().unary(queue(), {.op = UnaryOp::kTanh, .x = sum_, .y = tanh_});
    for (int64_t t = 0; t < size_.queries; ++t) {
      table().matmul(queue(), {.a = sequence(tanh_[t]),
                               .b = column(in_.v),
                               .c = scores_of(score_, t),
                               .m = size_.keys,
                               .n = 1,
                               .k = size_.width,
                               .batch = size_.batch});
    }
  }
  void score_gradients() override {
    const Tensor dtanh = sum_;  // reuses the storage of the sum, which is not read again
    for (int64_t t = 0; t < size_.queries; ++t) {
      table().matmul(queue(), {.a = scores_of(dscore_, t),
                               .b = row(in_.v),
                               .c = sequence(dtanh[t]),
                               .m = size_.keys,
                               .n = size_.width,
                               .k = 1,
                               .batch = size_.batch});
      table().matmul(queue(), {.a = transposed(scores_of(dscore_, t)),
                               .b = sequence(tanh_[t]),
                               .c = row(dv_parts_),
                               .m = 1,
                               .n = size_.width,
                               .k = size_.keys,
                               .batch = size_.batch,
                               .accumulate = t > 0});
    }
    table().affine(queue(), {.y = dsum_});
    table().unary_grad(queue(), {.op = UnaryOp::kTanh, .y = tanh_, .dy = dtanh, .dx = dsum_});
    table().reduce(queue(),
                   {.op = ReduceOp::kSum, .x = dsum_, .y = dkeys(), .count = size_.queries, .inner = dkeys().size()});
    table().reduce(queue(), {.op = ReduceOp::kSum,
                             .x = dsum_,
                             .y = dquery(),
                             .outer = size_.queries,
                             .count = size_.keys,
                             .inner = size_.batch * size_.width});
    table().reduce(queue(),
                   {.op = ReduceOp::kSum, .x = dv_parts_, .y = dv(), .count = size_.batch, .inner = size_.width});
  }

  Matrix row(const Tensor& x) const {  // one row per sentence, or the same row for all
    return {.tensor = x, .row_stride = size_.width, .batch_stride = x.rank() == 2 ? size_.width : 0};
  }
  Matrix column(const Tensor& x) const { return {.tensor = x, .row_stride = 1}; }
  // The scores of query t, one column per sentence.
  Matrix scores_of(const Tensor& x, int64_t t) const {
    return {.tensor = x, .row_stride = 1, .batch_stride = size_.queries * size_.keys, .offset = t * size_.keys};
  }

  Tensor sum_, tanh_, dsum_, dv_parts_;
};

}  // namespace

AttentionInputs AttentionInputs::random(const AttentionSize& size) {
  AttentionInputs inputs = make_inputs(size);
  Random random(3);
  for (const Tensor* x : {&inputs.query, &inputs.keys, &inputs.values, &inputs.v, &inputs.dcontext}) {
    const double scale = x == &inputs.v ? 0.05 : 1;
    for (int64_t i = 0; i < x->size(); ++i) x->data<float>()[i] = static_cast<float>(scale * random.normal());
  }
  return inputs;
}
AttentionInputs AttentionInputs::read(const std::string& file, const AttentionSize& size) {
  const AttentionInputs inputs = make_inputs(size);
  read_all(file, {inputs.query, inputs.keys, inputs.values, inputs.v, inputs.dcontext});
  return inputs;
}
void AttentionInputs::write(const std::string& file) const { write_all(file, {query, keys, values, v, dcontext}); }

AttentionInputs AttentionInputs::first(int64_t batch, Device device) const {
  const auto part = [&](const Tensor& x) { return first_sentences(x, batch, device); };
  return {part(query), part(keys), part(values), to_device(v, device), part(dcontext)};
}

Tensor first_sentences(const Tensor& x, int64_t batch, Device device) {
  const Tensor part = empty({x.dim(0), batch, x.dim(2)}, DType::kF32, device);
  for (int64_t n = 0; n < x.dim(0); ++n) copy(x[n].slice(0, batch), part[n]);
  return part;
}

AttentionResults make_results(const AttentionSize& size, Device device) {
  const Shape queries{size.queries, size.batch, size.width}, keys{size.keys, size.batch, size.width};
  return make_tensors({queries, queries, keys, keys, {size.width}}, device);
}
AttentionResults read_results(const std::string& file, const AttentionSize& size) {
  const AttentionResults results = make_results(size, kCpu);
  read_all(file, results);
  return results;
}
void write_results(const std::string& file, const AttentionResults& results) { write_all(file, results); }

std::unique_ptr<AdditiveAttention> make_fused(const AttentionInputs& inputs) { return std::make_unique<Fused>(inputs); }
std::unique_ptr<AdditiveAttention> make_unfused(const AttentionInputs& inputs) {
  return std::make_unique<Unfused>(inputs);
}

}  // namespace bench
