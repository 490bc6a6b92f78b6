// Luong, Pham & Manning 2015, "Effective approaches to attention-based neural machine translation".
// The decoder steps first, then its new state asks:
//   h_t = f(h_{t-1}, y_{t-1} [, h~_{t-1}])      (input feeding, section 3.3)
//   c_t = sum_s a_t(s) h_s,  a_t = align(h_t, h_s)
//   h~_t = tanh(W [c_t; h_t])                   (equation 5)
//   p(y_t) = softmax(V h~_t)                    (equation 6)
// Without input feeding no step waits for an attention, and each layer is one sweep over the target.
#include "models/architectures.h"
#include "models/recurrent_model.h"

namespace fovea {

namespace {

class Luong final : public RecurrentModel {
 public:
  Luong(Parameters& parameters, const ModelConfig& config, const VocabularySizes& sizes)
      : RecurrentModel(parameters, config, sizes),
        attention_(parameters, "attention", config.attention, config.hidden, encoder_.depth()),
        combine_(parameters, "decoder.combine", attention_.context_depth() + config.hidden, output_depth(config),
                 Linear::Options{.bias = false}),
        out_(parameters, config, words_, output_depth(config), sizes.target) {
    make_cells(parameters, config.input_feeding ? output_depth(config) : 0);
  }

 private:
  // h~ from the states and contexts, [...,H] and [...,D]
  Var attentional(const Var& state, const Var& context) const {
    return dropout(tanh(combine_(concat({context, state}, state.rank() - 1))), rate());
  }
  Features step(const Var& word_gates, RecurrentState& state, StepAttention& attention) const override {
    if (config_.input_feeding && !state.feed) {
      state.feed = zeros({word_gates.dim(0), output_depth(config_)}, word_gates.dtype(), word_gates.device());
    }
    state.top = cells().step(word_gates, state.feed, state.cells);
    const Var output = attentional(state.top, attention.attend(state.top));
    if (config_.input_feeding) state.feed = output;
    return {output, {}};
  }
  Features all_steps(const Var& word_gates, const EncodedSource& encoded, const Memory* memory,
                     const DecodeOptions& options, TeacherForced& result) const override {
    if (config_.input_feeding || config_.attention.coverage) return {};
    const Var states = cells().unroll(word_gates, encoded.initial);
    const std::vector<AttentionEdit> edits = edits_of(options.edits, AttentionTrace::Kind::kCross, 0);
    const AttentionResult attended = attention_(*memory, {.query = states,
                                                          .capture_weights = options.capture.weights,
                                                          .capture_scores = options.capture.scores,
                                                          .edits = edits});
    if (attended.selection_log_prob) {
      // [B,1,T] -> [T,B]
      result.selection_log_prob = permute(sum(attended.selection_log_prob, 1), {1, 0});
      result.entropy = permute(sum(attended.entropy, 1), {1, 0});
    }
    if (options.capture.weights) {
      result.weights.push_back({AttentionTrace::Kind::kCross, 0, attended.weights, attended.center, attended.scores});
    }
    return {attentional(states, attended.context), {}};
  }
  Var read(const Features& features, const Var&) const override { return out_(features.state); }
  const Attention* attention() const override { return &attention_; }

  Attention attention_;
  Linear combine_;
  OutputLayer out_;
};

}  // namespace

std::unique_ptr<Model> make_luong(Parameters& parameters, const ModelConfig& config, const VocabularySizes& sizes) {
  return std::make_unique<Luong>(parameters, config, sizes);
}

}  // namespace fovea
