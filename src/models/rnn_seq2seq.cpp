// Sutskever, Vinyals & Le 2014, "Sequence to sequence learning with neural networks"; Cho et al. 2014.
// There is no attention: the decoder knows the source only by its initial state, a vector of fixed size. The model
// shows the bottleneck that attention removes.
#include "models/architectures.h"
#include "models/recurrent_decoder.h"

namespace fovea {

namespace {

class RnnSeq2Seq final : public RecurrentDecoder {
 public:
  RnnSeq2Seq(Parameters& parameters, const ModelConfig& config, const Encoder& encoder, int64_t vocabulary_size)
      : RecurrentDecoder(parameters, config, encoder, vocabulary_size) {
    check(!config.copies(), "model.copy: expected a model that attends to its source, got {}", config.architecture);
    head_ = make_deep_head(parameters, config, embedding_,
                           {config.hidden + config.embedding, vocabulary_size, encoder.depth()});
    make_cells(parameters, 0);
  }

 private:
  Features step(const Var& token_gates, RecurrentState& state, StepAttention&) const override {
    state.top = cells().step(token_gates, {}, state.cells);
    return {state.top, {}};
  }
  Features all_steps(const Var& token_gates, const std::vector<State>& initial, const Memory*, const DecodeOptions&,
                     TeacherForced&) const override {
    return {cells().unroll(token_gates, initial), {}};
  }
  std::vector<Var> head_features(const Features& features, const Var& embedded) const override {
    return {features.state, embedded};
  }
  const Attention* attention() const override { return nullptr; }
};

}  // namespace

std::unique_ptr<Decoder> make_rnn_seq2seq(Parameters& parameters, const ModelConfig& config, const Encoder& encoder,
                                          int64_t vocabulary_size) {
  return std::make_unique<RnnSeq2Seq>(parameters, config, encoder, vocabulary_size);
}

}  // namespace fovea
