#include "text/sentencepiece_vocabulary.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <mutex>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/protobuf.h"
#include "text/lines.h"
#include "text/renumbered_vocabulary.h"
#include "text/sentencepiece_tokens.h"
#include "text/subword_sampling.h"
#include "text/utf8.h"
#include "text/words.h"

namespace fovea {

namespace {

constexpr std::string_view kModelFile = "SentencePiece model";

// Whether each piece is a symbol that the user has defined: ModelProto.pieces (field 1) . type (field 3).
std::vector<bool> user_defined(std::string_view bytes) {
  constexpr uint64_t kUserDefined = 4;
  std::vector<bool> defined;
  for (ProtobufReader model(bytes, kModelFile); model.next();) {
    if (model.field() != 1) continue;
    defined.push_back(false);
    for (ProtobufReader piece(model.payload(), kModelFile); piece.next();)
      if (piece.field() == 3) defined.back() = piece.value() == kUserDefined;
  }
  return defined;
}

class SentencePieceVocabulary final : public Vocabulary {
 public:
  // Error messages start with `name`.
  SentencePieceVocabulary(std::string_view bytes, const std::string& name) {
    load_processor(processor_, bytes, name);
    kind_ = kind_of_model(bytes, name);
    check(processor_.pad_id() == kPad && processor_.unk_id() == kUnknown && processor_.bos_id() == kBegin &&
              processor_.eos_id() == kEnd,
          "{}: expected the ids {}, {}, {}, {} for pad, unk, bos and eos, got {}, {}, {}, {}", name, kPad, kUnknown,
          kBegin, kEnd, processor_.pad_id(), processor_.unk_id(), processor_.bos_id(), processor_.eos_id());
  }

  std::string_view kind() const override { return kind_; }
  int64_t size() const override { return processor_.GetPieceSize(); }
  std::string piece(int32_t id) const override {
    check(id >= 0 && id < size(), "vocabulary: expected an id from 0 to {}, got {}", size() - 1, id);
    return processor_.IdToPiece(id);
  }

  std::vector<Token> tokenise(std::string_view text) const override {
    return tokens_of(processor_.EncodeAsImmutableProto(without_tabs(text)), text);
  }
  std::vector<int32_t> encode(std::string_view text) const override {
    return processor_.EncodeAsIds(without_tabs(text));
  }
  std::vector<int32_t> sample(std::string_view text, double rate, Random& random) const override;

  std::string_view extension() const override { return kSentencePieceExtension; }
  std::string bytes() const override { return processor_.serialized_model_proto(); }

 protected:
  std::string decode_valid(std::span<const int32_t> ids, std::vector<Token>& tokens) const override {
    const auto decoded = processor_.DecodeIdsAsImmutableProto(std::vector<int>(ids.begin(), ids.end()));
    std::string text = decoded.text();
    // Byte pieces can decode to a line break, but a sentence must stay on one line.
    for (char& c : text)
      if (c == '\n' || c == '\r' || c == '\0') c = ' ';
    tokens = tokens_of(decoded, text);
    return text;
  }

 private:
  // Built by the first call, because only training samples.
  const PieceTree& pieces() const {
    std::call_once(pieces_once_, [&] { pieces_.emplace(processor_, user_defined(bytes())); });
    return *pieces_;
  }

  sentencepiece::SentencePieceProcessor processor_;
  std::string_view kind_;
  mutable std::once_flag pieces_once_;
  mutable std::optional<PieceTree> pieces_;
};

std::vector<int32_t> SentencePieceVocabulary::sample(std::string_view text, double rate, Random& random) const {
  std::vector<int32_t> ids;
  std::string word;
  const auto end_word = [&] {
    if (word.empty()) return;
    (kind_ == "bpe" ? sample_bpe : sample_unigram)(pieces(), word, rate, random, ids);
    word.clear();
  };
  // No piece spans a space, so each word is sampled separately; unknown and byte pieces are not sampled.
  const auto best = processor_.EncodeAsImmutableProto(without_tabs(text));
  for (const auto& piece : best.pieces()) {
    const bool ordinary = pieces().ordinary(static_cast<int32_t>(piece.id()));
    if (!ordinary || piece.piece().starts_with(kPieceSpace)) end_word();
    if (ordinary) {
      word += piece.piece();
    } else {
      ids.push_back(static_cast<int32_t>(piece.id()));
    }
  }
  end_word();
  return ids;
}

// Passes only usable lines to the trainer, which aborts the process if there are none.
class Lines final : public sentencepiece::SentenceIterator {
 public:
  explicit Lines(std::span<const std::string> lines) {
    for (const std::string& line : lines)
      if (useful(line)) lines_.push_back(&line);
    if (!empty()) line_ = without_tabs(*lines_[0]);
  }
  bool empty() const { return lines_.empty(); }
  bool done() const override { return at_ == lines_.size(); }
  void Next() override {  // NOLINT(readability-identifier-naming)
    if (++at_ < lines_.size()) line_ = without_tabs(*lines_[at_]);
  }
  const std::string& value() const override { return line_; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  // Whether the line has a character that survives normalisation, and not the trainer's reserved U+2585.
  static bool useful(std::string_view line) {
    if (line.size() > kMaxLineBytes || line.find("\u2585") != std::string_view::npos) return false;
    if (longest_word(line) > kMaxWordCharacters) return false;
    for (const auto& [value, begin, end] : code_points(line)) {
      const bool stays = (value > 0x20 && value < 0x7F) || (value >= 0xC0 && value < 0x2000) ||
                         (value >= 0x2100 && value < 0x2500) || (value > 0x3000 && value < 0xD800) ||
                         (value >= 0x10000 && value < 0xE0000);
      if (stays && !is_space(value)) return true;
    }
    return false;
  }

  std::vector<const std::string*> lines_;
  size_t at_ = 0;
  std::string line_;
};

// Raises the character coverage so that the 256 most frequent characters are always known. An alphabet is then covered
// completely, and the setting matters only for scripts with thousands of characters.
double coverage_for(std::span<const std::string> lines, double coverage) {
  constexpr size_t kAlphabet = 256;
  std::unordered_map<char32_t, int64_t> counts;
  for (const std::string& line : lines)
    for (const auto& point : code_points(line)) ++counts[point.value];
  if (counts.size() <= kAlphabet) return 1;
  std::vector<int64_t> sorted;
  sorted.reserve(counts.size());
  for (const auto& [value, count] : counts) sorted.push_back(count);
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const auto alphabet = std::accumulate(sorted.begin(), sorted.begin() + kAlphabet, int64_t{0});
  const auto all = std::accumulate(sorted.begin(), sorted.end(), int64_t{0});
  return std::max(coverage, static_cast<double>(alphabet) / static_cast<double>(all));
}

// Replaces the trainer's message "... smaller than required_chars. 10 vs 18. ..." by one that names the setting.
[[noreturn]] void explain(const std::string& message, const VocabularyOptions& options) {
  const size_t at = message.find(" vs ");
  int64_t least = 0;
  if (message.find("required_chars") != std::string::npos && at != std::string::npos)
    std::from_chars(message.data() + at + 4, message.data() + message.size(), least);
  if (least > 0) {
    fail("vocabulary: this text has so many different characters that the size must be at least {}, got {}", least,
         options.size);
  }
  fail("vocabulary: SentencePiece training failed: {}", message);
}

// Each symbol, and each symbol with the space before it, so that the space takes no token of its own.
std::string symbol_list(const std::vector<std::string>& symbols) {
  std::string list;
  for (const std::string& symbol : symbols)
    list += fmt::format("{}{},{}{}", list.empty() ? "" : ",", symbol, kPieceSpace, symbol);
  return list;
}

}  // namespace

std::unique_ptr<Vocabulary> train_sentencepiece(std::span<const std::string> lines, const VocabularyOptions& options) {
  Lines useful(lines);
  check(!useful.empty(), "vocabulary: expected text to train on, got none");
  const std::unordered_map<std::string, std::string> settings{
      {"model_type", options.kind},
      {"vocab_size", std::to_string(options.size)},
      {"hard_vocab_limit", "false"},
      {"character_coverage", fmt::format("{:.9f}", coverage_for(lines, options.coverage))},
      {"byte_fallback", options.byte_fallback ? "true" : "false"},
      {"normalization_rule_name", options.normalisation},
      {"pad_id", std::to_string(kPad)},
      {"unk_id", std::to_string(kUnknown)},
      {"bos_id", std::to_string(kBegin)},
      {"eos_id", std::to_string(kEnd)},
      {"unk_surface", std::string(kUnknownText)},
      {"user_defined_symbols", symbol_list(options.symbols)},
      {"max_sentence_length", std::to_string(kMaxLineBytes)},
      {"num_threads", "16"},  // fixed, because the order of floating-point sums depends on it
      {"minloglevel", "3"},
  };
  std::string bytes;
  const auto status = sentencepiece::SentencePieceTrainer::Train(settings, &useful, &bytes);
  if (!status.ok()) explain(status.error_message(), options);
  return std::make_unique<SentencePieceVocabulary>(bytes, "vocabulary");
}

std::unique_ptr<Vocabulary> load_sentencepiece(const std::string& path) {
  const std::string bytes = read_file(path);
  if (auto renumbered = load_renumbered(bytes, path)) return renumbered;
  return std::make_unique<SentencePieceVocabulary>(bytes, path);
}

std::unique_ptr<Vocabulary> make_sentencepiece(std::string_view bytes, const std::string& name) {
  return std::make_unique<SentencePieceVocabulary>(bytes, name);
}

}  // namespace fovea
