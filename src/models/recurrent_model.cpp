#include "models/recurrent_model.h"

namespace fovea {

Var StepAttention::attend(const Var& query) {
  const int64_t batch = query.dim(0) / beams_;
  const AttentionResult result = (*attention_)(memory_, {.query = query.reshape({beams_, batch, query.dim(1)}),
                                                         .position = position_++,
                                                         .stride = 0,
                                                         .coverage = coverage_,
                                                         .capture_weights = capture_.weights,
                                                         .capture_scores = capture_.scores,
                                                         .edits = edits_});
  last_weights_ = result.weights;
  last_center_ = result.center;
  last_scores_ = result.scores;
  if (gathers_ && capture_.weights) {
    weights_.push_back(result.weights);
    if (result.scores) scores_.push_back(result.scores);
    if (result.center) centers_.push_back(result.center);
  }
  if (gathers_ && result.selection_log_prob) {
    // [B,H,1] -> [B]
    selection_log_probs_.push_back(sum(result.selection_log_prob, 1).reshape({batch}));
    entropies_.push_back(sum(result.entropy, 1).reshape({batch}));
  }
  if (result.coverage) {
    if (gathers_ && coverage_) {
      coverage_losses_.push_back(sum(minimum(result.weights, coverage_), 3).reshape({batch * beams_}));
    }
    coverage_ = result.coverage;
  }
  return result.context.reshape({query.dim(0), result.context.dim(2)});
}

void StepAttention::reorder(const Tensor& rows) {
  if (!coverage_) return;
  // Coverage is [B,H,K,S]: its row (b,h,k) comes from (b,h,k') where rows[k,b] = k'*B+b.
  const int64_t batch = coverage_.dim(0), heads = coverage_.dim(1);
  const std::vector<int32_t> from = to_host<int32_t>(rows);
  std::vector<int32_t> picks;
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t k = 0; k < beams_; ++k) {
        const int64_t beam = from[static_cast<size_t>(k * batch + b)] / batch;
        picks.push_back(static_cast<int32_t>((b * heads + h) * beams_ + beam));
      }
    }
  }
  const int64_t keys = coverage_.dim(3);
  const Tensor ids = from_host(picks, {batch * heads * beams_}, coverage_.device());
  coverage_ = pick_rows(coverage_.reshape({batch * heads * beams_, keys}), ids).reshape(coverage_.shape());
}

void StepAttention::select_sentences(const Tensor& sentences) {
  if (attention_ == nullptr) return;
  memory_ = pick_sentences(memory_, sentences);
  if (coverage_) coverage_ = pick_rows(coverage_, sentences);
}

TeacherForced StepAttention::taken() const {
  TeacherForced result;
  if (!selection_log_probs_.empty()) {
    result.selection_log_prob = stack(selection_log_probs_);
    result.entropy = stack(entropies_);
  }
  if (!coverage_losses_.empty()) result.coverage_loss = stack(coverage_losses_);
  if (!weights_.empty()) {
    const Var centers = centers_.empty() ? Var() : concat(centers_, 0);
    const Var scores = scores_.empty() ? Var() : concat(scores_, 2);
    result.weights.push_back({AttentionTrace::Kind::kCross, 0, concat(weights_, 2), centers, scores});
  }
  return result;
}

RecurrentModel::RecurrentModel(Parameters& parameters, const ModelConfig& config, const VocabularySizes& sizes)
    : config_(config),
      encoder_(parameters, config, sizes),
      words_(parameters, "decoder.words", sizes.target, config.embedding) {}

Features RecurrentModel::all_steps(const Var&, const EncodedSource&, const Memory*, const DecodeOptions&,
                                   TeacherForced&) const {
  return {};
}

TeacherForced RecurrentModel::teacher_force(const Source& source, const Tensor& target, Capture capture,
                                            std::span<const WeightEdit> edits) const {
  const DecodeOptions options{.capture = capture, .edits = {edits.begin(), edits.end()}};
  const EncodedSource encoded = encoder_(source);
  const Attention* attends = attention();
  const Memory memory = attends ? attends->project_memory(encoded.states, source.lengths) : Memory{};
  const Var words = dropout(words_(target), rate(), true);  // [T,B,E]
  const Var gates = cells().word_gates(words);              // all steps in one product
  TeacherForced result;
  Features features = all_steps(gates, encoded, attends ? &memory : nullptr, options, result);
  if (!features.state) {
    StepAttention attention = attends ? StepAttention(*attends, memory, options) : StepAttention();
    attention.gather();
    RecurrentState state{encoded.initial, {}, encoded.initial.back().state};
    std::vector<Var> states, contexts;
    for (int64_t t = 0; t < target.dim(0); ++t) {
      const Features made = step(gates[t], state, attention);
      states.push_back(made.state);
      if (made.context) contexts.push_back(made.context);
    }
    features = {stack(states), contexts.empty() ? Var() : stack(contexts)};
    result = attention.taken();
  }
  result.logits = read(features, words);
  return result;
}

class RecurrentDecoder : public DecoderState {
 public:
  RecurrentDecoder(const RecurrentModel& model, const Source& source, const DecodeOptions& options)
      : model_(model), beams_(options.beams) {
    const EncodedSource encoded = model.encoder_(source);
    for (const State& state : encoded.initial) {
      state_.cells.push_back({repeat_rows(state.state, options.beams), repeat_rows(state.memory, options.beams)});
    }
    state_.top = state_.cells.back().state;
    if (const Attention* attends = model.attention()) {
      attention_ = StepAttention(*attends, attends->project_memory(encoded.states, source.lengths), options);
    }
  }

  std::unique_ptr<DecoderState> clone() const override { return std::make_unique<RecurrentDecoder>(*this); }

  Var step(const Tensor& words) override {
    const Var embedded = model_.words_(words.reshape({words.size()}));
    const Features features = model_.step(model_.cells().word_gates(embedded), state_, attention_);
    const Var logits = model_.read(features, embedded);
    return logits.reshape({words.dim(0), words.dim(1), logits.dim(1)});
  }

  void reorder(const Tensor& rows) override {
    pick(rows);
    attention_.reorder(rows);
  }

  void select_sentences(const Tensor& sentences) override {
    pick(rows_of(sentences, beams_, state_.top.dim(0) / beams_));
    attention_.select_sentences(sentences);
  }

  std::vector<AttentionTrace> weights() const override {
    const AttentionTrace last = attention_.last();
    return last.weights ? std::vector{last} : std::vector<AttentionTrace>();
  }

 private:
  void pick(const Tensor& rows) {
    pick_rows(state_.cells, rows);
    state_.top = pick_rows(state_.top, rows);
    if (state_.feed) state_.feed = pick_rows(state_.feed, rows);
  }

  const RecurrentModel& model_;
  int64_t beams_;
  RecurrentState state_;
  StepAttention attention_;
};

std::unique_ptr<DecoderState> RecurrentModel::decode(const Source& source, const DecodeOptions& options) const {
  return std::make_unique<RecurrentDecoder>(*this, source, options);
}

}  // namespace fovea
