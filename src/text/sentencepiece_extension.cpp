// New pieces for a SentencePiece model. Its own pieces and their scores do not change, and what the new ones score
// makes the model find them where its own pieces stand one after another: in a bpe model below all of its own, so that
// their merges come last; in a unigram model by their frequency, but above the pieces that they are made of.
#include <sentencepiece_processor.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/protobuf.h"
#include "text/piece_merges.h"
#include "text/sentencepiece_tokens.h"
#include "text/sentencepiece_vocabulary.h"
#include "text/utf8.h"

namespace fovea {

namespace {

constexpr std::string_view kSpace = "\u2581";  // how SentencePiece writes a space in a piece

using Ids = std::vector<int32_t>;

std::vector<std::string> pieces_of(const sentencepiece::SentencePieceProcessor& model) {
  std::vector<std::string> pieces;
  for (int id = 0; id < model.GetPieceSize(); ++id) pieces.push_back(model.IdToPiece(id));
  return pieces;
}

// Words of a text as ids of pieces, with further ids for the characters that the model lacks.
class WordCounter {
 public:
  WordCounter(const sentencepiece::SentencePieceProcessor& model, PieceMerges& pieces)
      : model_(model), pieces_(pieces) {}

  void count(const std::string& line) {
    const auto encoded = model_.EncodeAsImmutableProto(without_tabs(line));
    for (const auto& piece : encoded.pieces()) {
      const auto id = static_cast<int32_t>(piece.id());
      if (model_.IsByte(static_cast<int>(id))) {
        bytes_ += byte_of(piece.piece());
        continue;
      }
      add_characters(std::exchange(bytes_, {}));
      if (id == kUnknown) {
        add_characters(piece.piece());
        continue;
      }
      if (piece.piece().starts_with(kSpace) || model_.IsControl(static_cast<int>(id))) end_word();
      word_.push_back(id);
    }
    add_characters(std::exchange(bytes_, {}));
    end_word();
  }

  // Leaves only the given characters of those that the model lacks: the others separate words.
  std::map<Ids, int64_t> words(const std::vector<int32_t>& characters) const {
    std::map<Ids, int64_t> words;
    for (const auto& [ids, count] : words_) {
      Ids word;
      for (const int32_t id : ids) {
        const bool known =
            id < model_.GetPieceSize() || std::find(characters.begin(), characters.end(), id) != characters.end();
        if (known) word.push_back(id);
        if (!known && !word.empty()) words[std::exchange(word, {})] += count;
      }
      if (!word.empty()) words[word] += count;
    }
    return words;
  }
  // The characters that the model lacks and that occur at least twice, the most frequent first.
  std::vector<int32_t> characters() const {
    std::vector<int32_t> ids;
    for (const auto& [id, count] : characters_) {
      if (count >= 2) ids.push_back(id);
    }
    std::stable_sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) {
      const int64_t left = characters_.at(a), right = characters_.at(b);
      return left != right ? left > right : pieces_.text(a) < pieces_.text(b);
    });
    return ids;
  }
  int64_t count_of(int32_t character) const { return characters_.at(character); }

 private:
  static char byte_of(const std::string& piece) {  // "<0xE4>"
    int value = 0;
    std::from_chars(piece.data() + 3, piece.data() + 5, value, 16);
    return static_cast<char>(value);
  }
  void add_characters(const std::string& text) {
    for (const CodePoint& point : code_points(text)) {
      const std::string character = text.substr(point.begin, point.end - point.begin);
      if (character == kSpace || point.value == kReplacement) {
        end_word();
        continue;
      }
      word_.push_back(pieces_.add(character));
      ++characters_[word_.back()];
    }
  }
  void end_word() {
    if (!word_.empty()) ++words_[std::exchange(word_, {})];
  }

  const sentencepiece::SentencePieceProcessor& model_;
  PieceMerges& pieces_;
  std::map<Ids, int64_t> words_;
  std::map<int32_t, int64_t> characters_;
  Ids word_;
  std::string bytes_;  // of a character that is encoded as bytes
};

struct NewPiece {
  std::string text;
  float score;
  Ids parts;
};

// ModelProto.pieces (field 1) of piece (1), score (2) and type (3) NORMAL. A repeated field may be continued at the end
// of a message.
std::string with_pieces(std::string bytes, const std::vector<NewPiece>& pieces) {
  ProtobufWriter more;
  for (const NewPiece& piece : pieces) {
    ProtobufWriter message;
    message.bytes(1, piece.text);
    message.number(2, piece.score);
    message.integer(3, 1);
    more.message(1, message);
  }
  return bytes + more.bytes();
}

}  // namespace

VocabularyExtension extend_sentencepiece(const Vocabulary& vocabulary, std::span<const std::string> lines,
                                         int64_t most) {
  sentencepiece::SentencePieceProcessor model;
  const std::string bytes = vocabulary.bytes();
  check(model.LoadFromSerializedProto(bytes).ok(), "vocabulary: expected a SentencePiece model");
  const int32_t old = model.GetPieceSize();
  PieceMerges pieces(pieces_of(model));
  WordCounter counter(model, pieces);
  for (const std::string& line : lines) counter.count(line);
  Ids characters = counter.characters();
  if (std::ssize(characters) > most) characters.resize(static_cast<size_t>(most));
  const std::map<Ids, int64_t> words = counter.words(characters);
  double total = 0;
  for (const auto& [word, count] : words) total += static_cast<double>(count) * static_cast<double>(word.size());

  float lowest = 0;
  for (int32_t id = kEnd + 1; id < old; ++id) lowest = std::min(lowest, model.GetScore(id));
  const bool bpe = vocabulary.kind() == "bpe";
  std::vector<NewPiece> added;
  std::map<int32_t, size_t> added_ids;  // new pieces by the ids of the merges
  const auto score_of = [&](int32_t id) {
    const auto found = added_ids.find(id);
    return found == added_ids.end() ? model.GetScore(id) : added[found->second].score;
  };
  const auto parts_of = [&](int32_t id) {
    const auto found = added_ids.find(id);
    return found == added_ids.end() ? Ids{id} : added[found->second].parts;
  };
  const auto add = [&](int32_t id, int64_t count, float least, Ids parts) {
    constexpr float kMargin = 1e-3f;
    const auto frequency = static_cast<float>(std::log(static_cast<double>(count) / total));
    const float score =
        bpe ? lowest - 1.0f - static_cast<float>(added.size()) : std::max({frequency, least + kMargin, lowest});
    added_ids.emplace(id, added.size());
    added.push_back({pieces.text(id), score, std::move(parts)});
  };
  for (const int32_t id : characters) add(id, counter.count_of(id), lowest, {});
  for (const PieceMerges::Merge& merge : pieces.merge(words, most - std::ssize(characters))) {
    Ids parts = parts_of(merge.left);
    const Ids right = parts_of(merge.right);
    parts.insert(parts.end(), right.begin(), right.end());
    add(pieces.add(merge.text), merge.count, score_of(merge.left) + score_of(merge.right), std::move(parts));
  }
  VocabularyExtension extension{make_sentencepiece(with_pieces(bytes, added), "vocabulary"), {}};
  for (NewPiece& piece : added) extension.parts.push_back(std::move(piece.parts));
  return extension;
}

}  // namespace fovea
