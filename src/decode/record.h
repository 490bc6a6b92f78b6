// The attention record of a hypothesis.
#pragma once

#include <string>

#include "attention/record.h"
#include "decode/search.h"
#include "store/model_folder.h"

namespace fovea {

// A word that might come next, as it would be written; a lone space or byte has no such form and gives its piece.
std::string word_text(int32_t id, const Vocabulary& vocabulary);

// A step of a search on its way: the text so far, with its tokens, and what the last of them looked at.
struct RecordedStep {
  std::string text;
  std::vector<RecordToken> tokens;
  RecordStep step;
  std::vector<RecordedAttention> attentions;  // of one row each
};
RecordedStep make_step(const LoadedModel& model, const SearchStep& step);

// `most_source` tokens of the line were read.
AttentionRecord make_record(const LoadedModel& model, const std::string& line, const Hypothesis& hypothesis,
                            int64_t most_source);

}  // namespace fovea
