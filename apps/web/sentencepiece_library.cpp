#include <sentencepiece_processor.h>

#include "base/error.h"

namespace sentencepiece {

namespace logging {
void SetMinLogLevel(int) {}  // NOLINT(readability-identifier-naming): the library's name; nothing is logged here
}  // namespace logging

using fovea::web::SubwordModel;

namespace {
ImmutableSentencePieceText with_pieces(std::string text, const std::vector<SubwordModel::Place>& places,
                                       std::span<const SubwordModel::Piece> all) {
  std::vector<ImmutableSentencePiece> pieces;
  pieces.reserve(places.size());
  for (const SubwordModel::Place& place : places) pieces.emplace_back(all[static_cast<size_t>(place.id)].text, place);
  return {std::move(text), std::move(pieces)};
}
}  // namespace

util::Status SentencePieceProcessor::LoadFromSerializedProto(std::string_view bytes) {
  try {
    model_ = std::make_unique<SubwordModel>(std::string(bytes), "SentencePiece model");
    return {};
  } catch (const fovea::Error& error) {
    return util::Status(error.what());
  }
}

ImmutableSentencePieceText SentencePieceProcessor::EncodeAsImmutableProto(std::string_view text) const {
  return with_pieces(std::string(text), model_->encode(text), model_->pieces());
}

std::vector<int> SentencePieceProcessor::EncodeAsIds(std::string_view text) const {
  std::vector<int> ids;
  for (const SubwordModel::Place& place : model_->encode(text)) ids.push_back(place.id);
  return ids;
}

ImmutableSentencePieceText SentencePieceProcessor::DecodeIdsAsImmutableProto(const std::vector<int>& ids) const {
  std::vector<SubwordModel::Place> places;
  std::string text = model_->decode(ids, places);
  return with_pieces(std::move(text), places, model_->pieces());
}

}  // namespace sentencepiece
