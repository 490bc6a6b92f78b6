// A vocabulary encodes text as token ids and decodes it. There are four kinds: unigram (Kudo 2018) and bpe (Sennrich et
// al. 2016), which are SentencePiece models, and lists of words or characters.
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

// The first ids of every vocabulary.
constexpr int32_t kPad = 0, kUnknown = 1, kBegin = 2, kEnd = 3;
// Whether the id is decoded to no text.
constexpr bool is_control_token(int32_t id) { return id == kPad || id == kBegin || id == kEnd; }

// The text that kUnknown is decoded to.
constexpr std::string_view kUnknownText = "\u2047";

// A token covers the bytes [begin, end) of a text, without a space before it. The range is empty for a token that is
// only a space, and for all but the last byte of a character that is encoded as byte pieces.
struct Token {
  int32_t id;
  size_t begin, end;
  std::string text;         // the bytes [begin, end)
  bool starts_word = true;  // always true in scripts without spaces
};

class Vocabulary {
 public:
  virtual ~Vocabulary() = default;
  virtual std::string_view kind() const = 0;  // as in VocabularyOptions
  virtual int64_t size() const = 0;
  virtual std::string piece(int32_t id) const = 0;

  // tokenise(), encode() and sample() do not add kBegin or kEnd. Invalid UTF-8 is read as U+FFFD.
  virtual std::vector<Token> tokenise(std::string_view text) const = 0;
  virtual std::vector<int32_t> encode(std::string_view text) const = 0;
  // Subword regularisation: encodes the text with a random segmentation. unigram: `rate` is the exponent of the
  // segmentations' probabilities (Kudo 2018). bpe: `rate` is the fraction of merges that are dropped (Provilkov et al.
  // 2020). Lists have only one segmentation.
  virtual std::vector<int32_t> sample(std::string_view text, double rate, Random& random) const;
  // Control tokens are decoded to nothing. `tokens`, if given, receives the position of each id in the result.
  std::string decode(std::span<const int32_t> ids, std::vector<Token>* tokens = nullptr) const;

  virtual std::string_view extension() const = 0;  // of the vocabulary's file
  virtual std::string bytes() const = 0;           // the content of the file

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
  bool lowercase = false;
  std::vector<std::string> symbols;

  void describe(Fields& fields);
};

struct TrainedVocabulary {
  std::unique_ptr<Vocabulary> vocabulary;
  std::string warning;  // why there are fewer pieces than requested; otherwise empty
};

// For a vocabulary shared by source and target, `lines` contains the lines of both.
TrainedVocabulary train_vocabulary(std::span<const std::string> lines, const VocabularyOptions& options);

// Writes folder/stem.spm, a SentencePiece model that other tools can read, or folder/stem.vocab, a list.
void save_vocabulary(const Vocabulary& vocabulary, const std::string& folder, const std::string& stem);
bool has_vocabulary(const std::string& folder, const std::string& stem);
std::unique_ptr<Vocabulary> load_vocabulary(const std::string& folder, const std::string& stem);

}  // namespace fovea
