#include "models/recurrent_decoder.h"

#include <algorithm>

#include "models/recurrent_encoder.h"
#include "models/row_selection.h"

namespace fovea {

Bridge::Bridge(Parameters& parameters, const ModelConfig& config, const Encoder& encoder) {
  const int64_t depth = encoder.initial_depth() > 0 ? encoder.initial_depth() : encoder.depth();
  for (int64_t layer = 0; layer < config.decoder_layers; ++layer) {
    state_.emplace_back(parameters, fmt::format("bridge.{}", layer), depth, config.hidden);
    if (cell_named(config.cell) == Cell::kLstm) {
      cell_state_.emplace_back(parameters, fmt::format("bridge.{}.memory", layer), depth, config.hidden);
    }
  }
}

std::vector<State> Bridge::operator()(const Encoded& encoded) const {
  std::vector<State> from = encoded.initial;
  if (from.empty()) from.push_back({pool_time(PoolOp::kAverage, encoded.states, encoded.lengths), {}});
  std::vector<State> initial;
  for (size_t layer = 0; layer < state_.size(); ++layer) {
    const State& last = from[std::min(layer, from.size() - 1)];
    const Var& cell_state = last.cell_state ? last.cell_state : last.state;
    initial.push_back({tanh(state_[layer](last.state)), cell_state_.empty() ? Var() : cell_state_[layer](cell_state)});
  }
  return initial;
}

DecoderCells::DecoderCells(Parameters& parameters, const ModelConfig& config, int64_t feed) : config_(config) {
  const Cell cell = cell_named(config.cell);
  for (int64_t layer = 0; layer < config.decoder_layers; ++layer) {
    cells_.emplace_back(parameters, fmt::format("decoder.layers.{}", layer), cell,
                        layer == 0 ? config.embedding : config.hidden, config.hidden);
  }
  if (feed > 0) {
    feed_.emplace(parameters, "decoder.feed", feed, gates_of(cell) * config.hidden, Linear::Options{.bias = false});
  }
}

Var DecoderCells::step(const Var& token_gates, const Var& feed, std::vector<State>& states) const {
  Var gates = token_gates;
  if (feed_) feed_->add_to(gates, feed);
  Var below;
  for (size_t layer = 0; layer < cells_.size(); ++layer) {
    if (layer > 0) gates = cells_[layer].input_gates(dropout(below, static_cast<float>(config_.dropout)));
    states[layer] = cells_[layer].step(gates, states[layer]);
    below = layer > 0 && config_.residual ? states[layer].state + below : states[layer].state;
  }
  return below;
}

Var DecoderCells::unroll(const Var& token_gates, const std::vector<State>& initial) const {
  Var below = cells_[0].unroll_gates(token_gates, initial[0], {}, false).states;
  for (size_t layer = 1; layer < cells_.size(); ++layer) {
    const Var input = dropout(below, static_cast<float>(config_.dropout), true);
    const Var above = cells_[layer].unroll(input, initial[layer], {}, false).states;
    below = config_.residual ? above + below : above;
  }
  return below;
}

Var StepAttention::attend(const Var& query, const Var& sentinel) {
  const int64_t batch = query.dim(0) / beams_;
  const auto by_beams = [&](const Var& x) { return x ? x.reshape({beams_, batch, x.dim(1)}) : x; };
  const AttentionResult result = (*attention_)(memory_, {.query = by_beams(query),
                                                         .position = position_++,
                                                         .stride = 0,
                                                         .coverage = coverage_,
                                                         .sentinel = by_beams(sentinel),
                                                         .capture_weights = capture_.weights,
                                                         .capture_scores = capture_.scores,
                                                         .edits = edits_});
  last_ = {AttentionKind::kCross, 0, result.weights, result.center, result.scores, result.sentinel,
           result.sentinel_scores};
  if (collects_ && capture_.weights) {
    weights_.push_back(result.weights);
    if (result.scores) scores_.push_back(result.scores);
    if (result.center) centers_.push_back(result.center);
    if (result.sentinel) sentinels_.push_back(result.sentinel);
    if (result.sentinel_scores) sentinel_scores_.push_back(result.sentinel_scores);
  }
  if (collects_ && result.selection_log_prob) {
    // [B,H,1] -> [B]
    selection_log_probs_.push_back(sum(result.selection_log_prob, 1).reshape({batch}));
    entropies_.push_back(sum(result.entropy, 1).reshape({batch}));
  }
  if (result.coverage) {
    if (collects_ && coverage_) {
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
  std::vector<int32_t> selected;
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t h = 0; h < heads; ++h) {
      for (int64_t k = 0; k < beams_; ++k) {
        const int64_t beam = from[static_cast<size_t>(k * batch + b)] / batch;
        selected.push_back(static_cast<int32_t>((b * heads + h) * beams_ + beam));
      }
    }
  }
  const int64_t keys = coverage_.dim(3);
  const Tensor ids = from_host(selected, {batch * heads * beams_}, coverage_.device());
  coverage_ = select_rows(coverage_.reshape({batch * heads * beams_, keys}), ids).reshape(coverage_.shape());
}

void StepAttention::select_sentences(const Tensor& sentences) {
  if (attention_ == nullptr) return;
  memory_ = fovea::select_sentences(memory_, sentences);
  if (coverage_) coverage_ = select_rows(coverage_, sentences);
}

TeacherForced StepAttention::collected() const {
  TeacherForced result;
  if (!selection_log_probs_.empty()) {
    result.selection_log_prob = stack(selection_log_probs_);
    result.entropy = stack(entropies_);
  }
  if (!coverage_losses_.empty()) result.coverage_loss = stack(coverage_losses_);
  if (!weights_.empty()) {
    const auto joined = [](const std::vector<Var>& steps, int axis) {
      return steps.empty() ? Var() : concat(steps, axis);
    };
    result.attentions.push_back({AttentionKind::kCross, 0, joined(weights_, 2), joined(centers_, 0), joined(scores_, 2),
                                 joined(sentinels_, 2), joined(sentinel_scores_, 2)});
  }
  return result;
}

RecurrentDecoder::RecurrentDecoder(Parameters& parameters, const ModelConfig& config, const Encoder& encoder,
                                   int64_t vocabulary_size)
    : config_(config),
      bridge_(parameters, config, encoder),
      embedding_(parameters, "decoder.words", vocabulary_size, config.embedding) {}

Features RecurrentDecoder::all_steps(const Var&, const std::vector<State>&, const Memory*, const DecodeOptions&,
                                     TeacherForced&) const {
  return {};
}

std::vector<AttentionInfo> RecurrentDecoder::attentions() const {
  if (attention() == nullptr) return {};
  std::vector<AttentionInfo> all{{AttentionKind::kCross, 1, attention()->config()}};
  for (AttentionInfo& copy : head_->attentions()) all.push_back(std::move(copy));
  return all;
}

TeacherForced RecurrentDecoder::teacher_force(const Encoded& encoded, const Tensor& target, Capture capture,
                                              std::span<const WeightEdit> edits, const KnownTargets* targets) const {
  const DecodeOptions options{.capture = {capture.weights || head_->needs_weights(), capture.scores},
                              .edits = {edits.begin(), edits.end()}};
  const std::vector<State> initial = bridge_(encoded);
  const Attention* attends = attention();
  const Memory memory = attends ? attends->project_memory(encoded.states, encoded.lengths) : Memory{};
  const Var embedded = dropout(embedding_(target), dropout_rate(), true);  // [T,B,E]
  const Var gates = cells().token_gates(embedded);                         // one product for all steps
  TeacherForced result;
  Features features = all_steps(gates, initial, attends ? &memory : nullptr, options, result);
  if (!features.state) {
    StepAttention attention = attends ? StepAttention(*attends, memory, options) : StepAttention();
    attention.collect_steps();
    RecurrentState state{initial, {}, initial.back().state};
    const Var sentinel_gates = sentinel_ ? sentinel_->token_gates(embedded) : Var();
    std::vector<Var> states, contexts;
    for (int64_t t = 0; t < target.dim(0); ++t) {
      if (sentinel_) state.sentinel_gate = sentinel_gates[t];
      const Features made = step(gates[t], state, attention);
      states.push_back(made.state);
      if (made.context) contexts.push_back(made.context);
    }
    features = {stack(states), contexts.empty() ? Var() : stack(contexts)};
    result = attention.collected();
  }
  const Var weights = head_->needs_weights() ? result.attentions.back().weights : Var();
  if (!capture.weights) result.attentions.clear();
  const std::vector<Var> inputs = head_features(features, embedded);
  const CopySource source = head_->prepare(encoded);
  predict(*head_, {.features = inputs, .weights = weights, .source = &source}, targets, capture, result);
  return result;
}

class RecurrentDecoderState final : public DecoderState {
 public:
  RecurrentDecoderState(const RecurrentDecoder& decoder, const Encoded& encoded, DecodeOptions options)
      : decoder_(decoder),
        beams_(options.beams),
        captures_(options.capture.weights),
        encoder_attentions_(encoded.attentions) {
    options.capture.weights = options.capture.weights || decoder.head_->needs_weights();
    copy_source_ = decoder.head_->prepare(encoded);
    output_rows_ = decoder.head_->select_rows(options.vocabulary);
    for (const State& state : decoder.bridge_(encoded)) {
      state_.cells.push_back({repeat_rows(state.state, options.beams), repeat_rows(state.cell_state, options.beams)});
    }
    state_.top = state_.cells.back().state;
    if (const Attention* attends = decoder.attention()) {
      attention_ = StepAttention(*attends, attends->project_memory(encoded.states, encoded.lengths), options);
    }
  }

  std::unique_ptr<DecoderState> clone() const override { return std::make_unique<RecurrentDecoderState>(*this); }

  Var step(const Tensor& tokens) override {
    attentions_ = std::exchange(encoder_attentions_, {});
    const Var embedded = decoder_.embedding_(tokens.reshape({tokens.size()}));
    if (decoder_.sentinel_) state_.sentinel_gate = decoder_.sentinel_->token_gates(embedded);
    const Features features = decoder_.step(decoder_.cells().token_gates(embedded), state_, attention_);
    const AttentionTrace& attended = attention_.last();
    const std::vector<Var> inputs = decoder_.head_features(features, embedded);
    const bool traces_copy = captures_ && decoder_.head_->copies();
    AttentionTrace copy{AttentionKind::kCopy, 0, {}, {}, {}};
    const HeadInput input{
        .features = inputs, .weights = attended.weights, .source = &copy_source_, .rows = &output_rows_};
    const Var logits = (*decoder_.head_)(input, traces_copy ? &copy : nullptr);
    if (captures_ && attended.weights) attentions_.push_back(attended);
    if (traces_copy) attentions_.push_back(copy);
    return logits.reshape({tokens.dim(0), tokens.dim(1), logits.dim(1)});
  }

  void reorder(const Tensor& rows) override {
    select(rows);
    attention_.reorder(rows);
  }

  void select_sentences(const Tensor& sentences) override {
    select(rows_of_sentences(sentences, beams_, state_.top.dim(0) / beams_));
    attention_.select_sentences(sentences);
    if (copy_source_.ids) copy_source_ = fovea::select_sentences(copy_source_, sentences);
  }

  std::vector<AttentionTrace> attentions() const override { return attentions_; }

 private:
  void select(const Tensor& rows) {
    select_rows(state_.cells, rows);
    state_.top = select_rows(state_.top, rows);
    if (state_.feed) state_.feed = select_rows(state_.feed, rows);
  }

  const RecurrentDecoder& decoder_;
  int64_t beams_;
  bool captures_;
  RecurrentState state_;
  StepAttention attention_;
  CopySource copy_source_;  // for a head that copies
  OutputRows output_rows_;  // for a part of the vocabulary
  std::vector<AttentionTrace> encoder_attentions_, attentions_;
};

std::unique_ptr<DecoderState> RecurrentDecoder::start(const Encoded& encoded, const DecodeOptions& options) const {
  return std::make_unique<RecurrentDecoderState>(*this, encoded, options);
}

}  // namespace fovea
