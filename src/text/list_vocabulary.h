// Vocabularies that are lists: of words, which spaces separate, or of characters (Unicode code points).
#pragma once

#include "text/vocabulary.h"

namespace fovea {

constexpr std::string_view kListExtension = "vocab";

// The most frequent first; equally frequent ones in the order of their bytes.
std::unique_ptr<Vocabulary> train_list(std::span<const std::string> lines, const VocabularyOptions& options);
// Error with file and line when the file is not whole.
std::unique_ptr<Vocabulary> load_list(const std::string& path);

}  // namespace fovea
