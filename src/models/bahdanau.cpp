// Bahdanau, Cho & Bengio 2015, "Neural machine translation by jointly learning to align and translate".
// The decoder's last state asks before each step:
//   e_ij = a(s_{i-1}, h_j),  a_ij = softmax_j(e_ij),  c_i = sum_j a_ij h_j   (equations 5 and 6)
//   s_i = f(s_{i-1}, y_{i-1}, c_i)
//   p(y_i) = softmax(W tanh(U [s_i; c_i; y_{i-1}]))                          (deep output, appendix A.2.2)
#include "models/architectures.h"
#include "models/recurrent_model.h"

namespace fovea {

namespace {

class Bahdanau final : public RecurrentModel {
 public:
  Bahdanau(Parameters& parameters, const ModelConfig& config, const VocabularySizes& sizes)
      : RecurrentModel(parameters, config, sizes),
        attention_(parameters, "attention", config.attention, config.hidden, encoder_.depth()),
        out_(parameters, config, words_, config.hidden + attention_.context_depth(), sizes.target) {
    make_cells(parameters, attention_.context_depth());
  }

 private:
  Features step(const Var& word_gates, RecurrentState& state, StepAttention& attention) const override {
    const Var context = attention.attend(state.top);
    state.top = cells().step(word_gates, context, state.cells);
    return {state.top, context};
  }
  Var read(const Features& features, const Var& words) const override {
    return out_({features.state, features.context, words});
  }
  const Attention* attention() const override { return &attention_; }

  Attention attention_;
  DeepOutput out_;
};

}  // namespace

std::unique_ptr<Model> make_bahdanau(Parameters& parameters, const ModelConfig& config, const VocabularySizes& sizes) {
  return std::make_unique<Bahdanau>(parameters, config, sizes);
}

}  // namespace fovea
