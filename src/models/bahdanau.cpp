// Bahdanau, Cho & Bengio 2015, "Neural machine translation by jointly learning to align and translate".
// The previous state of the decoder is the query of each step:
//   e_ij = a(s_{i-1}, h_j),  a_ij = softmax_j(e_ij),  c_i = sum_j a_ij h_j   (equations 5 and 6)
//   s_i = f(s_{i-1}, y_{i-1}, c_i)
// With model.attention.sentinel, the query attends also to a sentinel made of s_{i-1} (sentinel.h).
// With model.context_gate, c_i is multiplied by sigmoid(w s_{i-1}) (Xu et al. 2015, section 4.2.1).
//   p(y_i) = softmax(W tanh(U [s_i; c_i; y_{i-1}]))                          (deep output, appendix A.2.2)
#include "models/architectures.h"
#include "models/recurrent_decoder.h"

namespace fovea {

namespace {

class Bahdanau final : public RecurrentDecoder {
 public:
  Bahdanau(Parameters& parameters, const ModelConfig& config, const Encoder& encoder, int64_t vocabulary_size)
      : RecurrentDecoder(parameters, config, encoder, vocabulary_size),
        attention_(parameters, "attention", config.attention, config.hidden, encoder.depth()) {
    const int64_t features = config.hidden + attention_.context_depth() + config.embedding;
    head_ = make_deep_head(parameters, config, embedding_, {features, vocabulary_size, encoder.depth()});
    make_cells(parameters, attention_.context_depth());
    make_sentinel(parameters, encoder.depth());
    if (config.context_gate) gate_.emplace(parameters, "attention.context_gate", config.hidden, 1);
  }

 private:
  Features step(const Var& token_gates, RecurrentState& state, StepAttention& attention) const override {
    Var context = attention.attend(state.top, sentinel(state, state.top));
    if (gate_) context = context * sigmoid((*gate_)(state.top));
    state.top = cells().step(token_gates, context, state.cells);
    return {state.top, context};
  }
  std::vector<Var> head_features(const Features& features, const Var& embedded) const override {
    return {features.state, features.context, embedded};
  }
  const Attention* attention() const override { return &attention_; }

  Attention attention_;
  std::optional<Linear> gate_;
};

}  // namespace

std::unique_ptr<Decoder> make_bahdanau(Parameters& parameters, const ModelConfig& config, const Encoder& encoder,
                                       int64_t vocabulary_size) {
  return std::make_unique<Bahdanau>(parameters, config, encoder, vocabulary_size);
}

}  // namespace fovea
