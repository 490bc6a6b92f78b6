// Vocabularies that are lists of words (separated by white space) or of characters (Unicode code points).
#pragma once

#include "text/extend_vocabulary.h"

namespace fovea {

constexpr std::string_view kListExtension = "vocab";

// Sorted by frequency; entries of equal frequency are sorted bytewise.
std::unique_ptr<Vocabulary> train_list(std::span<const std::string> lines, const VocabularyOptions& options);
// A vocabulary of words, whose ids follow those of the special tokens. Error for a word that is there twice.
std::unique_ptr<Vocabulary> list_of_words(std::vector<std::string> words);
// Throws an Error with file and line if the file is damaged.
std::unique_ptr<Vocabulary> load_list(const std::string& path);
// See extend_vocabulary().
VocabularyExtension extend_list(const Vocabulary& list, std::span<const std::string> lines, int64_t most);

}  // namespace fovea
