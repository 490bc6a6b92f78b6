// Reading comprehension: where in a passage does the answer to a question start and end? Two models score every token
// of the passage as the first and as the last token of the answer.
//   attention-flow: BiDAF (Seo et al. 2017, "Bidirectional attention flow for machine comprehension")
//   joint: one encoder over question and passage (Devlin et al. 2019, section 4.2, without pretraining)
#pragma once

#include <memory>
#include <vector>

#include "models/answer_config.h"
#include "models/model.h"

namespace fovea {

// The number of features of a token beside its id (see tasks/answer_features.h).
inline constexpr int64_t kTokenFeatures = 32;

// Tokens of a batch, time-major.
struct SpanTokens {
  Tensor ids, lengths;  // i32 [T,B], [B]
  Tensor features;      // f32 [T,B,kTokenFeatures]
  Tensor words;         // i32 [T,B]: rows of the table of characters; absent for a model that reads none
};

struct SpanInput {
  // joint: `passage` is the question, a separator and the passage; `question` is absent.
  SpanTokens passage, question;
  // The characters of the batch's different tokens: i32 [width - 1 + L,U] and their numbers [U].
  Tensor characters, character_lengths;
  Tensor passage_mask;   // [T,B], 0 where an answer may start or end and kMasked elsewhere
  Tensor question_mask;  // [B,J], 0 within the question and kMasked after it
};
inline constexpr float kMasked = -1e9f;

struct SpanLogits {
  Var start, end;  // [T,B], masked; the logit of "not in this window" is 0
  // attention-flow, if captured: which tokens of the question each token of the passage attends to, [B,1,T,J], and
  // which tokens of the passage matter to the question, [B,1,1,T].
  Tensor passage_to_question, question_to_passage;
  std::vector<AttentionTrace> attentions;  // of the encoder, if captured
};

class SpanModel : public Model {
 public:
  virtual SpanLogits operator()(const SpanInput& input, Capture capture = {}) const = 0;
};

struct SpanSizes {
  int64_t vocabulary, characters;
};
std::unique_ptr<SpanModel> make_span_model(Parameters& parameters, const ModelConfig& model, const AnswerConfig& answer,
                                           const SpanSizes& sizes);

}  // namespace fovea
