// A vocabulary that goes on: its pieces keep their ids, and pieces of another text follow them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "text/vocabulary.h"

namespace fovea {

struct VocabularyExtension {
  std::shared_ptr<const Vocabulary> vocabulary;
  std::vector<std::vector<int32_t>> parts;  // of each new piece: the old pieces that it is made of, as far as there are
};

// Adds at most `most` pieces that occur at least twice in the lines. A list gets the most frequent of the words or
// characters that it lacks. A SentencePiece model gets the characters that it lacks, then what byte-pair encoding
// (Sennrich et al. 2016) merges of its own pieces in the lines. Text without a new piece is encoded as before.
VocabularyExtension extend_vocabulary(const Vocabulary& vocabulary, std::span<const std::string> lines, int64_t most);

}  // namespace fovea
