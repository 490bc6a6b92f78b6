// Subword vocabularies: SentencePiece models (Kudo and Richardson 2018).
#pragma once

#include "text/vocabulary.h"

namespace fovea {

constexpr std::string_view kSentencePieceExtension = "spm";

std::unique_ptr<Vocabulary> train_sentencepiece(std::span<const std::string> lines, const VocabularyOptions& options);
// Throws an Error if the file is not a SentencePiece model or if its special ids differ from ours.
std::unique_ptr<Vocabulary> load_sentencepiece(const std::string& path);

}  // namespace fovea
