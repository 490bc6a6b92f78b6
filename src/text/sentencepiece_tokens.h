// What the vocabularies that are SentencePiece models share.
#pragma once

#include <sentencepiece_processor.h>

#include <string>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace fovea {

constexpr std::string_view kPieceSpace = "\u2581";  // how SentencePiece writes a space in a piece

// Throws an Error that starts with `name` if the bytes are not a SentencePiece model.
void load_processor(sentencepiece::SentencePieceProcessor& processor, std::string_view bytes, const std::string& name);
// Whether the model is of type unigram or bpe. Error for any other type.
std::string_view kind_of_model(std::string_view bytes, const std::string& name);

// SentencePiece uses tabs internally and cannot encode them.
std::string without_tabs(std::string_view text);

// The tokens of a text. The surface of a SentencePiece piece includes the space before it; a Token does not.
std::vector<Token> tokens_of(const sentencepiece::ImmutableSentencePieceText& pieces, std::string_view text);

}  // namespace fovea
