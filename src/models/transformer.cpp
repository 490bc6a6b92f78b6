// Vaswani et al. 2017, "Attention is all you need". Each part (attention, feed-forward) has a residual
// around it, with its layer norm before it (pre) or after the sum (post, as in the paper).
#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "models/architectures.h"
#include "models/recurrent_parts.h"

namespace fovea {

namespace {

// PE(pos, 2i) = sin(pos / 10000^{2i/d}), PE(pos, 2i+1) = cos(...)  (section 3.5), [T,D]
Tensor sinusoids(int64_t count, int64_t depth, Device device, DType dtype) {
  std::vector<float> x(static_cast<size_t>(count * depth));
  for (int64_t i = 0; i < depth; i += 2) {
    const double share = static_cast<double>(i) / static_cast<double>(depth), slow = std::pow(10000.0, share);
    for (int64_t t = 0; t < count; ++t) {
      const double angle = static_cast<double>(t) / slow;
      float* cell = &x[static_cast<size_t>(t * depth + i)];
      cell[0] = static_cast<float>(std::sin(angle));
      if (i + 1 < depth) cell[1] = static_cast<float>(std::cos(angle));
    }
  }
  return cast(Var(from_host(x, {count, depth}, device)), dtype).value();
}

// Rows of them, made once and kept as long as this lives: steps that are recorded read them where they are.
class Sinusoids {
 public:
  Tensor operator()(int64_t first, int64_t count, int64_t depth, Device device, DType dtype) const {
    const std::lock_guard lock(mutex_);
    std::vector<Tensor>& made = tables_[dtype];
    if (made.empty() || made.back().dim(0) < first + count) {
      const ArenaScope heap(nullptr);
      const int64_t rows = std::max<int64_t>(first + count, made.empty() ? kFirst : 2 * made.back().dim(0));
      made.push_back(sinusoids(rows, depth, device, dtype));
    }
    return made.back().slice(first, first + count);
  }

 private:
  static constexpr int64_t kFirst = 64;
  mutable std::mutex mutex_;
  mutable std::map<DType, std::vector<Tensor>> tables_;
};

class Words {
 public:
  Words(Parameters& parameters, const std::string& name, const ModelConfig& config, int64_t count)
      : config_(config), words_(parameters, name + ".words", count, config.embedding) {
    if (config.positions == "learned") {
      positions_ = &parameters.add(name + ".positions", {config.longest, config.embedding}, Initialiser::normal(0.02));
    }
  }
  // ids [T,B], the first of them at `position` -> [T,B,D]
  Var operator()(const Tensor& ids, int64_t position) const {
    Var x = words_(ids, std::sqrt(static_cast<float>(config_.embedding)));
    const int64_t count = ids.dim(0);
    if (config_.positions == "sinusoidal") {
      x = add_rows(x, sinusoids_(position, count, config_.embedding, x.device(), x.dtype()));
    } else if (positions_ != nullptr) {
      check(position + count <= config_.longest, "model.longest: learned positions cover {} tokens, got {}",
            config_.longest, position + count);
      x = add_rows(x, positions_->var().slice(position, position + count));
    }
    return dropout(x, static_cast<float>(config_.dropout));
  }
  const Embedding& table() const { return words_; }

 private:
  // x [T,B,D] + rows [T,D] for every sentence
  static Var add_rows(const Var& x, const Var& rows) {
    if (x.dim(0) == 1) return x + cast(rows.reshape({x.dim(2)}), x.dtype());
    std::vector<int32_t> row(static_cast<size_t>(x.dim(0) * x.dim(1)));
    for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<int32_t>(i / static_cast<size_t>(x.dim(1)));
    return x + cast(embedding(rows, from_host(row, {x.dim(0), x.dim(1)}, x.device())), x.dtype());
  }
  ModelConfig config_;
  Embedding words_;
  const Parameter* positions_ = nullptr;
  Sinusoids sinusoids_;
};

class FeedForward {
 public:
  FeedForward(Parameters& parameters, const std::string& name, const ModelConfig& c)
      : in_(parameters, name + ".in", c.embedding, c.feed_forward),
        out_(parameters, name + ".out", c.feed_forward, c.embedding),
        op_(c.activation == "gelu" ? UnaryOp::kGelu : UnaryOp::kRelu),
        rate_(static_cast<float>(c.dropout)) {}
  Var operator()(const Var& x) const {
    const Var inside = in_(x);
    return out_(op_ == UnaryOp::kRelu ? relu_dropout(inside, rate_) : dropout(unary(op_, inside), rate_));
  }

 private:
  Linear in_, out_;
  UnaryOp op_;
  float rate_;
};

// What goes from part to part: x, and what is still to be added to it, which the next norm does on its way.
struct Flow {
  Var x, more;
};
Residual normed(const LayerNorm& norm, const Flow& flow, float rate) {
  return flow.more ? norm(flow.x, flow.more, rate) : Residual{flow.x, norm(flow.x)};
}

// A part with its residual and norm: x + f(norm(x)), or norm(x + f(x)).
class Around {
 public:
  Around(Parameters& parameters, const std::string& name, const ModelConfig& c)
      : norm_(parameters, name + ".norm", c.embedding),
        before_(c.norm == "pre"),
        rate_(static_cast<float>(c.dropout)) {}
  template <class Part> Flow operator()(const Flow& flow, Part&& part) const {
    if (!before_) return {norm_(flow.x, part(flow.x), rate_).normed, {}};
    const auto [sum, seen] = normed(norm_, flow, rate_);
    return {sum, part(seen)};
  }

 private:
  LayerNorm norm_;
  bool before_;
  float rate_;
};

struct EncoderLayer {
  Around around_self, around_forward;
  Attention self;
  FeedForward forward;
  EncoderLayer(Parameters& p, const std::string& name, const ModelConfig& c)
      : around_self(p, name + ".self", c),
        around_forward(p, name + ".forward", c),
        self(p, name + ".self", c.self_attention, c.embedding, c.embedding),
        forward(p, name + ".forward", c) {}
};

struct DecoderLayer {
  Around around_self, around_cross, around_forward;
  Attention self, cross;
  FeedForward forward;
  DecoderLayer(Parameters& p, const std::string& name, const ModelConfig& c)
      : around_self(p, name + ".self", c),
        around_cross(p, name + ".cross", c),
        around_forward(p, name + ".forward", c),
        self(p, name + ".self", c.self_attention, c.embedding, c.embedding),
        cross(p, name + ".cross", c.attention, c.embedding, c.embedding),
        forward(p, name + ".forward", c) {}
};

// The edits of a layer's attentions.
struct LayerEdits {
  std::vector<AttentionEdit> encoder_self, decoder_self, cross;
  LayerEdits(std::span<const WeightEdit> edits, size_t layer)
      : encoder_self(edits_of(edits, AttentionTrace::Kind::kEncoderSelf, static_cast<int64_t>(layer))),
        decoder_self(edits_of(edits, AttentionTrace::Kind::kDecoderSelf, static_cast<int64_t>(layer))),
        cross(edits_of(edits, AttentionTrace::Kind::kCross, static_cast<int64_t>(layer))) {}
};

class Transformer final : public Model {
 public:
  Transformer(Parameters& parameters, const ModelConfig& config, const VocabularySizes& sizes)
      : config_(config),
        source_(parameters, "encoder", config, sizes.source),
        target_(parameters, "decoder", config, sizes.target),
        encoder_norm_(parameters, "encoder.norm", config.embedding),
        decoder_norm_(parameters, "decoder.norm", config.embedding),
        out_(parameters, config, target_.table(), config.embedding, sizes.target) {
    for (const AttentionConfig& attention : {config.attention, config.self_attention}) {
      check(!attention.coverage,
            "{}.coverage: coverage follows the steps of a recurrent decoder; expected model.architecture = bahdanau or "
            "luong, got transformer",
            attention.section);
    }
    for (int64_t i = 0; i < config.encoder_layers; ++i)
      encoder_.emplace_back(parameters, fmt::format("encoder.{}", i), config);
    for (int64_t i = 0; i < config.decoder_layers; ++i)
      decoder_.emplace_back(parameters, fmt::format("decoder.{}", i), config);
  }

  TeacherForced teacher_force(const Source& source, const Tensor& target, Capture capture,
                              std::span<const WeightEdit> edits) const override {
    TeacherForced result;
    const Var encoded = encode(source, capture, result.weights, edits);
    Flow x = {target_(target, 0), {}};
    for (size_t i = 0; i < decoder_.size(); ++i) {
      const DecoderLayer& layer = decoder_[i];
      const LayerEdits layer_edits(edits, i);
      x = layer.around_self(x, [&](const Var& y) {
        const auto [q, memory] = layer.self.project_self(y);
        const AttentionQuery query{.projected = q,
                                   .causal = true,
                                   .capture_weights = capture.weights,
                                   .capture_scores = capture.scores,
                                   .edits = layer_edits.decoder_self};
        return taken(layer.self(memory, query), AttentionTrace::Kind::kDecoderSelf, i, capture, result);
      });
      x = layer.around_cross(x, [&](const Var& y) {
        const auto [q, memory] = layer.cross.project_cross(encoded, source.lengths, y);
        const AttentionQuery query{.projected = q,
                                   .capture_weights = capture.weights,
                                   .capture_scores = capture.scores,
                                   .edits = layer_edits.cross};
        return taken(layer.cross(memory, query), AttentionTrace::Kind::kCross, i, capture, result);
      });
      x = layer.around_forward(x, layer.forward);
    }
    result.logits = words(x);
    return result;
  }

  std::unique_ptr<DecoderState> decode(const Source& source, const DecodeOptions& options) const override;

 private:
  friend class TransformerDecoder;

  static Var taken(const AttentionResult& attended, AttentionTrace::Kind kind, size_t layer, Capture capture,
                   TeacherForced& result) {
    if (capture.weights) {
      result.weights.push_back({kind, static_cast<int64_t>(layer), attended.weights, attended.center, attended.scores});
    }
    // Sums over the heads, [B,H,T] -> [T,B], and over the layers.
    const auto add = [](const Var& x, Var& total) {
      const Var of_layer = permute(sum(x, 1), {1, 0});
      total = total ? total + of_layer : of_layer;
    };
    if (attended.selection_log_prob) {
      add(attended.selection_log_prob, result.selection_log_prob);
      add(attended.entropy, result.entropy);
    }
    return attended.context;
  }

  Var encode(const Source& source, Capture capture, std::vector<AttentionTrace>& weights,
             std::span<const WeightEdit> edits) const {
    Flow x = {source_(source.ids, 0), {}};
    for (size_t i = 0; i < encoder_.size(); ++i) {
      const EncoderLayer& layer = encoder_[i];
      const LayerEdits layer_edits(edits, i);
      x = layer.around_self(x, [&](const Var& y) {
        const auto [q, memory] = layer.self.project_self(y, source.lengths);
        const AttentionResult attended = layer.self(memory, {.projected = q,
                                                             .capture_weights = capture.weights,
                                                             .capture_scores = capture.scores,
                                                             .edits = layer_edits.encoder_self});
        if (capture.weights)
          weights.push_back({AttentionTrace::Kind::kEncoderSelf, static_cast<int64_t>(i), attended.weights,
                             attended.center, attended.scores});
        return attended.context;
      });
      x = layer.around_forward(x, layer.forward);
    }
    return end(encoder_norm_, x);
  }
  // What comes after the last part.
  Var end(const LayerNorm& norm, const Flow& x) const {
    return config_.norm == "pre" ? normed(norm, x, static_cast<float>(config_.dropout)).normed : x.x;
  }
  Var words(const Flow& x) const { return out_(end(decoder_norm_, x)); }

  ModelConfig config_;
  Words source_, target_;
  LayerNorm encoder_norm_, decoder_norm_;
  OutputLayer out_;
  std::vector<EncoderLayer> encoder_;
  std::vector<DecoderLayer> decoder_;
};

// Keeps the projected keys and values of every step taken, [steps, K*B, D] a layer.
class TransformerDecoder final : public DecoderState {
 public:
  TransformerDecoder(const Transformer& model, const Source& source, const DecodeOptions& options)
      : model_(model), options_(options), arena_(Arena::current()) {
    const Var encoded = model.encode(source, options.capture, encoder_weights_, options.edits);
    for (const DecoderLayer& layer : model.decoder_) {
      edits_.emplace_back(options.edits, layers_.size());
      layers_.push_back({layer.cross.project_memory(encoded, source.lengths), {}, {}});
    }
  }

  std::unique_ptr<DecoderState> clone() const override { return std::make_unique<TransformerDecoder>(*this); }

  Var step(const Tensor& words) override {
    const int64_t beams = words.dim(0), batch = words.dim(1), rows = beams * batch;
    check(step_ < options_.longest, "decode: expected at most {} steps", options_.longest);
    weights_ = step_ == 0 ? encoder_weights_ : std::vector<AttentionTrace>();
    Flow x = {model_.target_(words.reshape({1, rows}), step_), {}};  // [1,K*B,D]
    for (size_t i = 0; i < layers_.size(); ++i) {
      const DecoderLayer& layer = model_.decoder_[i];
      Cache& cache = layers_[i];
      x = layer.around_self(x, [&](const Var& y) {
        const auto [q, now] = layer.self.project_self(y, {}, step_);
        append(cache.keys, now.keys.value());
        append(cache.values, now.values.value());
        const Memory memory{cache.keys.slice(0, step_ + 1), cache.values.slice(0, step_ + 1), {}};
        return keep(layer.self(memory, {.projected = q,
                                        .position = step_,
                                        .causal = true,
                                        .capture_weights = options_.capture.weights,
                                        .capture_scores = options_.capture.scores,
                                        .edits = edits_[i].decoder_self}),
                    AttentionTrace::Kind::kDecoderSelf, i);
      });
      x = layer.around_cross(x, [&](const Var& y) {
        // The beams of a sentence are several queries to its one memory.
        const Var query = y.reshape({beams, batch, y.dim(2)});
        return keep(layer.cross(cache.source, {.query = query,
                                               .position = step_,
                                               .stride = 0,
                                               .capture_weights = options_.capture.weights,
                                               .capture_scores = options_.capture.scores,
                                               .edits = edits_[i].cross}),
                    AttentionTrace::Kind::kCross, i)
            .reshape({1, rows, y.dim(2)});
      });
      x = layer.around_forward(x, layer.forward);
    }
    ++step_;
    const Var logits = model_.words(x);
    return logits.reshape({beams, batch, logits.dim(2)});
  }

  void reorder(const Tensor& rows) override { pick(rows.reshape({rows.size()})); }

  void select_sentences(const Tensor& sentences) override {
    const int64_t batch = layers_[0].source.batch();
    for (Cache& cache : layers_) cache.source = pick_sentences(cache.source, sentences);
    if (step_ > 0) pick(rows_of(sentences, options_.beams, batch));
  }

  std::vector<AttentionTrace> weights() const override { return weights_; }

 private:
  struct Cache {
    Memory source;
    Tensor keys, values;
  };

  // Caches grow twofold, where the source was read into: they outlive the memory of a step.
  void append(Tensor& cache, const Tensor& now) const {
    if (!cache || cache.dim(0) == step_) {
      const ArenaScope own(arena_);
      const int64_t room = std::min(options_.longest, std::max<int64_t>(16, 2 * step_));
      const Tensor grown = empty(now.shape().with(0, room), now.dtype(), now.device());
      if (cache) copy(cache, grown.slice(0, step_));
      cache = grown;
    }
    const Device d = now.device();
    kernels(d).affine(stream(d), {.x = now, .y = cache.slice(step_, step_ + 1)});
  }
  // Rows of every step picked anew, i32 of K*B, into a spare cache that then takes the place.
  void pick(const Tensor& rows) {
    for (Cache& cache : layers_) {
      for (Tensor* x : {&cache.keys, &cache.values}) {
        const Shape shape = x->shape().with(1, rows.size());
        if (!spare_ || !(spare_.shape() == shape)) {
          const ArenaScope own(arena_);
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
  Var keep(const AttentionResult& attended, AttentionTrace::Kind kind, size_t layer) {
    if (options_.capture.weights)
      weights_.push_back({kind, static_cast<int64_t>(layer), attended.weights, attended.center, attended.scores});
    return attended.context;
  }

  const Transformer& model_;
  DecodeOptions options_;
  Arena* arena_;  // null: the heap
  int64_t step_ = 0;
  std::vector<Cache> layers_;
  std::vector<LayerEdits> edits_;  // one a layer
  Tensor spare_;
  std::vector<AttentionTrace> encoder_weights_, weights_;
};

std::unique_ptr<DecoderState> Transformer::decode(const Source& source, const DecodeOptions& options) const {
  return std::make_unique<TransformerDecoder>(*this, source, options);
}

}  // namespace

std::unique_ptr<Model> make_transformer(Parameters& parameters, const ModelConfig& config,
                                        const VocabularySizes& sizes) {
  return std::make_unique<Transformer>(parameters, config, sizes);
}

}  // namespace fovea
