#include "text/sentencepiece_import.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/protobuf.h"
#include "text/sentencepiece_vocabulary.h"

namespace fovea {

namespace {

// Numbers of fields and values of SentencePiece's ModelProto.
constexpr uint32_t kPieces = 1, kTrainerSpec = 2;
constexpr uint32_t kPieceText = 1, kPieceScore = 2, kPieceType = 3;
constexpr uint64_t kUnknownType = 2, kControlType = 3;
constexpr uint32_t kUnkSurface = 44;

// A special piece: its default text, and the fields of the trainer's specification with its id and its text.
struct Special {
  std::string text;
  uint32_t id_field, text_field;
};
std::array<Special, 4> special_pieces() {  // in the order of our ids
  return {{{"<pad>", 43, 48}, {"<unk>", 40, 45}, {"<s>", 41, 46}, {"</s>", 42, 47}}};
}

struct Piece {
  std::string_view bytes, text;
  uint64_t type = 1;
};

Piece read_piece(std::string_view bytes, const std::string& path) {
  Piece piece{.bytes = bytes};
  for (ProtobufReader field(bytes, path); field.next();) {
    if (field.field() == kPieceText) piece.text = field.payload();
    if (field.field() == kPieceType) piece.type = field.value();
  }
  return piece;
}

std::string made_piece(std::string_view text, bool unknown) {
  ProtobufWriter piece;
  piece.bytes(kPieceText, text);
  piece.number(kPieceScore, 0.0f);
  piece.integer(kPieceType, static_cast<int64_t>(unknown ? kUnknownType : kControlType));
  return piece.bytes();
}

}  // namespace

std::unique_ptr<Vocabulary> import_sentencepiece(const std::string& path) {
  const std::string bytes = read_file(path);
  std::vector<Piece> pieces;
  ProtobufWriter rest;
  std::array<Special, 4> specials = special_pieces();
  const std::string name = path + ": not a SentencePiece model";
  for (ProtobufReader model(bytes, name); model.next();) {
    if (model.field() == kPieces) {
      pieces.push_back(read_piece(model.payload(), path));
      continue;
    }
    rest.bytes(model.field(), model.payload());
    if (model.field() != kTrainerSpec) continue;
    for (ProtobufReader spec(model.payload(), path); spec.next();) {
      for (Special& special : specials) {
        if (spec.field() == special.text_field) special.text = spec.payload();
      }
    }
  }
  check(!pieces.empty(), "{}: not a SentencePiece model: expected pieces, got none", path);

  ProtobufWriter imported, spec;
  std::vector<bool> taken(pieces.size());
  for (size_t id = 0; id < specials.size(); ++id) {
    const bool unknown = id == kUnknown;
    const auto found = std::find_if(pieces.begin(), pieces.end(), [&](const Piece& piece) {
      return unknown ? piece.type == kUnknownType : piece.type == kControlType && piece.text == specials[id].text;
    });
    if (found == pieces.end()) {
      imported.bytes(kPieces, made_piece(specials[id].text, unknown));
    } else {
      taken[static_cast<size_t>(found - pieces.begin())] = true;
      imported.bytes(kPieces, found->bytes);
    }
    spec.integer(specials[id].id_field, static_cast<int64_t>(id));
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (!taken[i]) imported.bytes(kPieces, pieces[i].bytes);
  }
  spec.bytes(kUnkSurface, kUnknownText);
  // A message that occurs again is merged into the one before it.
  ProtobufWriter more;
  more.message(kTrainerSpec, spec);
  return make_sentencepiece(imported.bytes() + rest.bytes() + more.bytes(), path);
}

}  // namespace fovea
