// Luong, Pham & Manning 2015, "Effective approaches to attention-based neural machine translation".
// The decoder advances first, then its new state is the query:
//   h_t = f(h_{t-1}, y_{t-1} [, h~_{t-1}])      (input feeding, section 3.3)
//   c_t = sum_s a_t(s) h_s,  a_t = align(h_t, h_s)
//   h~_t = tanh(W [c_t; h_t])                   (equation 5)
//   p(y_t) = softmax(V h~_t)                    (equation 6)
// With model.attention.sentinel, the query attends also to a sentinel made of h_{t-1} and the new cell (sentinel.h).
// Without input feeding and sentinel no step depends on an attention, and each layer is one pass over the whole target.
#include "models/architectures.h"
#include "models/recurrent_decoder.h"

namespace fovea {

namespace {

class Luong final : public RecurrentDecoder {
 public:
  Luong(Parameters& parameters, const ModelConfig& config, const Encoder& encoder, int64_t vocabulary_size)
      : RecurrentDecoder(parameters, config, encoder, vocabulary_size),
        attention_(parameters, "attention", config.attention, config.hidden, encoder.depth()),
        combine_(parameters, "decoder.combine", attention_.context_depth() + config.hidden, output_depth(config),
                 Linear::Options{.bias = false}) {
    head_ = make_head(parameters, config, embedding_, {output_depth(config), vocabulary_size, encoder.depth()});
    make_cells(parameters, config.input_feeding ? output_depth(config) : 0);
    make_sentinel(parameters, encoder.depth());
  }

 private:
  // h~ from the states and contexts, [...,H] and [...,D].
  Var attentional(const Var& state, const Var& context) const {
    return dropout(tanh(combine_(concat({context, state}, state.rank() - 1))), dropout_rate());
  }
  Features step(const Var& token_gates, RecurrentState& state, StepAttention& attention) const override {
    if (config_.input_feeding && !state.feed) {
      state.feed = zeros({token_gates.dim(0), output_depth(config_)}, token_gates.dtype(), token_gates.device());
    }
    const Var before = state.top;
    state.top = cells().step(token_gates, state.feed, state.cells);
    const Var output = attentional(state.top, attention.attend(state.top, sentinel(state, before)));
    if (config_.input_feeding) state.feed = output;
    return {output, {}};
  }
  Features all_steps(const Var& token_gates, const std::vector<State>& initial, const Memory* memory,
                     const DecodeOptions& options, TeacherForced& result) const override {
    if (config_.input_feeding || config_.attention.coverage || config_.attention.sentinel) return {};
    const Var states = cells().unroll(token_gates, initial);
    const std::vector<AttentionEdit> edits = edits_of(options.edits, AttentionKind::kCross, 0);
    const AttentionResult attended = attention_(*memory, {.query = states,
                                                          .capture_weights = options.capture.weights,
                                                          .capture_scores = options.capture.scores,
                                                          .edits = edits});
    if (attended.selection_log_prob) {
      result.selection_log_prob = sum_heads(attended.selection_log_prob);
      result.entropy = sum_heads(attended.entropy);
    }
    if (options.capture.weights) {
      result.attentions.push_back({AttentionKind::kCross, 0, attended.weights, attended.center, attended.scores});
    }
    return {attentional(states, attended.context), {}};
  }
  std::vector<Var> head_features(const Features& features, const Var&) const override { return {features.state}; }
  const Attention* attention() const override { return &attention_; }

  Attention attention_;
  Linear combine_;
};

}  // namespace

std::unique_ptr<Decoder> make_luong(Parameters& parameters, const ModelConfig& config, const Encoder& encoder,
                                    int64_t vocabulary_size) {
  return std::make_unique<Luong>(parameters, config, encoder, vocabulary_size);
}

}  // namespace fovea
