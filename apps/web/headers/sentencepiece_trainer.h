// The training of subword models, which this build lacks.
#pragma once

#include <sentencepiece_processor.h>

namespace sentencepiece {

// NOLINTBEGIN(readability-identifier-naming)
class SentenceIterator {
 public:
  virtual ~SentenceIterator() = default;
  virtual bool done() const = 0;
  virtual void Next() = 0;
  virtual const std::string& value() const = 0;
  virtual util::Status status() const = 0;
};

class SentencePieceTrainer {
 public:
  static util::Status Train(const std::unordered_map<std::string, std::string>&, SentenceIterator*, std::string*) {
    return util::Status("this build of Fovea has no SentencePiece library");
  }
};
// NOLINTEND(readability-identifier-naming)

}  // namespace sentencepiece
