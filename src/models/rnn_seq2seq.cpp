// Sutskever, Vinyals & Le 2014, "Sequence to sequence learning with neural networks"; Cho et al. 2014.
// No attention: all the decoder knows of the source is the state it begins with. Here to show the
// bottleneck that attention removes.
#include "models/architectures.h"
#include "models/recurrent_model.h"

namespace fovea {

namespace {

class RnnSeq2Seq final : public RecurrentModel {
 public:
  RnnSeq2Seq(Parameters& parameters, const ModelConfig& config, const VocabularySizes& sizes)
      : RecurrentModel(parameters, config, sizes), out_(parameters, config, words_, config.hidden, sizes.target) {
    make_cells(parameters, 0);
  }

 private:
  Features step(const Var& word_gates, RecurrentState& state, StepAttention&) const override {
    state.top = cells().step(word_gates, {}, state.cells);
    return {state.top, {}};
  }
  Features all_steps(const Var& word_gates, const EncodedSource& encoded, const Memory*, const DecodeOptions&,
                     TeacherForced&) const override {
    return {cells().unroll(word_gates, encoded.initial), {}};
  }
  Var read(const Features& features, const Var& words) const override { return out_({features.state, words}); }

  DeepOutput out_;
};

}  // namespace

std::unique_ptr<Model> make_rnn_seq2seq(Parameters& parameters, const ModelConfig& config,
                                        const VocabularySizes& sizes) {
  return std::make_unique<RnnSeq2Seq>(parameters, config, sizes);
}

}  // namespace fovea
