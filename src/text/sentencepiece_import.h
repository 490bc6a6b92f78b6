// SentencePiece models that others have trained.
#pragma once

#include <memory>
#include <string>

#include "text/vocabulary.h"

namespace fovea {

// Reads a unigram or bpe model with its special pieces in any places: they are moved to the ids of ours, and added
// where they are missing. Everything else keeps its order. Throws an Error that names the file and what is wrong with
// it.
std::unique_ptr<Vocabulary> import_sentencepiece(const std::string& path);

}  // namespace fovea
