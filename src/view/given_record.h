// An attention record of weights that another program computed, so that every view can draw them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attention/record.h"

namespace fovea {

// Tokens are as their tokeniser writes them. The marks of SentencePiece (▁), of byte-level BPE (Ġ), of WordPiece (##)
// and of subword-nmt (@@) tell which of them begin a word and are not shown. Tokens such as </s> and [SEP] are marks.
struct GivenWeights {
  std::vector<std::string> source;
  std::vector<std::string> target;  // empty: the tokens of the source attend to one another
  int64_t layers = 1, heads = 1;
  std::span<const float> weights;  // [layer, head, target or source, source]; NaN in cells that are masked
  bool causal = false;             // self-attention: cells right of the diagonal are masked; their weight must be 0
  bool any_sums = false;           // accepts rows that do not sum to 1, and weights above 1
  std::string model;               // its name, for people
};

// Throws an Error if the number of weights does not fit the tokens, if a weight is negative or infinite, or if a row
// does not sum to 1.
AttentionRecord record_of_weights(const GivenWeights& given);

}  // namespace fovea
