// Subwords: SentencePiece models, trained in place (Kudo and Richardson 2018).
#pragma once

#include "text/vocabulary.h"

namespace fovea {

constexpr std::string_view kSentencePieceExtension = "spm";

std::unique_ptr<Vocabulary> train_sentencepiece(std::span<const std::string> lines, const VocabularyOptions& options);
// Error when it is no SentencePiece model, or one whose special ids are not ours.
std::unique_ptr<Vocabulary> load_sentencepiece(const std::string& path);

}  // namespace fovea
