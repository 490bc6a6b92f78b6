#include "web/subwords.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <queue>
#include <unordered_set>

#include "base/error.h"
#include "base/json.h"
#include "base/protobuf.h"
#include "text/utf8.h"

namespace fovea::web {

namespace {

constexpr std::string_view kSpace = "\u2581";  // how pieces write a space
constexpr std::string_view kReplacementText = "\uFFFD";

size_t character_length(std::string_view text) { return code_point_at(text, 0).end; }

// The byte of a piece like <0x0A>; -1 for other texts.
int byte_of(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece.back() != '>') return -1;
  int value = -1;
  const char* end = piece.data() + 5;
  return std::from_chars(piece.data() + 3, end, value, 16).ptr == end ? value : -1;
}

}  // namespace

// ---- the file

SubwordModel::SubwordModel(std::string bytes, std::string_view name) : bytes_(std::move(bytes)) {
  for (ProtobufReader model(bytes_, name); model.next();) {
    switch (model.field()) {
      case 1: read_piece(model.payload(), name); break;
      case 2: read_trainer(model.payload(), name); break;
      case 3: read_normaliser(model.payload(), name); break;
      case 5:
        for (ProtobufReader denormaliser(model.payload(), name); denormaliser.next();) {
          check(denormaliser.field() != 2 || denormaliser.payload().empty(),
                "{}: a model that changes the characters of decoded text cannot be read here", name);
        }
        break;
      default: break;
    }
  }
  check(!pieces_.empty(), "{}: expected a SentencePiece model, got no pieces", name);
  index(name);
}

void SubwordModel::read_piece(std::string_view bytes, std::string_view name) {
  Piece piece;
  for (ProtobufReader reader(bytes, name); reader.next();) {
    if (reader.field() == 1) piece.text = reader.payload();
    if (reader.field() == 2) piece.score = reader.number();
    if (reader.field() != 3) continue;
    check(reader.value() >= 1 && reader.value() <= 6, "{}: a piece has the unknown type {}", name, reader.value());
    piece.type = static_cast<Type>(reader.value());
  }
  check(!piece.text.empty(), "{}: piece {} is empty", name, pieces_.size());
  pieces_.push_back(piece);
}

void SubwordModel::read_trainer(std::string_view bytes, std::string_view name) {
  constexpr uint64_t kUnigram = 1, kBpe = 2;
  for (ProtobufReader reader(bytes, name); reader.next();) {
    switch (reader.field()) {
      case 3:
        check(reader.value() == kUnigram || reader.value() == kBpe,
              "{}: expected a SentencePiece model of type unigram or bpe, got another type", name);
        is_bpe_ = reader.value() == kBpe;
        break;
      case 24:
        check(reader.value() == 0, "{}: a model that writes spaces after words cannot be read here", name);
        break;
      case 35: byte_fallback_ = reader.value() != 0; break;
      case 44: unknown_text_ = reader.payload(); break;
      default: break;
    }
  }
}

void SubwordModel::read_normaliser(std::string_view bytes, std::string_view name) {
  for (ProtobufReader reader(bytes, name); reader.next();) {
    switch (reader.field()) {
      case 2: {  // the size of the trie, the trie, and texts that end with a zero
        const std::string_view map = reader.payload();
        if (map.empty()) break;
        uint32_t size = 0;
        check(map.size() > sizeof size, "{}: the character map is truncated", name);
        std::memcpy(&size, map.data(), sizeof size);
        check(size > 0 && size % sizeof(uint32_t) == 0 && size < map.size() - sizeof size,
              "{}: the character map is damaged", name);
        map_units_ = map.substr(sizeof size, size);
        map_texts_ = map.substr(sizeof size + size);
        check(map_texts_.back() == '\0', "{}: the character map is damaged", name);
        break;
      }
      case 3: dummy_prefix_ = reader.value() != 0; break;
      case 4: removes_spaces_ = reader.value() != 0; break;
      case 5: escapes_spaces_ = reader.value() != 0; break;
      default: break;
    }
  }
}

void SubwordModel::index(std::string_view name) {
  std::unordered_set<std::string_view> written, reserved;
  std::fill(std::begin(byte_ids_), std::end(byte_ids_), -1);
  least_ = std::numeric_limits<float>::max();
  for (size_t i = 0; i < pieces_.size(); ++i) {
    const Piece& piece = pieces_[i];
    const auto id = static_cast<int32_t>(i);
    const bool is_written =
        piece.type == Type::kNormal || piece.type == Type::kUserDefined || piece.type == Type::kUnused;
    check((is_written ? written : reserved).insert(piece.text).second, "{}: the piece \"{}\" is there twice", name,
          brief(piece.text));
    if (is_written) sorted_.push_back(id);
    if (piece.type == Type::kNormal) least_ = std::min(least_, piece.score);
    if (piece.type == Type::kUserDefined) symbols_.push_back(id);
    if (piece.type == Type::kUnknown) {
      check(unknown_ < 0, "{}: expected one unknown piece, got several", name);
      unknown_ = id;
    }
    if (piece.type != Type::kByte) continue;
    const int byte = byte_of(piece.text);
    check(byte >= 0, "{}: expected a byte like <0x0A>, got \"{}\"", name, brief(piece.text));
    byte_ids_[byte] = id;
  }
  check(unknown_ >= 0, "{}: expected an unknown piece", name);
  const bool has_bytes = std::find(std::begin(byte_ids_), std::end(byte_ids_), -1) == std::end(byte_ids_);
  check(!byte_fallback_ || has_bytes, "{}: expected a piece for each of the 256 bytes", name);
  const auto text_of = [this](int32_t id) { return pieces_[static_cast<size_t>(id)].text; };
  std::sort(sorted_.begin(), sorted_.end(), [&](int32_t a, int32_t b) { return text_of(a) < text_of(b); });
}

int32_t SubwordModel::find(std::string_view text, Type type) const {
  const auto found = std::find_if(pieces_.begin(), pieces_.end(),
                                  [&](const Piece& piece) { return piece.type == type && piece.text == text; });
  return found == pieces_.end() ? -1 : static_cast<int32_t>(found - pieces_.begin());
}

// ---- normalisation

// The longest text of the character map that the text begins with. The map is a double array as Darts writes it: a unit
// has a label (the byte that leads to it), whether a value follows, and the distance to the units after it.
size_t SubwordModel::mapped_prefix(std::string_view text, std::string_view& mapped) const {
  const size_t units = map_units_.size() / sizeof(uint32_t);
  const auto unit_at = [&](size_t at) {
    uint32_t unit = 0;
    if (at < units) std::memcpy(&unit, map_units_.data() + at * sizeof unit, sizeof unit);
    return unit;
  };
  const auto offset_of = [](uint32_t unit) { return size_t{(unit >> 10) << ((unit & 1u << 9) >> 6)}; };
  size_t longest = 0, at = units > 0 ? offset_of(unit_at(0)) : 0;
  for (size_t i = 0; units > 0 && i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    at ^= byte;
    const uint32_t unit = unit_at(at);
    if ((unit & (1u << 31 | 0xFFu)) != byte || at >= units) break;
    at ^= offset_of(unit);
    if (!(unit >> 8 & 1u)) continue;
    const size_t value = unit_at(at) & 0x7FFFFFFFu;
    if (value >= map_texts_.size()) break;
    longest = i + 1;
    mapped = map_texts_.data() + value;  // ends with a zero
  }
  return longest;
}

size_t SubwordModel::symbol_prefix(std::string_view text) const {
  size_t longest = 0;
  for (const int32_t id : symbols_) {
    const std::string_view symbol = pieces_[static_cast<size_t>(id)].text;
    if (symbol.size() > longest && text.starts_with(symbol)) longest = symbol.size();
  }
  return longest;
}

std::pair<std::string_view, size_t> SubwordModel::normalised_prefix(std::string_view text) const {
  if (const size_t symbol = symbol_prefix(text); symbol > 0) return {text.substr(0, symbol), symbol};
  std::string_view mapped;
  if (const size_t length = mapped_prefix(text, mapped); length > 0) return {mapped, length};
  const CodePoint first = code_point_at(text, 0);
  const bool invalid = first.value == kReplacement && first.end == 1;
  return {invalid ? kReplacementText : text.substr(0, first.end), first.end};
}

SubwordModel::Normalised SubwordModel::normalise(std::string_view text) const {
  Normalised result;
  size_t consumed = 0;
  const auto skip = [&](size_t bytes) {
    consumed += bytes;
    text.remove_prefix(bytes);
  };
  const auto append = [&](char c) {
    const std::string_view written = escapes_spaces_ && c == ' ' ? kSpace : std::string_view(&c, 1);
    result.text += written;
    result.origin.insert(result.origin.end(), written.size(), consumed);
  };
  while (removes_spaces_ && !text.empty()) {
    const auto [prefix, length] = normalised_prefix(text);
    if (prefix != " ") break;
    skip(length);
  }
  if (text.empty()) return result;
  if (dummy_prefix_) append(' ');
  bool after_space = removes_spaces_;
  while (!text.empty()) {
    auto [prefix, length] = normalised_prefix(text);
    while (after_space && prefix.starts_with(' ')) prefix.remove_prefix(1);
    for (const char c : prefix) append(c);
    if (!prefix.empty()) after_space = prefix.ends_with(' ');
    if (!removes_spaces_) after_space = false;
    skip(length);
  }
  const std::string_view space = escapes_spaces_ ? kSpace : " ";
  while (removes_spaces_ && result.text.ends_with(space)) {
    result.text.resize(result.text.size() - space.size());
    consumed = result.origin[result.text.size()];
    result.origin.resize(result.text.size());
  }
  result.origin.push_back(consumed);
  return result;
}

// ---- segmentation

bool SubwordModel::extend(Prefix& prefix, char byte) const {
  const auto text_at = [&](size_t i) { return pieces_[static_cast<size_t>(sorted_[i])].text; };
  const auto wanted = static_cast<unsigned char>(byte);
  // Bytes are counted from 1, and the end of a piece as 0.
  const auto byte_at = [&](size_t i) {
    const std::string_view text = text_at(i);
    return text.size() > prefix.length ? static_cast<unsigned char>(text[prefix.length]) + 1 : 0;
  };
  const auto first_at_least = [&](size_t from, int least) {
    size_t low = from, high = prefix.last;
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      if (byte_at(middle) < least) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
  const size_t first = first_at_least(prefix.first, wanted + 1);
  prefix = {first, first_at_least(first, wanted + 2), prefix.length + 1};
  return prefix.first < prefix.last;
}

int32_t SubwordModel::piece_that_is(const Prefix& p) const {
  const int32_t id = sorted_[p.first];
  return pieces_[static_cast<size_t>(id)].text.size() == p.length ? id : -1;
}

int32_t SubwordModel::find_written(std::string_view text) const {
  const auto text_of = [this](int32_t id) { return pieces_[static_cast<size_t>(id)].text; };
  const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), text,
                                      [&](int32_t id, std::string_view wanted) { return text_of(id) < wanted; });
  return found != sorted_.end() && text_of(*found) == text ? *found : -1;
}

// The segmentation with the largest sum of scores (Viterbi). Sums are rounded to float as the library rounds them, so
// that equal ones are resolved alike.
std::vector<SubwordModel::Segment> SubwordModel::segment_unigram(std::string_view text) const {
  constexpr float kUnknownPenalty = 10;
  struct End {
    int32_t id = -1;
    float score = 0;
    size_t begin = std::string_view::npos;
  };
  std::vector<End> best(text.size() + 1);
  const auto offer = [&](size_t begin, size_t end, int32_t id, auto score) {
    const auto sum = score + best[begin].score;
    if (best[end].begin != std::string_view::npos && sum <= best[end].score) return;
    best[end] = {id, static_cast<float>(sum), begin};
  };
  for (size_t begin = 0; begin < text.size();) {
    const size_t character = character_length(text.substr(begin));
    bool is_covered = false;
    Prefix prefix = all();
    for (size_t end = begin; end < text.size() && extend(prefix, text[end]);) {
      ++end;
      const int32_t id = piece_that_is(prefix);
      if (id < 0 || pieces_[static_cast<size_t>(id)].type == Type::kUnused) continue;
      // The library gives symbols a bonus that depends on the largest score, which it initialises to the smallest
      // positive number: scores are negative.
      constexpr float kLargest = std::numeric_limits<float>::min();
      const Piece& piece = pieces_[static_cast<size_t>(id)];
      if (piece.type == Type::kUserDefined) {
        offer(begin, end, id, static_cast<double>(static_cast<float>(end - begin) * kLargest) - 0.1);
      } else {
        offer(begin, end, id, static_cast<double>(piece.score));
      }
      is_covered = is_covered || end - begin == character;
    }
    if (!is_covered) offer(begin, begin + character, unknown_, least_ - kUnknownPenalty);
    begin += character;
  }
  std::vector<Segment> segments;
  for (size_t end = text.size(); end > 0; end = best[end].begin) {
    segments.emplace_back(text.substr(best[end].begin, end - best[end].begin), best[end].id);
  }
  std::reverse(segments.begin(), segments.end());
  return segments;
}

// Sennrich et al. (2016): neighbours are merged, the pair with the largest score first, the left one of equal pairs.
std::vector<SubwordModel::Segment> SubwordModel::segment_bpe(std::string_view text) const {
  constexpr size_t kNone = std::string_view::npos;
  struct Symbol {
    size_t begin, size, before, after;
    bool fixed;  // a symbol of the user
  };
  struct Pair {
    float score;
    size_t left, right, size;
    bool operator<(const Pair& other) const {
      return score < other.score || (score == other.score && left > other.left);
    }
  };
  std::vector<Symbol> symbols;
  for (size_t begin = 0; begin < text.size();) {
    const size_t fixed = symbol_prefix(text.substr(begin));
    const size_t size = fixed > 0 ? fixed : character_length(text.substr(begin));
    const size_t i = symbols.size(), end = begin + size;
    symbols.push_back({begin, size, i == 0 ? kNone : i - 1, end == text.size() ? kNone : i + 1, fixed > 0});
    begin = end;
  }
  std::priority_queue<Pair> pairs;
  std::vector<std::pair<std::string_view, size_t>>
      unused;  // merged texts that are not pieces; the size of the left half
  const auto add = [&](size_t left, size_t right) {
    if (left == kNone || right == kNone || symbols[left].fixed || symbols[right].fixed) return;
    const std::string_view merged = text.substr(symbols[left].begin, symbols[left].size + symbols[right].size);
    const int32_t id = find_written(merged);
    if (id < 0) return;
    pairs.push({pieces_[static_cast<size_t>(id)].score, left, right, merged.size()});
    if (pieces_[static_cast<size_t>(id)].type == Type::kUnused) unused.emplace_back(merged, symbols[left].size);
  };
  for (size_t i = 1; i < symbols.size(); ++i) add(i - 1, i);
  while (!pairs.empty()) {
    const Pair pair = pairs.top();
    pairs.pop();
    Symbol &left = symbols[pair.left], &right = symbols[pair.right];
    if (left.size == 0 || right.size == 0 || left.size + right.size != pair.size) continue;
    left.size = pair.size;
    left.after = right.after;
    if (right.after != kNone) symbols[right.after].before = pair.left;
    right.size = 0;
    add(left.before, pair.left);
    add(pair.left, left.after);
  }
  std::vector<Segment> segments;
  std::vector<std::string_view> open;  // a stack
  for (size_t i = symbols.empty() ? kNone : 0; i != kNone; i = symbols[i].after) {
    open.push_back(text.substr(symbols[i].begin, symbols[i].size));
    while (!open.empty()) {
      const std::string_view part = open.back();
      open.pop_back();
      const int32_t id = find_written(part);
      const auto halves = std::find_if(unused.rbegin(), unused.rend(), [&](const auto& u) { return u.first == part; });
      if (id >= 0 && pieces_[static_cast<size_t>(id)].type == Type::kUnused && halves != unused.rend()) {
        open.push_back(part.substr(halves->second));
        open.push_back(part.substr(0, halves->second));
      } else {
        segments.emplace_back(part, id < 0 ? unknown_ : id);
      }
    }
  }
  return segments;
}

std::vector<SubwordModel::Place> SubwordModel::encode(std::string_view text) const {
  const Normalised normalised = normalise(text);
  std::vector<Place> places;
  size_t begin = 0;
  bool after_unknown = false;
  for (const auto& [segment, id] : is_bpe_ ? segment_bpe(normalised.text) : segment_unigram(normalised.text)) {
    const size_t end = begin + segment.size();
    const size_t first = normalised.origin[begin], last = normalised.origin[end];
    const bool unknown = id == unknown_;
    if (unknown && byte_fallback_) {
      // The last byte has the place of the character.
      for (size_t i = 0; i < segment.size(); ++i) {
        const bool is_last = i + 1 == segment.size();
        places.push_back({byte_ids_[static_cast<unsigned char>(segment[i])], first, is_last ? last : first});
      }
    } else if (unknown && after_unknown) {
      places.back().end = last;
    } else {
      places.push_back({id, first, last});
    }
    after_unknown = unknown;
    begin = end;
  }
  return places;
}

// ---- decoding

std::string SubwordModel::decode_bytes(std::span<const int> ids) const {
  std::string bytes;
  for (const int id : ids) bytes += static_cast<char>(byte_of(pieces_[static_cast<size_t>(id)].text));
  return bytes;
}

std::string SubwordModel::decode(std::span<const int> ids, std::vector<Place>& places) const {
  std::string text;
  places.clear();
  const auto add = [&](int id, std::string_view surface) {
    places.push_back({id, text.size(), text.size() + surface.size()});
    text += surface;
  };
  const auto is_byte = [&](int id) { return pieces_[static_cast<size_t>(id)].type == Type::kByte; };
  bool at_begin = true, seen_begin = false;  // whether a space at the begin of the text is still to be removed
  for (size_t i = 0; i < ids.size();) {
    if (is_byte(ids[i])) {
      size_t end = i;
      while (end < ids.size() && is_byte(ids[end])) ++end;
      const std::string bytes = decode_bytes(ids.subspan(i, end - i));
      for (size_t at = 0; at < bytes.size();) {
        const CodePoint next = code_point_at(bytes, at);
        const bool invalid = next.value == kReplacement && next.end == at + 1;
        for (size_t j = at; j + 1 < next.end; ++j) add(ids[i + j], "");
        add(ids[i + next.end - 1], invalid ? kReplacementText : std::string_view(bytes).substr(at, next.end - at));
        at = next.end;
      }
      i = end;
      continue;
    }
    if (seen_begin || !text.empty()) at_begin = false;
    const Piece& piece = pieces_[static_cast<size_t>(ids[i])];
    seen_begin = false;
    if (piece.type == Type::kControl) {
      add(ids[i], "");
    } else if (piece.type == Type::kUnknown) {
      add(ids[i], unknown_text_);
    } else {
      std::string_view rest = piece.text;
      if (at_begin && (dummy_prefix_ || removes_spaces_) && rest.starts_with(kSpace)) {
        rest.remove_prefix(kSpace.size());
        seen_begin = !removes_spaces_;
      }
      std::string surface;
      while (!rest.empty()) {
        const bool space = rest.starts_with(kSpace);
        surface += space ? ' ' : rest.front();
        rest.remove_prefix(space ? kSpace.size() : 1);
      }
      add(ids[i], surface);
    }
    ++i;
  }
  return text;
}

}  // namespace fovea::web
