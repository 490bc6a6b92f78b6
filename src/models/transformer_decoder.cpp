// The decoder of Vaswani et al. 2017, section 3.1: layers of causal self-attention, attention to the encoder's states
// and a feed-forward network.
#include <algorithm>
#include <optional>

#include "models/architectures.h"
#include "models/heads.h"
#include "models/row_selection.h"
#include "models/transformer_layers.h"

namespace fovea {

namespace {

struct DecoderLayer {
  SubLayer self_sublayer, cross_sublayer, forward_sublayer;
  Attention self, cross;
  FeedForward forward;
  DecoderLayer(Parameters& p, const std::string& name, const ModelConfig& c)
      : self_sublayer(p, name + ".self", c),
        cross_sublayer(p, name + ".cross", c),
        forward_sublayer(p, name + ".forward", c),
        self(p, name + ".self", c.self_attention, c.embedding, c.embedding),
        cross(p, name + ".cross", c.attention, c.embedding, c.embedding),
        forward(p, name + ".forward", c) {}
};

// The edits of one layer's attentions.
struct LayerEdits {
  std::vector<AttentionEdit> self, cross;
  LayerEdits(std::span<const WeightEdit> edits, size_t layer)
      : self(edits_of(edits, AttentionKind::kDecoderSelf, static_cast<int64_t>(layer))),
        cross(edits_of(edits, AttentionKind::kCross, static_cast<int64_t>(layer))) {}
};

class TransformerDecoder final : public Decoder {
 public:
  TransformerDecoder(Parameters& parameters, const ModelConfig& config, const Encoder& encoder, int64_t vocabulary_size)
      : config_(config),
        embedding_(parameters, "decoder", config, vocabulary_size),
        norm_(parameters, "decoder.norm", config),
        head_(make_head(parameters, config, embedding_.table(), {config.embedding, vocabulary_size, encoder.depth()})) {
    // The place of a parameter decides which random numbers it is initialised with. These come before all layers, so
    // that a seed gives the same run as it always did.
    parameters.place_first({"encoder.words.table", "encoder.positions", "decoder.words.table", "decoder.positions",
                            "encoder.norm.gamma", "encoder.norm.beta", "decoder.norm.gamma", "decoder.norm.beta",
                            "decoder.out.weight", "decoder.out.bias"});
    check_needs_no_steps(config.attention, config);
    check_needs_no_steps(config.self_attention, config);
    if (encoder.depth() != config.embedding) {
      encoder_projection_.emplace(parameters, "decoder.encoder_projection", encoder.depth(), config.embedding);
    }
    for (int64_t i = 0; i < config.decoder_layers; ++i)
      layers_.emplace_back(parameters, fmt::format("decoder.{}", i), config);
  }

  TeacherForced teacher_force(const Encoded& encoded, const Tensor& target, Capture capture,
                              std::span<const WeightEdit> edits, const KnownTargets* targets) const override {
    TeacherForced result;
    const Var states = project(encoded.states);
    Var copy_weights;  // of the last layer
    ResidualSum x = {embedding_(target, 0), {}};
    for (size_t i = 0; i < layers_.size(); ++i) {
      const DecoderLayer& layer = layers_[i];
      const LayerEdits layer_edits(edits, i);
      x = layer.self_sublayer(x, [&](const Var& y) {
        const auto [q, memory] = layer.self.project_self(y);
        const AttentionQuery query{.projected = q,
                                   .causal = true,
                                   .capture_weights = capture.weights,
                                   .capture_scores = capture.scores,
                                   .edits = layer_edits.self};
        return collect(layer.self(memory, query), AttentionKind::kDecoderSelf, i, capture, result);
      });
      x = layer.cross_sublayer(x, [&](const Var& y) {
        const auto [q, memory] = layer.cross.project_cross(states, encoded.lengths, y);
        const AttentionQuery query{.projected = q,
                                   .capture_weights = capture.weights || needs_weights(i),
                                   .capture_scores = capture.scores,
                                   .edits = layer_edits.cross};
        const AttentionResult attended = layer.cross(memory, query);
        copy_weights = attended.weights;
        return collect(attended, AttentionKind::kCross, i, capture, result);
      });
      x = layer.forward_sublayer(x, layer.forward);
    }
    const Var features = norm_(x);
    const CopySource source = head_->prepare(encoded);
    predict(*head_, {.features = {&features, 1}, .weights = copy_weights, .source = &source}, targets, capture, result);
    return result;
  }

  std::unique_ptr<DecoderState> start(const Encoded& encoded, const DecodeOptions& options) const override;
  int64_t max_source() const override { return layers_.front().cross.max_keys(); }
  int64_t max_target() const override {
    return smaller_limit(embedding_.max_length(), layers_.front().self.max_keys());
  }
  std::vector<AttentionInfo> attentions() const override {
    std::vector<AttentionInfo> all{{AttentionKind::kDecoderSelf, std::ssize(layers_), config_.self_attention},
                                   {AttentionKind::kCross, std::ssize(layers_), config_.attention}};
    for (AttentionInfo& copy : head_->attentions()) all.push_back(std::move(copy));
    return all;
  }

 private:
  friend class TransformerDecoderState;

  // The states of the encoder, in the size of the decoder's layers.
  Var project(const Var& states) const { return encoder_projection_ ? (*encoder_projection_)(states) : states; }

  // Whether the head copies by the weights of this layer, the last.
  bool needs_weights(size_t layer) const { return head_->needs_weights() && layer + 1 == layers_.size(); }

  // Adds what an attention leaves besides its context to the result, and returns the context.
  static Var collect(const AttentionResult& attended, AttentionKind kind, size_t layer, Capture capture,
                     TeacherForced& result) {
    if (capture.weights) {
      result.attentions.push_back(
          {kind, static_cast<int64_t>(layer), attended.weights, attended.center, attended.scores});
    }
    const auto add = [](const Var& x, Var& sum) { sum = sum ? sum + sum_heads(x) : sum_heads(x); };
    if (attended.selection_log_prob) {
      add(attended.selection_log_prob, result.selection_log_prob);
      add(attended.entropy, result.entropy);
    }
    return attended.context;
  }

  ModelConfig config_;
  PositionedEmbedding embedding_;
  FinalNorm norm_;
  std::unique_ptr<OutputHead> head_;
  std::optional<Linear> encoder_projection_;
  std::vector<DecoderLayer> layers_;
};

// Decoding with a KV cache: the projected keys and values of every step, [steps, K*B, D] for each layer.
class TransformerDecoderState final : public DecoderState {
 public:
  TransformerDecoderState(const TransformerDecoder& decoder, const Encoded& encoded, const DecodeOptions& options)
      : decoder_(decoder), options_(options), arena_(Arena::current()), encoder_attentions_(encoded.attentions) {
    copy_source_ = decoder.head_->prepare(encoded);
    output_rows_ = decoder.head_->select_rows(options.vocabulary);
    const Var states = decoder.project(encoded.states);
    for (const DecoderLayer& layer : decoder.layers_) {
      edits_.emplace_back(options.edits, caches_.size());
      caches_.push_back({layer.cross.project_memory(states, encoded.lengths), {}, {}});
    }
  }

  std::unique_ptr<DecoderState> clone() const override { return std::make_unique<TransformerDecoderState>(*this); }

  Var step(const Tensor& tokens) override {
    const int64_t beams = tokens.dim(0), batch = tokens.dim(1), rows = beams * batch;
    check(step_ < options_.longest, "decode: expected at most {} steps", options_.longest);
    attentions_ = std::exchange(encoder_attentions_, {});
    Var copy_weights;                                                             // of the last layer
    ResidualSum x = {decoder_.embedding_(tokens.reshape({1, rows}), step_), {}};  // [1,K*B,D]
    for (size_t i = 0; i < caches_.size(); ++i) {
      const DecoderLayer& layer = decoder_.layers_[i];
      LayerCache& cache = caches_[i];
      x = layer.self_sublayer(x, [&](const Var& y) {
        const auto [q, now] = layer.self.project_self(y, {}, step_);
        append(cache.keys, now.keys.value());
        append(cache.values, now.values.value());
        const Memory memory{cache.keys.slice(0, step_ + 1), cache.values.slice(0, step_ + 1), {}};
        return collect(layer.self(memory, {.projected = q,
                                           .position = step_,
                                           .causal = true,
                                           .capture_weights = options_.capture.weights,
                                           .capture_scores = options_.capture.scores,
                                           .edits = edits_[i].self}),
                       AttentionKind::kDecoderSelf, i);
      });
      x = layer.cross_sublayer(x, [&](const Var& y) {
        // The beams of a sentence are several queries to its one memory.
        const Var query = y.reshape({beams, batch, y.dim(2)});
        const AttentionResult attended =
            layer.cross(cache.source, {.query = query,
                                       .position = step_,
                                       .stride = 0,
                                       .capture_weights = options_.capture.weights || decoder_.needs_weights(i),
                                       .capture_scores = options_.capture.scores,
                                       .edits = edits_[i].cross});
        copy_weights = attended.weights;
        return collect(attended, AttentionKind::kCross, i).reshape({1, rows, y.dim(2)});
      });
      x = layer.forward_sublayer(x, layer.forward);
    }
    ++step_;
    const Var features = decoder_.norm_(x);
    const bool traces_copy = options_.capture.weights && decoder_.head_->copies();
    AttentionTrace copy{AttentionKind::kCopy, 0, {}, {}, {}};
    const HeadInput input{
        .features = {&features, 1}, .weights = copy_weights, .source = &copy_source_, .rows = &output_rows_};
    const Var logits = (*decoder_.head_)(input, traces_copy ? &copy : nullptr);
    if (traces_copy) attentions_.push_back(copy);
    return logits.reshape({beams, batch, logits.dim(2)});
  }

  void reorder(const Tensor& rows) override { select(rows.reshape({rows.size()})); }

  void select_sentences(const Tensor& sentences) override {
    const int64_t batch = caches_[0].source.batch();
    for (LayerCache& cache : caches_) cache.source = fovea::select_sentences(cache.source, sentences);
    if (copy_source_.ids) copy_source_ = fovea::select_sentences(copy_source_, sentences);
    if (step_ > 0) select(rows_of_sentences(sentences, options_.beams, batch));
  }

  std::vector<AttentionTrace> attentions() const override { return attentions_; }

 private:
  struct LayerCache {
    Memory source;
    Tensor keys, values;
  };

  // Appends the row of this step. A cache that is full grows by half, in the arena that was current when decoding
  // started, because it outlives the arena of a step.
  void append(Tensor& cache, const Tensor& now) {
    if (!cache || cache.dim(0) == step_) {
      const ArenaScope own(arena_);
      release(std::exchange(spare_, {}));  // its capacity is the old one
      const int64_t capacity = std::min(options_.longest, std::max<int64_t>(16, step_ + step_ / 2));
      const Tensor grown = empty(now.shape().with(0, capacity), now.dtype(), now.device());
      if (cache) copy(cache, grown.slice(0, step_));
      release(cache);
      cache = grown;
    }
    const Device d = now.device();
    kernels(d).affine(stream(d), {.x = now, .y = cache.slice(step_, step_ + 1)});
  }
  // Returns the memory of a cache to the arena. Not on a card, where states that share it may continue from there.
  void release(const Tensor& cache) const {
    if (cache && arena_ != nullptr && cache.device().on_host()) arena_->release(cache.raw(), cache.bytes());
  }
  // Copies the selected rows of every step, i32 of K*B, into a spare cache and swaps the two.
  void select(const Tensor& rows) {
    for (LayerCache& cache : caches_) {
      for (Tensor* x : {&cache.keys, &cache.values}) {
        const Shape shape = x->shape().with(1, rows.size());
        if (!spare_ || !(spare_.shape() == shape)) {
          const ArenaScope own(arena_);
          release(spare_);
          spare_ = empty(shape, x->dtype(), x->device());
        }
        const Tensor table = x->slice(0, step_).reshape({step_ * x->dim(1), x->dim(2)});
        kernels(x->device())
            .embedding(stream(x->device()),
                       {.table = table, .ids = rows, .y = spare_.slice(0, step_), .tables = step_});
        std::swap(*x, spare_);
      }
    }
  }
  Var collect(const AttentionResult& attended, AttentionKind kind, size_t layer) {
    if (options_.capture.weights)
      attentions_.push_back({kind, static_cast<int64_t>(layer), attended.weights, attended.center, attended.scores});
    return attended.context;
  }

  const TransformerDecoder& decoder_;
  DecodeOptions options_;
  CopySource copy_source_;  // for a head that copies
  OutputRows output_rows_;  // for a part of the vocabulary
  Arena* arena_;            // null: the heap
  int64_t step_ = 0;
  std::vector<LayerCache> caches_;
  std::vector<LayerEdits> edits_;  // one for each layer
  Tensor spare_;
  std::vector<AttentionTrace> encoder_attentions_, attentions_;
};

std::unique_ptr<DecoderState> TransformerDecoder::start(const Encoded& encoded, const DecodeOptions& options) const {
  return std::make_unique<TransformerDecoderState>(*this, encoded, options);
}

}  // namespace

std::unique_ptr<Decoder> make_transformer_decoder(Parameters& parameters, const ModelConfig& config,
                                                  const Encoder& encoder, int64_t vocabulary_size) {
  return std::make_unique<TransformerDecoder>(parameters, config, encoder, vocabulary_size);
}

}  // namespace fovea
