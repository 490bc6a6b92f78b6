#include "text/sentencepiece_tokens.h"

#include <algorithm>

#include "base/error.h"
#include "base/protobuf.h"
#include "text/utf8.h"
#include "text/words.h"

// The library exports this function but does not declare it in a header.
namespace sentencepiece::logging {
void SetMinLogLevel(int level);  // NOLINT(readability-identifier-naming)
}

namespace fovea {

void load_processor(sentencepiece::SentencePieceProcessor& processor, std::string_view bytes, const std::string& name) {
  sentencepiece::logging::SetMinLogLevel(3);
  check(processor.LoadFromSerializedProto(bytes).ok(), "{}: not a SentencePiece model", name);
}

std::string_view kind_of_model(std::string_view bytes, const std::string& name) {
  constexpr uint64_t kUnigram = 1, kBpe = 2;
  uint64_t type = kUnigram;  // ModelProto.trainer_spec (field 2) . model_type (field 3)
  for (ProtobufReader model(bytes, name); model.next();) {
    if (model.field() != 2) continue;
    for (ProtobufReader trainer(model.payload(), name); trainer.next();)
      if (trainer.field() == 3) type = trainer.value();
  }
  check(type == kUnigram || type == kBpe, "{}: expected a SentencePiece model of type unigram or bpe, got another type",
        name);
  return type == kBpe ? "bpe" : "unigram";
}

std::string without_tabs(std::string_view text) {
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '\t', ' ');
  return spaced;
}

std::vector<Token> tokens_of(const sentencepiece::ImmutableSentencePieceText& pieces, std::string_view text) {
  std::vector<Token> tokens;
  for (const auto& piece : pieces.pieces()) {
    size_t begin = piece.begin();
    const size_t end = piece.end();
    while (begin < end && is_space(code_point_at(text, begin).value)) begin = code_point_at(text, begin).end;
    tokens.push_back({.id = static_cast<int32_t>(piece.id()),
                      .begin = begin,
                      .end = end,
                      .text = std::string(text.substr(begin, end - begin))});
  }
  mark_word_starts(text, tokens);
  return tokens;
}

}  // namespace fovea
