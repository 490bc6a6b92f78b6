// The tokens of passages and questions. With a vocabulary of words, a token is a word, a number, a punctuation mark or
// one character of a script without spaces; with one of characters, a character that is no space; with subwords, a
// piece. Tokens of these kinds are compared by their forms: as written, in lower case, without an English ending.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/vocabulary.h"

namespace fovea {

// Numbers strings, so that forms are compared as numbers. Not for several threads.
class Forms {
 public:
  int32_t number(std::string text);
  const std::string& text(int32_t number) const { return *texts_[static_cast<size_t>(number)]; }
  int64_t size() const { return std::ssize(texts_); }

 private:
  std::unordered_map<std::string, int32_t> numbers_;
  std::vector<const std::string*> texts_;  // keys of the map, which never move
};

enum class TokenShape : uint8_t {
  kLower,
  kCapitalised,
  kUpper,
  kNumber,
  kWithDigits,
  kSentenceEnd,
  kOpening,
  kClosing,
  kPunctuation,
  kHan,
  kHanNumber,
  kOther
};
inline constexpr int64_t kTokenShapes = 12;

struct TextToken {
  int32_t id;                  // in the vocabulary
  int32_t begin, end;          // bytes of the text
  int32_t exact, lower, stem;  // numbers of its forms
  TokenShape shape;
};

struct TokenisedText {
  std::string text;
  std::vector<TextToken> tokens;
  int64_t size() const { return std::ssize(tokens); }
};

class AnswerTokeniser {
 public:
  AnswerTokeniser(std::shared_ptr<const Vocabulary> vocabulary, bool lowercase)
      : vocabulary_(std::move(vocabulary)), lowercase_(lowercase) {}
  TokenisedText operator()(std::string text, Forms& forms) const;
  const Vocabulary& vocabulary() const { return *vocabulary_; }

 private:
  std::shared_ptr<const Vocabulary> vocabulary_;
  bool lowercase_;
};

struct ByteRange {
  size_t begin, end;
};
// Words, numbers, punctuation marks and single characters of scripts without spaces; or each character that is no
// space. Marks that combine with a character are part of its token.
std::vector<ByteRange> split_tokens(std::string_view text, bool characters);
// The line that a vocabulary of the kind is trained on.
std::string vocabulary_line(const std::string& text, const VocabularyOptions& options, bool lowercase);
// The word without an English ending: "named" and "names" are "nam".
std::string stem_of(const std::string& lower);

}  // namespace fovea
