// A vocabulary turns text into ids and back. Four kinds: unigram (Kudo 2018) and bpe (Sennrich et al.
// 2016), which are SentencePiece models, and lists of words or characters.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace fovea {

class Fields;

// What every vocabulary begins with.
constexpr int32_t kPad = 0, kUnknown = 1, kBegin = 2, kEnd = 3;
constexpr bool is_control_token(int32_t id) { return id == kPad || id == kBegin || id == kEnd; }

// What an unknown piece is decoded to.
constexpr std::string_view kUnknownText = "\u2047";

// A piece of a text: its bytes [begin, end), without a space before it. Both are equal for a piece
// that is only a space, and for all but the last byte of a character that was spelt in bytes.
struct Token {
  int32_t id;
  size_t begin, end;
  std::string text;         // those bytes
  bool starts_word = true;  // in scripts without spaces every piece does
};

class Vocabulary {
 public:
  virtual ~Vocabulary() = default;
  virtual std::string_view kind() const = 0;  // as in VocabularyOptions
  virtual int64_t size() const = 0;
  virtual std::string piece(int32_t id) const = 0;

  // None of them adds kBegin or kEnd. Bytes that are no UTF-8 are read as U+FFFD.
  virtual std::vector<Token> tokenise(std::string_view text) const = 0;
  virtual std::vector<int32_t> encode(std::string_view text) const = 0;
  // Another way to cut the text, drawn at random so that a model meets many. Unigram: from all of them,
  // `rate` being the exponent of their probabilities (Kudo 2018). Bpe: `rate` is the share of merges
  // left out (Provilkov et al. 2020). Lists know one way.
  virtual std::vector<int32_t> sample(std::string_view text, double rate, Random& random) const;
  // Silent ids leave nothing. `tokens`, where given, are the ids' places in the result.
  std::string decode(std::span<const int32_t> ids, std::vector<Token>* tokens = nullptr) const;

  virtual std::string_view extension() const = 0;  // of its file
  virtual std::string bytes() const = 0;           // what the file holds

 protected:
  virtual std::string decode_valid(std::span<const int32_t> ids, std::vector<Token>& tokens) const = 0;
};

struct VocabularyOptions {
  std::string kind = "unigram";
  int64_t size = 8000;
  int64_t min_count = 1;
  double coverage = 0.9995;
  bool byte_fallback = false;
  std::string normalisation = "identity";

  void describe(Fields& fields);
};

struct TrainedVocabulary {
  std::unique_ptr<Vocabulary> vocabulary;
  std::string warning;  // empty, or why there are fewer pieces than asked for
};

// For a vocabulary shared by both sides, the lines of both.
TrainedVocabulary train_vocabulary(std::span<const std::string> lines, const VocabularyOptions& options);

// folder/stem.spm, a SentencePiece model that other tools read, or folder/stem.vocab, a list.
void save_vocabulary(const Vocabulary& vocabulary, const std::string& folder, const std::string& stem);
std::unique_ptr<Vocabulary> load_vocabulary(const std::string& folder, const std::string& stem);

}  // namespace fovea
