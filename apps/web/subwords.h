// SentencePiece models (Kudo and Richardson 2018) without SentencePiece's library, which WebAssembly lacks: encoding
// and decoding equal to the library's, tested on every shipped model (tests/web).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fovea::web {

class SubwordModel {
 public:
  // As in sentencepiece_model.proto.
  enum class Type : uint8_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };
  struct Piece {
    std::string_view text;
    float score = 0;
    Type type = Type::kNormal;
  };
  // A piece of a text: bytes [begin, end), with the space before it.
  struct Place {
    int32_t id;
    size_t begin, end;
  };

  // Error that starts with `name` unless the bytes are a model of type unigram or bpe.
  SubwordModel(std::string bytes, std::string_view name);
  SubwordModel(const SubwordModel&) = delete;
  SubwordModel& operator=(const SubwordModel&) = delete;

  const std::string& bytes() const { return bytes_; }
  std::span<const Piece> pieces() const { return pieces_; }
  int32_t find(std::string_view text, Type type) const;  // -1 if there is none

  std::vector<Place> encode(std::string_view text) const;
  // `places` receives the position of each id in the result.
  std::string decode(std::span<const int> ids, std::vector<Place>& places) const;

 private:
  struct Normalised {
    std::string text;
    std::vector<size_t> origin;  // for each byte, and for the end, the byte of the original text
  };
  // A range of `sorted_`: the pieces with a common prefix.
  struct Prefix {
    size_t first, last, length;
  };
  // Bytes of the normalised text, and the piece that they are.
  using Segment = std::pair<std::string_view, int32_t>;

  void read_piece(std::string_view bytes, std::string_view name);
  void read_trainer(std::string_view bytes, std::string_view name);
  void read_normaliser(std::string_view bytes, std::string_view name);
  void index(std::string_view name);

  // What a text begins with, normalised, and the number of bytes that this is of the text.
  std::pair<std::string_view, size_t> normalised_prefix(std::string_view text) const;
  size_t mapped_prefix(std::string_view text, std::string_view& mapped) const;
  size_t symbol_prefix(std::string_view text) const;  // the longest symbol of the user; 0 if there is none
  Normalised normalise(std::string_view text) const;

  Prefix all() const { return {0, sorted_.size(), 0}; }
  bool extend(Prefix& prefix, char byte) const;       // false if no piece begins so
  int32_t piece_that_is(const Prefix& p) const;       // -1 if no piece is just the prefix
  int32_t find_written(std::string_view text) const;  // a piece that text is split into, or -1

  std::vector<Segment> segment_unigram(std::string_view text) const;
  std::vector<Segment> segment_bpe(std::string_view text) const;
  std::string decode_bytes(std::span<const int> ids) const;

  std::string bytes_;
  std::vector<Piece> pieces_;
  std::vector<int32_t> sorted_;   // the pieces that text is split into, by their bytes
  std::vector<int32_t> symbols_;  // of the user
  int32_t byte_ids_[256] = {};
  int32_t unknown_ = -1;
  float least_ = 0;  // the smallest score of a normal piece
  bool is_bpe_ = false, byte_fallback_ = false;
  std::string_view unknown_text_ = " \u2047 ";
  bool dummy_prefix_ = true, removes_spaces_ = true, escapes_spaces_ = true;
  std::string_view map_units_, map_texts_;  // of the character map: a double-array trie, and what it maps to
};

}  // namespace fovea::web
