// What Fovea uses of SentencePiece's library, for builds without it: web/subwords.h under the library's names.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "web/subwords.h"

namespace sentencepiece {

// The library's names are not ours.
// NOLINTBEGIN(readability-identifier-naming)
namespace util {
class Status {
 public:
  Status() = default;
  explicit Status(std::string message) : message_(std::move(message)) {}
  bool ok() const { return message_.empty(); }
  const char* error_message() const { return message_.c_str(); }

 private:
  std::string message_;
};
}  // namespace util

class ImmutableSentencePiece {
 public:
  ImmutableSentencePiece(std::string_view piece, const fovea::web::SubwordModel::Place& place)
      : piece_(piece), place_(place) {}
  const std::string& piece() const { return piece_; }
  uint32_t id() const { return static_cast<uint32_t>(place_.id); }
  uint32_t begin() const { return static_cast<uint32_t>(place_.begin); }
  uint32_t end() const { return static_cast<uint32_t>(place_.end); }

 private:
  std::string piece_;
  fovea::web::SubwordModel::Place place_;
};

class ImmutableSentencePieceText {
 public:
  ImmutableSentencePieceText(std::string text, std::vector<ImmutableSentencePiece> pieces)
      : text_(std::move(text)), pieces_(std::move(pieces)) {}
  const std::string& text() const { return text_; }
  const std::vector<ImmutableSentencePiece>& pieces() const { return pieces_; }

 private:
  std::string text_;
  std::vector<ImmutableSentencePiece> pieces_;
};

class SentencePieceProcessor {
 public:
  util::Status LoadFromSerializedProto(std::string_view bytes);
  std::string serialized_model_proto() const { return model_->bytes(); }

  int GetPieceSize() const { return static_cast<int>(model_->pieces().size()); }
  std::string IdToPiece(int id) const { return std::string(piece(id).text); }
  float GetScore(int id) const { return piece(id).score; }
  bool IsUnknown(int id) const { return piece(id).type == Type::kUnknown; }
  bool IsControl(int id) const { return piece(id).type == Type::kControl; }
  bool IsByte(int id) const { return piece(id).type == Type::kByte; }
  bool IsUnused(int id) const { return piece(id).type == Type::kUnused; }
  int pad_id() const { return model_->find("<pad>", Type::kControl); }
  int unk_id() const { return model_->find("<unk>", Type::kUnknown); }
  int bos_id() const { return model_->find("<s>", Type::kControl); }
  int eos_id() const { return model_->find("</s>", Type::kControl); }

  ImmutableSentencePieceText EncodeAsImmutableProto(std::string_view text) const;
  std::vector<int> EncodeAsIds(std::string_view text) const;
  ImmutableSentencePieceText DecodeIdsAsImmutableProto(const std::vector<int>& ids) const;

 private:
  using Type = fovea::web::SubwordModel::Type;
  const fovea::web::SubwordModel::Piece& piece(int id) const { return model_->pieces()[static_cast<size_t>(id)]; }

  std::unique_ptr<fovea::web::SubwordModel> model_;
};
// NOLINTEND(readability-identifier-naming)

}  // namespace sentencepiece
