// The vocabularies in folders of other programs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/vocabulary.h"

namespace fovea {

// A JSON object of tokens and their ids, in the order of the file. Linear in the size of the file, of which objects
// with many members are otherwise refused.
std::vector<std::pair<std::string, int64_t>> read_token_ids(const std::string& path);

// A vocabulary with these tokens, by their ids, of texts that the SentencePiece model splits.
std::shared_ptr<const Vocabulary> load_foreign_side(const std::string& model, std::vector<std::string> pieces);

}  // namespace fovea
