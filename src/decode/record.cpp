#include "decode/record.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <span>

#include "text/utf8.h"

namespace fovea {

namespace {

constexpr float kAbsent = std::numeric_limits<float>::quiet_NaN();

// Converts byte offsets in a text to offsets in characters. The byte offsets must not decrease.
class CharacterCounter {
 public:
  explicit CharacterCounter(std::string_view text) : text_(text) {}
  int64_t at(size_t byte) {
    while (byte_ < byte) {
      byte_ = code_point_at(text_, byte_).end;
      ++count_;
    }
    return count_;
  }

 private:
  std::string_view text_;
  size_t byte_ = 0;
  int64_t count_ = 0;
};

RecordToken end_mark(const std::vector<RecordToken>& before) {
  const int64_t end = before.empty() ? 0 : before.back().end;
  return {.text = "</s>", .begin = end, .end = end, .mark = true};
}

// Appends the weights of one layer to a recorded attention: masked cells become absent, and source tokens that the
// model read backwards are put in the order of the text.
class LayerRecorder {
 public:
  LayerRecorder(RecordedAttention& to, const FolderConfig& config) : to_(to), config_(config) {}

  void add(const HypothesisWeights& from) {
    ++to_.layers;
    for (int64_t h = 0; h < from.heads; ++h) {
      for (int64_t t = 0; t < from.rows; ++t) add_row(from, h, from_encoder(from) ? model_position(t, from.rows) : t);
    }
  }

 private:
  static bool from_encoder(const HypothesisWeights& from) { return from.kind == AttentionKind::kEncoderSelf; }
  // The position at which the model read source token i, of `count` with the end mark.
  int64_t model_position(int64_t i, int64_t count) const {
    const int64_t tokens = count - (config_.end_source ? 1 : 0);
    return config_.reverse_source && i < tokens ? tokens - 1 - i : i;
  }

  void add_row(const HypothesisWeights& from, int64_t head, int64_t t) {
    const auto first = static_cast<size_t>((head * from.rows + t) * from.columns);
    const float* row = from.weights.data() + first;
    const bool of_source = from.kind != AttentionKind::kDecoderSelf;
    const int64_t step = from.first_row + t;
    float center = 0;
    if (to_.window > 0) {
      center = from.centers.empty() ? static_cast<float>(std::min(step, from.columns - 1))
                                    : from.centers[static_cast<size_t>(head * from.rows + t)];
    }
    for (int64_t s = 0; s < from.columns; ++s) {
      const int64_t at = of_source ? model_position(s, from.columns) : s;
      const bool outside = to_.window > 0 && std::abs(static_cast<float>(at) - center) > static_cast<float>(to_.window);
      const bool later = !of_source && s > step;
      // An edit may put weight outside the window: those cells are present.
      const bool absent = (outside && row[at] == 0.0f) || later;
      to_.weights.push_back(absent ? kAbsent : row[at]);
      if (!from.scores.empty()) to_.scores.push_back(absent ? kAbsent : from.scores[first + static_cast<size_t>(at)]);
    }
    if (to_.sentinel) {
      const auto at = static_cast<size_t>(head * from.rows + t);
      to_.weights.push_back(from.sentinel[at]);
      if (!from.scores.empty()) to_.scores.push_back(from.sentinel_scores[at]);
    }
    if (to_.window > 0) to_.centers.push_back(text_position(center, of_source, from.columns));
  }
  // The centre of a window in the order of the text.
  float text_position(float center, bool of_source, int64_t columns) const {
    if (!config_.reverse_source || !of_source) return center;
    const auto last = static_cast<float>(columns - (config_.end_source ? 2 : 1));
    return center <= last ? last - center : center;
  }

  RecordedAttention& to_;
  const FolderConfig& config_;
};

AttentionConfig config_of(AttentionKind kind, const Model& model) {
  const std::vector<AttentionInfo> attentions = model.attentions();
  const auto found =
      std::find_if(attentions.begin(), attentions.end(), [&](const AttentionInfo& a) { return a.kind == kind; });
  assert(found != attentions.end());
  return found->config;
}

BestHeads best_of(const FolderConfig& config) {
  const bool one = config.best_heads.empty() && config.best_head > 0;
  return {one ? "one" : config.best_heads, config.best_layer, config.best_head, config.best_step};
}

std::vector<RecordedAttention> recorded(const std::vector<HypothesisWeights>& weights,
                                        std::span<const LoadedModel> models) {
  std::vector<RecordedAttention> result;
  for (const HypothesisWeights& w : weights) {
    const std::string_view kind = name_of(w.kind);
    auto found = std::find_if(result.begin(), result.end(),
                              [&](const RecordedAttention& r) { return r.kind == kind && r.model == w.model; });
    if (found == result.end()) {
      const bool cross = w.kind == AttentionKind::kCross;
      const LoadedModel& model = models[static_cast<size_t>(w.model)];
      const AttentionConfig mechanism = config_of(w.kind, *model.model);
      const ScopeEntry* scope = find_entry(scopes(), mechanism.scope);
      // A record of text has no column for the sentinel; a captioner has no source vocabulary.
      const bool sentinel = !w.sentinel.empty() && model.source == nullptr;
      const bool local = scope != nullptr && scope->window && w.kind != AttentionKind::kCopy;
      found = result.insert(result.end(), {.kind = std::string(kind),
                                           .mechanism = mechanism.mechanism(),
                                           .scope = mechanism.scope,
                                           .selection = mechanism.selection,
                                           .model = w.model,
                                           .layers = 0,
                                           .heads = w.heads,
                                           .rows = w.rows,
                                           .columns = w.columns + (sentinel ? 1 : 0),
                                           .window = local ? mechanism.window : 0,
                                           .best = cross ? best_of(model.config) : BestHeads{},
                                           .sentinel = sentinel});
    }
    LayerRecorder(*found, models.front().config).add(w);
  }
  return result;
}

// The mean over the models of an ensemble; none for a model that does not copy, or that copies every token.
std::optional<double> copy_probability(const std::vector<HypothesisWeights>& weights, size_t row) {
  double sum = 0;
  int64_t count = 0;
  for (const HypothesisWeights& w : weights) {
    if (w.kind != AttentionKind::kCopy || w.centers.empty()) continue;
    sum += static_cast<double>(w.centers[row]);
    ++count;
  }
  return count > 0 ? std::optional(sum / static_cast<double>(count)) : std::nullopt;
}

std::vector<RecordStep::Alternative> recorded(const std::vector<NextToken>& tokens, const Vocabulary& vocabulary) {
  std::vector<RecordStep::Alternative> result;
  result.reserve(tokens.size());
  for (const NextToken& next : tokens) {
    result.push_back({token_text(next.id, vocabulary), static_cast<double>(next.log_prob)});
  }
  return result;
}

}  // namespace

std::vector<RecordToken> record_tokens(std::span<const Token> tokens, std::string_view text,
                                       const Vocabulary& vocabulary) {
  std::vector<RecordToken> result;
  CharacterCounter characters(text);
  for (const Token& token : tokens) {
    const int64_t begin = characters.at(token.begin), end = characters.at(token.end);
    result.push_back({.text = token.text.empty() ? vocabulary.piece(token.id) : token.text,
                      .begin = begin,
                      .end = end,
                      .starts_word = token.starts_word,
                      .unknown = token.id == kUnknown});
  }
  return result;
}

std::string token_text(int32_t id, const Vocabulary& vocabulary) {
  if (id == kEnd) return "</s>";
  std::string text = vocabulary.decode({&id, 1});
  return text.empty() || text == "\uFFFD" ? vocabulary.piece(id) : text;
}

RecordedStep StepRecorder::add(const SearchStep& step) {
  ids_.resize(static_cast<size_t>(step.step));
  tokens_.resize(ids_.size());
  tokens_.push_back(token_of(step.id));
  ids_.push_back(step.id);
  return {tokens_.back(),
          {static_cast<double>(step.log_prob), recorded(step.alternatives, target_), copy_probability(step.weights, 0)},
          recorded(step.weights, models_)};
}

int64_t StepRecorder::characters(int64_t steps) const {
  return steps == 0 ? 0 : tokens_[static_cast<size_t>(steps - 1)].end;
}

// Decodes the token together with those before it, back to the last one that is text by itself: a space or a byte alone
// is text only together with its neighbours.
RecordToken StepRecorder::token_of(int32_t id) {
  if (id == kEnd) return end_mark(tokens_);
  const auto is_text = [&](size_t i) {
    return tokens_[i].end > tokens_[i].begin && !target_.piece(ids_[i]).starts_with("<0x");
  };
  size_t from = ids_.size();
  while (from > 0 && !is_text(--from)) {
  }
  std::vector<int32_t> ids(ids_.begin() + static_cast<int64_t>(from), ids_.end());
  ids.push_back(id);
  std::vector<Token> tokens;
  const std::string text = target_.decode(ids, &tokens);
  const std::vector<RecordToken> decoded = record_tokens(tokens, text, target_);
  RecordToken token = decoded.back();
  const int64_t before = ids.size() > 1 ? tokens_[from].begin - decoded.front().begin : 0;
  token.begin += before;
  token.end += before;
  return token;
}

std::vector<RecordToken> record_tokens(const TokenisedLine& line, int64_t max_tokens, const Vocabulary& vocabulary,
                                       bool with_end_mark) {
  check(line.tokens.size() == line.ids.size(), "record: expected a line that was tokenised with offsets");
  const auto read = std::span(line.tokens).first(std::min(line.tokens.size(), static_cast<size_t>(max_tokens)));
  std::vector<RecordToken> tokens = record_tokens(read, line.text, vocabulary);
  if (with_end_mark) tokens.push_back(end_mark(tokens));
  return tokens;
}

AttentionRecord target_record(std::span<const LoadedModel> models, const Hypothesis& hypothesis,
                              const Vocabulary& vocabulary) {
  AttentionRecord record{.architecture = models.front().config.model.architecture,
                         .score = hypothesis.score,
                         .log_probability = hypothesis.log_probability,
                         .ended = hypothesis.finished};
  std::vector<Token> target;
  record.target_text = vocabulary.decode(hypothesis.ids, &target);
  record.target = record_tokens(target, record.target_text, vocabulary);
  if (hypothesis.log_probs.size() > hypothesis.ids.size()) record.target.push_back(end_mark(record.target));
  for (size_t t = 0; t < hypothesis.log_probs.size(); ++t) {
    RecordStep& step = record.steps.emplace_back();
    step.log_probability = static_cast<double>(hypothesis.log_probs[t]);
    step.copy_probability = copy_probability(hypothesis.weights, t);
    if (t < hypothesis.alternatives.size()) step.alternatives = recorded(hypothesis.alternatives[t], vocabulary);
  }
  record.attentions = recorded(hypothesis.weights, models);
  return record;
}

AttentionRecord make_record(std::span<const LoadedModel> models, const TokenisedLine& line,
                            const Hypothesis& hypothesis, int64_t max_source) {
  const LoadedModel& model = models.front();
  AttentionRecord record = target_record(models, hypothesis, ExtendedVocabulary(model.target, line.copied.words));
  record.source_text = line.text;
  record.truncated = std::ssize(line.tokens) > max_source;
  record.source = record_tokens(line, max_source, *model.source, model.config.end_source && !line.tokens.empty());
  return record;
}

}  // namespace fovea
