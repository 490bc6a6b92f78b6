// The attention record of a hypothesis.
#pragma once

#include <span>
#include <string>

#include "attention/record.h"
#include "decode/search.h"
#include "decode/tokenised_line.h"
#include "store/model_folder.h"

namespace fovea {

// A word that might come next, as it would be written; a lone space or byte has no such form and gives its piece.
std::string word_text(int32_t id, const Vocabulary& vocabulary);

// A step of a search on its way: its token, how it was chosen and what it looked at.
struct RecordedStep {
  RecordToken token;
  RecordStep step;
  std::vector<RecordedAttention> attentions;  // of one row each
};

// Follows a search and knows what has been written. A step costs the same however much that is.
class StepRecorder {
 public:
  explicit StepRecorder(std::span<const LoadedModel> models) : models_(models) {}
  RecordedStep add(const SearchStep& step);
  int64_t steps() const { return std::ssize(words_); }  // that hold
  int64_t characters(int64_t steps) const;              // of the text after so many

 private:
  RecordToken token_of(int32_t word);

  std::span<const LoadedModel> models_;  // one, or those of the ensemble
  std::vector<int32_t> words_;
  std::vector<RecordToken> tokens_;
};

// The line must be tokenised with offsets; at most `most_source` of its tokens were read.
AttentionRecord make_record(std::span<const LoadedModel> models, const TokenisedLine& line,
                            const Hypothesis& hypothesis, int64_t most_source);

}  // namespace fovea
