#include "models/span_model.h"

#include <cmath>

#include "models/architectures.h"
#include "models/recurrent_encoder.h"
#include "nn/recurrent.h"

namespace fovea {

namespace {

// The characters of a token as a vector: a convolution over them, and its maximum over time (Kim 2014).
class CharacterEmbedding {
 public:
  CharacterEmbedding(Parameters& parameters, const AnswerConfig& config, int64_t characters)
      : width_(config.character_width),
        embedding_(parameters, "reader.characters", characters, config.character_embedding),
        filters_(parameters, "reader.filters", width_ * config.character_embedding, config.character_filters) {}

  // i32 [width - 1 + L,U], lengths [U] -> [U,filters]
  Var operator()(const Tensor& characters, const Tensor& lengths) const {
    const Var embedded = embedding_(characters);
    const int64_t steps = characters.dim(0) - width_ + 1;
    std::vector<Var> shifted;
    for (int64_t i = 0; i < width_; ++i) shifted.push_back(embedded.slice(i, i + steps));
    return pool_time(PoolOp::kMaximum, relu(filters_(concat(shifted, 2))), lengths);
  }

 private:
  int64_t width_;
  Embedding embedding_;
  Linear filters_;
};

// What is added to the embeddings of tokens: their features and their characters, by a linear layer.
class TokenFeatures {
 public:
  TokenFeatures(Parameters& parameters, const ModelConfig& model, const AnswerConfig& answer, int64_t characters)
      : dropout_(static_cast<float>(model.dropout)),
        input_(parameters, "reader.input", kTokenFeatures + answer.character_filters, model.embedding) {
    if (answer.reads_characters()) characters_ = std::make_unique<CharacterEmbedding>(parameters, answer, characters);
  }

  // The vectors of the batch's different tokens; absent for a model that reads no characters.
  Var words(const SpanInput& input) const {
    return characters_ ? (*characters_)(input.characters, input.character_lengths) : Var();
  }
  Var operator()(const SpanTokens& tokens, const Var& words, DType dtype) const {
    Var x = cast(Var(tokens.features), dtype);
    if (words) x = concat({x, dropout(cast(embedding(words, tokens.words), dtype), dropout_, true)}, 2);
    return input_(x);
  }

 private:
  float dropout_;
  Linear input_;
  std::unique_ptr<CharacterEmbedding> characters_;
};

// Logits [T,B] from features [T,B,F], in the dtype of the weights.
class PointerLayer {
 public:
  PointerLayer(Parameters& parameters, const std::string& name, int64_t features)
      : weight_(parameters.add(name + ".weight", {1, features}, Initialiser::glorot())),
        bias_(parameters.add(name + ".bias", {1}, Initialiser::constant(0.0))) {}
  Var operator()(const Var& x, const Tensor& mask) const {
    const DType dtype = weight_.value().dtype();
    return linear(cast(x, dtype), weight_, bias_).reshape({x.dim(0), x.dim(1)}) + cast(Var(mask), dtype);
  }

 private:
  const Parameter &weight_, &bias_;
};

class SpanReader : public SpanModel {
 public:
  SpanReader(Parameters& parameters, const ModelConfig& model, const AnswerConfig& answer, const SpanSizes& sizes)
      : model_(model),
        answer_(answer),
        encoder_(encoder_of(model).make(parameters, model, sizes.vocabulary)),
        features_(parameters, model, answer, sizes.characters),
        table_(parameters.find("encoder.words.table")) {}
  int64_t max_source() const override { return encoder_->max_length(); }
  std::vector<AttentionInfo> attentions() const override { return encoder_->attentions(); }

 protected:
  Encoded encode(const SpanTokens& tokens, const Var& words, Capture capture = {}) const {
    const Var features = features_(tokens, words, activation_type(table_.value()));
    return (*encoder_)({.ids = tokens.ids, .lengths = tokens.lengths, .images = {}, .features = features}, capture);
  }
  Var words(const SpanInput& input) const { return features_.words(input); }
  float rate() const { return static_cast<float>(model_.dropout); }

  ModelConfig model_;
  AnswerConfig answer_;
  std::unique_ptr<Encoder> encoder_;

 private:
  TokenFeatures features_;
  const Parameter& table_;
};

// The attention flow layer (section 2, layer 4). Of S_tj = w . [h_t; u_j; h_t * u_j] the part of u_j is computed with
// the product, (h_t * w_hu + w_u) . u_j, and the part of h_t is left out where it cannot change the result: it is the
// same for all j.
//   a_t = softmax_j(S_tj),  u~_t = sum_j a_tj u_j;  b = softmax_t(max_j S_tj),  h~ = sum_t b_t h_t
//   g_t = [h_t; u~_t; h_t * u~_t; h_t * h~]
class AttentionFlow {
 public:
  AttentionFlow(Parameters& parameters, const std::string& name, int64_t depth)
      // Starts as a scaled dot product: question and passage share an encoder, so equal words are similar at once.
      : product_(parameters.add(name + ".product", {depth},
                                Initialiser::constant(1.0 / std::sqrt(static_cast<double>(depth))))),
        question_(parameters.add(name + ".question", {depth}, Initialiser::uniform(1.0 / static_cast<double>(depth)))),
        passage_(parameters, name + ".passage", depth, 1, {.bias = false}) {}

  struct Result {
    Var g;  // [T,B,4D]
    Tensor passage_to_question, question_to_passage;
  };
  Result operator()(const Var& h, const Var& u, const SpanInput& input) const {
    const int64_t time = h.dim(0), batch = h.dim(1), words = u.dim(0);
    const DType dtype = h.dtype();
    const Var query = h * cast(product_.var(), dtype) + cast(question_.var(), dtype);
    const Var scores = dot_score(query, u);  // [B,1,T,J]
    const Var weights = softmax(scores, {.lengths = input.question.lengths});
    const Var attended = weighted_sum(weights, u);
    const Var by_token =
        permute(scores.reshape({batch, time, words}), {1, 0, 2}) + cast(Var(input.question_mask), dtype);
    const Var best = maximum(by_token, 2).reshape({time, batch, 1}) + passage_(h);
    const Attended summary = attention_pool(best, h, input.passage.lengths);
    return {concat({h, attended, h * attended, h * summary.out}, 2), weights.value(), summary.weights};
  }

 private:
  const Parameter &product_, &question_;  // [D]: w_hu and w_u
  Linear passage_;                        // w_h
};

class AttentionFlowReader final : public SpanReader {
 public:
  AttentionFlowReader(Parameters& parameters, const ModelConfig& model, const AnswerConfig& answer,
                      const SpanSizes& sizes)
      : SpanReader(parameters, model, answer, sizes),
        flow_(parameters, "reader.flow", encoder_->depth()),
        modelling_(parameters, "reader.modelling", 4 * encoder_->depth(), model.hidden,
                   layers(answer.modelling_layers)),
        last_(parameters, "reader.last", 2 * model.hidden, model.hidden, layers(1)),
        start_(parameters, "reader.start", 4 * encoder_->depth() + 2 * model.hidden),
        end_(parameters, "reader.end", 4 * encoder_->depth() + 2 * model.hidden) {}

  SpanLogits operator()(const SpanInput& input, Capture capture) const override {
    const Var words = SpanReader::words(input);
    const Encoded passage = encode(input.passage, words), question = encode(input.question, words);
    AttentionFlow::Result flow = flow_(passage.states, question.states, input);
    const Var& g = flow.g;  // of states that the encoder has dropped out
    const Var m = dropout(modelling_(g, input.passage.lengths), rate(), true);
    const Var m2 = dropout(last_(m, input.passage.lengths), rate(), true);
    SpanLogits logits;
    logits.start = start_(concat({g, m}, 2), input.passage_mask);
    logits.end = end_(concat({g, m2}, 2), input.passage_mask);
    if (capture.weights) {
      logits.passage_to_question = flow.passage_to_question;
      logits.question_to_passage = flow.question_to_passage;
    }
    return logits;
  }

 private:
  RecurrentOptions layers(int64_t count) const {
    return {.cell = cell_named(model_.cell), .layers = count, .bidirectional = true, .dropout = rate()};
  }

  AttentionFlow flow_;
  RecurrentStack modelling_, last_;
  PointerLayer start_, end_;
};

class JointReader final : public SpanReader {
 public:
  JointReader(Parameters& parameters, const ModelConfig& model, const AnswerConfig& answer, const SpanSizes& sizes)
      : SpanReader(parameters, model, answer, sizes),
        start_(parameters, "reader.start", encoder_->depth()),
        end_(parameters, "reader.end", encoder_->depth()) {}

  SpanLogits operator()(const SpanInput& input, Capture capture) const override {
    const Encoded encoded = encode(input.passage, words(input), capture);
    SpanLogits logits;
    logits.start = start_(encoded.states, input.passage_mask);
    logits.end = end_(encoded.states, input.passage_mask);
    logits.attentions = encoded.attentions;
    return logits;
  }

 private:
  PointerLayer start_, end_;
};

}  // namespace

std::unique_ptr<SpanModel> make_span_model(Parameters& parameters, const ModelConfig& model, const AnswerConfig& answer,
                                           const SpanSizes& sizes) {
  if (answer.joint()) return std::make_unique<JointReader>(parameters, model, answer, sizes);
  return std::make_unique<AttentionFlowReader>(parameters, model, answer, sizes);
}

}  // namespace fovea
