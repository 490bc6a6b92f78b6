// Additive attention (Bahdanau et al. 2015) by Fovea's kernels, fused and unfused:
//   score[b,t,s] = v . tanh(query[t,b] + keys[s,b]),  weights = softmax over s,  context = weights values
// and its gradients with respect to query, keys, v and values.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace bench {

struct AttentionSize {
  int64_t batch = 32, queries = 1, keys = 1, width = 512;
};

// query and dcontext are [T,B,D], keys and values [S,B,D], v [D]. A file holds their elements in this order.
struct AttentionInputs {
  fovea::Tensor query, keys, values, v, dcontext;

  static AttentionInputs random(const AttentionSize& size);
  static AttentionInputs read(const std::string& file, const AttentionSize& size);
  void write(const std::string& file) const;
  // The first `batch` sentences, copied to the device.
  AttentionInputs first(int64_t batch, fovea::Device device) const;
};

// [N,B,D] -> [N,batch,D] on the device
fovea::Tensor first_sentences(const fovea::Tensor& x, int64_t batch, fovea::Device device);

// context, dquery, dkeys, dvalues, dv. A file holds their elements in this order.
using AttentionResults = std::vector<fovea::Tensor>;
AttentionResults make_results(const AttentionSize& size, fovea::Device device);
AttentionResults read_results(const std::string& file, const AttentionSize& size);
void write_results(const std::string& file, const AttentionResults& results);

class AdditiveAttention {
 public:
  virtual ~AdditiveAttention() = default;
  virtual void forward() = 0;
  virtual void backward() = 0;  // after forward
  virtual const AttentionResults& results() const = 0;
};
std::unique_ptr<AdditiveAttention> make_fused(const AttentionInputs& inputs);
std::unique_ptr<AdditiveAttention> make_unfused(const AttentionInputs& inputs);

}  // namespace bench
