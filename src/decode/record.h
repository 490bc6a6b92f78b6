// The attention record of a hypothesis.
#pragma once

#include <span>
#include <string>

#include "attention/record.h"
#include "decode/search.h"
#include "decode/tokenised_line.h"
#include "store/model_folder.h"

namespace fovea {

// A token as it is written in a text. A space or a byte alone has no such form, so its piece is returned.
std::string token_text(int32_t id, const Vocabulary& vocabulary);

// Tokens with their offsets in characters. The tokens must be in the order of the text.
std::vector<RecordToken> record_tokens(std::span<const Token> tokens, std::string_view text,
                                       const Vocabulary& vocabulary);

// One step of a running search: its token, the token's probability and alternatives, and its attention weights.
struct RecordedStep {
  RecordToken token;
  RecordStep step;
  std::vector<RecordedAttention> attentions;  // with one row each
};

// Follows a running search and records its steps. The cost of a step does not depend on the number of steps before it.
class StepRecorder {
 public:
  // For a model that copies, the words are those of the source's extended ids.
  explicit StepRecorder(std::span<const LoadedModel> models, std::vector<std::string> words = {})
      : models_(models), target_(models.front().target, std::move(words)) {}
  RecordedStep add(const SearchStep& step);
  int64_t steps() const { return std::ssize(ids_); }  // the steps that are valid so far
  int64_t characters(int64_t steps) const;            // the length of the text after that many steps

 private:
  RecordToken token_of(int32_t id);

  std::span<const LoadedModel> models_;  // one, or those of the ensemble
  ExtendedVocabulary target_;
  std::vector<int32_t> ids_;
  std::vector<RecordToken> tokens_;
};

// The first `max_tokens` tokens of a line that was tokenised with offsets, and the end mark if the model reads one.
std::vector<RecordToken> record_tokens(const TokenisedLine& line, int64_t max_tokens, const Vocabulary& vocabulary,
                                       bool end_mark);

// The record of a hypothesis without its source: the target, its steps and the attention.
AttentionRecord target_record(std::span<const LoadedModel> models, const Hypothesis& hypothesis,
                              const Vocabulary& target);

// The line must be tokenised with offsets; at most `max_source` of its tokens were read.
AttentionRecord make_record(std::span<const LoadedModel> models, const TokenisedLine& line,
                            const Hypothesis& hypothesis, int64_t max_source);

}  // namespace fovea
