#include "text/extend_vocabulary.h"

#include "text/list_vocabulary.h"
#include "text/sentencepiece_vocabulary.h"

namespace fovea {

VocabularyExtension extend_vocabulary(const Vocabulary& vocabulary, std::span<const std::string> lines, int64_t most) {
  const bool list = vocabulary.extension() == kListExtension;
  return (list ? extend_list : extend_sentencepiece)(vocabulary, lines, most);
}

}  // namespace fovea
