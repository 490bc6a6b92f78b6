// A SentencePiece model whose tokens have the ids of another list. Marian and CTranslate2 tokenise with such a model
// and look the pieces up in a vocabulary of their own, which lacks some of its pieces, has pieces of other models and
// has language tags: ">>deu<<" at the start of a line is one token.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace fovea {

// `pieces` are all tokens in the order of their ids, beginning with the four special ones. Error messages start with
// `name`.
std::unique_ptr<Vocabulary> renumbered_vocabulary(std::string_view model, std::vector<std::string> pieces,
                                                  const std::string& name);

// The SentencePiece model of a vocabulary's file, without the list of a renumbered one.
std::string_view sentencepiece_model(std::string_view bytes);

// Such a vocabulary is stored as a SentencePiece model that begins with the list. Null for any other file.
std::unique_ptr<Vocabulary> load_renumbered(std::string_view bytes, const std::string& name);

}  // namespace fovea
