// The encoder of Vaswani et al. 2017, section 3.1: layers of self-attention and a feed-forward network.
#include "models/architectures.h"
#include "models/transformer_layers.h"

namespace fovea {

namespace {

struct EncoderLayer {
  SubLayer self_sublayer, forward_sublayer;
  Attention self;
  FeedForward forward;
  EncoderLayer(Parameters& p, const std::string& name, const ModelConfig& c)
      : self_sublayer(p, name + ".self", c),
        forward_sublayer(p, name + ".forward", c),
        self(p, name + ".self", c.self_attention, c.embedding, c.embedding),
        forward(p, name + ".forward", c) {}
};

class TransformerEncoder final : public Encoder {
 public:
  TransformerEncoder(Parameters& parameters, const ModelConfig& config, int64_t vocabulary_size)
      : config_(config),
        embedding_(parameters, "encoder", config, vocabulary_size),
        norm_(parameters, "encoder.norm", config) {
    check_needs_no_steps(config.self_attention, config);
    for (int64_t i = 0; i < config.encoder_layers; ++i)
      layers_.emplace_back(parameters, fmt::format("encoder.{}", i), config);
  }

  Encoded operator()(const Source& source, Capture capture, std::span<const WeightEdit> edits) const override {
    Encoded encoded{.lengths = source.lengths, .source_ids = source.ids};
    ResidualSum x = {embedding_(source.ids, 0, source.features), {}};
    for (size_t i = 0; i < layers_.size(); ++i) {
      const EncoderLayer& layer = layers_[i];
      const auto index = static_cast<int64_t>(i);
      const std::vector<AttentionEdit> layer_edits = edits_of(edits, AttentionKind::kEncoderSelf, index);
      x = layer.self_sublayer(x, [&](const Var& y) {
        const auto [q, memory] = layer.self.project_self(y, source.lengths);
        const AttentionResult attended = layer.self(memory, {.projected = q,
                                                             .capture_weights = capture.weights,
                                                             .capture_scores = capture.scores,
                                                             .edits = layer_edits});
        if (capture.weights)
          encoded.attentions.push_back(
              {AttentionKind::kEncoderSelf, index, attended.weights, attended.center, attended.scores});
        return attended.context;
      });
      x = layer.forward_sublayer(x, layer.forward);
    }
    encoded.states = norm_(x);
    return encoded;
  }

  int64_t depth() const override { return config_.embedding; }
  int64_t max_length() const override {
    return smaller_limit(embedding_.max_length(), layers_.front().self.max_keys());
  }
  const Parameter* embeddings() const override { return &embedding_.table().table(); }
  std::vector<AttentionInfo> attentions() const override {
    return {{AttentionKind::kEncoderSelf, std::ssize(layers_), config_.self_attention}};
  }

 private:
  ModelConfig config_;
  PositionedEmbedding embedding_;
  FinalNorm norm_;
  std::vector<EncoderLayer> layers_;
};

}  // namespace

std::unique_ptr<Encoder> make_transformer_encoder(Parameters& parameters, const ModelConfig& config,
                                                  int64_t vocabulary_size) {
  return std::make_unique<TransformerEncoder>(parameters, config, vocabulary_size);
}

}  // namespace fovea
