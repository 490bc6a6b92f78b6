// What fovea translate prints beside a translation: its word alignment and the scores of its words.
#pragma once

#include <string>
#include <vector>

#include "decode/paragraphs.h"
#include "evaluate/alignment.h"

namespace fovea::app {

struct WordFlags {
  bool alignment = false, scores = false;

  bool any() const { return alignment || scores; }
};

struct CandidateWords {
  Alignment alignment;         // of the words of the whole line
  std::vector<double> scores;  // log-probabilities: of each word the sum over its pieces, then that of an end mark
};

// Of the candidate `rank`, from 0. Its hypotheses must have captured their attention weights if it is to be aligned.
CandidateWords candidate_words(const Translator& translator, const TranslatedText& text, size_t rank,
                               const WordFlags& flags);
// " ||| 0-0 1-2 ||| -0.1234 -0.0021", as far as asked for.
std::string word_fields(const CandidateWords& words, const WordFlags& flags);

}  // namespace fovea::app
