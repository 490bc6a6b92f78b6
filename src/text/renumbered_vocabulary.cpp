#include "text/renumbered_vocabulary.h"

#include <charconv>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/protobuf.h"
#include "text/sentencepiece_tokens.h"
#include "text/sentencepiece_vocabulary.h"
#include "text/utf8.h"
#include "text/words.h"

namespace fovea {

namespace {

// The first field of a SentencePiece model that is left to others, and the bytes that such a field begins with.
constexpr uint32_t kPiecesField = 200;
constexpr std::string_view kPiecesKey = "\xC2\x0C";

// The end of a language tag at the start of a text; 0 if there is none.
size_t end_of_tag(std::string_view text) {
  if (!text.starts_with(">>")) return 0;
  const size_t end = text.find("<<");
  const bool tag = end != std::string_view::npos && end > 2 && text.find_first_of(" \t") > end;
  return tag ? end + 2 : 0;
}

// The byte of a piece like <0x0A>; -1 for other pieces.
int byte_of(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || !piece.ends_with(">")) return -1;
  int value = -1;
  const char* end = piece.data() + 5;
  return std::from_chars(piece.data() + 3, end, value, 16).ptr == end ? value : -1;
}

class RenumberedVocabulary final : public Vocabulary {
 public:
  RenumberedVocabulary(std::string_view model, std::vector<std::string> pieces, const std::string& name)
      : model_(model), kind_(kind_of_model(model, name)), pieces_(std::move(pieces)) {
    load_processor(processor_, model, name);
    check(pieces_.size() > kEnd, "{}: expected a vocabulary of at least {} tokens, got {}", name, kEnd + 1,
          pieces_.size());
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const bool added = ids_.emplace(pieces_[i], static_cast<int32_t>(i)).second;
      check(added, "{}: expected each token once in the vocabulary, got \"{}\" twice", name, brief(pieces_[i]));
    }
    // The special tokens are not written in a text.
    for (int32_t id = 0; id <= kEnd; ++id) ids_.erase(pieces_[static_cast<size_t>(id)]);
    for (int i = 0; i < processor_.GetPieceSize(); ++i) id_of_piece_.push_back(id_of(processor_.IdToPiece(i)));
  }

  std::string_view kind() const override { return kind_; }
  int64_t size() const override { return std::ssize(pieces_); }
  std::string piece(int32_t id) const override {
    check(id >= 0 && id < size(), "vocabulary: expected an id from 0 to {}, got {}", size() - 1, id);
    return pieces_[static_cast<size_t>(id)];
  }

  std::vector<Token> tokenise(std::string_view text) const override {
    const size_t tag = end_of_tag(text);
    const std::string_view rest = text.substr(tag);
    std::vector<Token> tokens = tokens_of(processor_.EncodeAsImmutableProto(without_tabs(rest)), rest);
    for (Token& token : tokens) {
      token.id = id_of_piece_[static_cast<size_t>(token.id)];
      token.begin += tag;
      token.end += tag;
    }
    if (tag > 0) {
      const std::string_view word = text.substr(0, tag);
      tokens.insert(tokens.begin(), {.id = id_of(word), .begin = 0, .end = tag, .text = std::string(word)});
    }
    return tokens;
  }
  std::vector<int32_t> encode(std::string_view text) const override {
    const size_t tag = end_of_tag(text);
    std::vector<int32_t> ids = processor_.EncodeAsIds(without_tabs(text.substr(tag)));
    for (int32_t& id : ids) id = id_of_piece_[static_cast<size_t>(id)];
    if (tag > 0) ids.insert(ids.begin(), id_of(text.substr(0, tag)));
    return ids;
  }

  std::string_view extension() const override { return kSentencePieceExtension; }
  std::string bytes() const override {
    ProtobufWriter list;
    for (const std::string& piece : pieces_) list.bytes(kPiecesField, piece);
    return list.bytes() + model_;
  }

 protected:
  // As SentencePiece decodes: the pieces one after another, of which U+2581 is a space.
  std::string decode_valid(std::span<const int32_t> ids, std::vector<Token>& tokens) const override {
    std::string text;
    for (const int32_t id : ids) {
      const size_t begin = text.size();
      if (id == kUnknown) {
        text += kUnknownText;
      } else if (!is_control_token(id)) {
        append(pieces_[static_cast<size_t>(id)], text);
      }
      tokens.push_back({.id = id, .begin = begin, .end = text.size(), .text = {}});
    }
    return trim(text, tokens);
  }

 private:
  int32_t id_of(std::string_view piece) const {
    const auto found = ids_.find(std::string(piece));
    return found == ids_.end() ? kUnknown : found->second;
  }

  static void append(std::string_view piece, std::string& text) {
    if (const int byte = byte_of(piece); byte >= 0) {
      // A sentence must stay on one line.
      text += byte == '\n' || byte == '\r' || byte == '\0' ? ' ' : static_cast<char>(byte);
      return;
    }
    for (size_t at = 0; at < piece.size();) {
      const bool space = piece.substr(at).starts_with(kPieceSpace);
      text += space ? ' ' : piece[at];
      at += space ? kPieceSpace.size() : 1;
    }
  }

  static std::string with_replacements(std::string_view text) {
    std::string valid;
    for (const auto& point : code_points(text)) append_code_point(valid, point.value);
    return valid;
  }

  // Removes spaces around the text, and from the tokens the spaces before them. Bytes that are no UTF-8 become U+FFFD.
  static std::string trim(const std::string& text, std::vector<Token>& tokens) {
    const size_t first = std::min(text.find_first_not_of(' '), text.size());
    const size_t last = first == text.size() ? first : text.find_last_not_of(' ') + 1;
    std::string trimmed = text.substr(first, last - first);
    const bool valid = find_invalid_utf8(trimmed) == std::string::npos;
    if (!valid) trimmed = with_replacements(trimmed);
    for (Token& token : tokens) {
      size_t begin = std::clamp(token.begin, first, last) - first;
      size_t end = std::clamp(token.end, first, last) - first;
      if (!valid) begin = end = std::min(begin, trimmed.size());
      while (begin < end && trimmed[begin] == ' ') ++begin;
      token.begin = begin;
      token.end = end;
      token.text = trimmed.substr(begin, end - begin);
    }
    mark_word_starts(trimmed, tokens);
    return trimmed;
  }

  sentencepiece::SentencePieceProcessor processor_;
  std::string model_;  // as it was given
  std::string_view kind_;
  std::vector<std::string> pieces_;
  std::unordered_map<std::string, int32_t> ids_;
  std::vector<int32_t> id_of_piece_;  // for each piece of the model
};

}  // namespace

std::unique_ptr<Vocabulary> renumbered_vocabulary(std::string_view model, std::vector<std::string> pieces,
                                                  const std::string& name) {
  return std::make_unique<RenumberedVocabulary>(model, std::move(pieces), name);
}

std::string_view sentencepiece_model(std::string_view bytes) {
  if (!bytes.starts_with(kPiecesKey)) return bytes;
  size_t list = 0;
  for (ProtobufReader field(bytes, "vocabulary"); field.next() && field.field() == kPiecesField;) {
    list = static_cast<size_t>(field.payload().data() + field.payload().size() - bytes.data());
  }
  return bytes.substr(list);
}

std::unique_ptr<Vocabulary> load_renumbered(std::string_view bytes, const std::string& name) {
  if (!bytes.starts_with(kPiecesKey)) return nullptr;
  std::vector<std::string> pieces;
  for (ProtobufReader field(bytes, name); field.next() && field.field() == kPiecesField;) {
    pieces.emplace_back(field.payload());
  }
  return renumbered_vocabulary(sentencepiece_model(bytes), std::move(pieces), name);
}

}  // namespace fovea
