#include "text/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>

namespace fovea {

namespace {

struct Range {
  char32_t first, last;
};

bool within(char32_t value, const Range* begin, const Range* end) {
  const Range* range = std::lower_bound(begin, end, value, [](Range r, char32_t v) { return r.last < v; });
  return range != end && range->first <= value;
}

// Sorted.
constexpr Range kSpaces[] = {{0x09, 0x0D},     {0x20, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},     {0x1680, 0x1680},
                             {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}};
constexpr Range kUnspaced[] = {
    {0x0E01, 0x0EDF},    // Thai, Lao
    {0x1000, 0x109F},    // Burmese
    {0x1780, 0x17FF},    // Khmer
    {0x2E80, 0x2FDF},    // radicals
    {0x3003, 0x3007},    // iteration marks
    {0x3021, 0x312F},    // Hangzhou numerals, kana, bopomofo
    {0x31A0, 0x31FF},    // bopomofo, strokes, kana
    {0x3400, 0x4DBF},    // Han
    {0x4E00, 0x9FFF},    // Han
    {0xF900, 0xFAFF},    // Han
    {0xFF66, 0xFF9F},    // half-width kana
    {0x1AFF0, 0x1B16F},  // kana
    {0x20000, 0x3FFFF},  // Han
};

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace

CodePoint code_point_at(std::string_view text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return {lead, at, at + 1};
  // The number of bytes, the payload bits of the first byte, and the smallest value that needs this many bytes.
  const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  constexpr char32_t kMask[] = {0, 0, 0x1F, 0x0F, 0x07}, kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const CodePoint invalid{kReplacement, at, at + 1};
  if (lead < 0xC2 || lead > 0xF4 || text.size() - at < bytes) return invalid;
  char32_t value = lead & kMask[bytes];
  for (size_t i = 1; i < bytes; ++i) {
    if (!is_continuation(text[at + i])) return invalid;
    value = (value << 6) | (static_cast<unsigned char>(text[at + i]) & 0x3F);
  }
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kLeast[bytes] || value > 0x10FFFF || surrogate) return invalid;
  return {value, at, at + bytes};
}

int64_t count_code_points(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char byte) { return !is_continuation(byte); });
}

void append_code_point(std::string& text, char32_t value) {
  const auto push = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  const auto push_rest = [&](int shift) {
    for (; shift >= 0; shift -= 6) push(0x80 | ((value >> shift) & 0x3F));
  };
  if (value < 0x80) {
    push(value);
  } else if (value < 0x800) {
    push(0xC0 | (value >> 6));
    push_rest(0);
  } else if (value < 0x10000) {
    push(0xE0 | (value >> 12));
    push_rest(6);
  } else {
    push(0xF0 | (value >> 18));
    push_rest(12);
  }
}

size_t find_invalid_utf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    // Eight ASCII bytes at once.
    uint64_t eight;
    while (text.size() - at >= sizeof eight) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if (eight & 0x8080808080808080u) break;
      at += sizeof eight;
    }
    if (at == text.size()) break;
    const CodePoint next = code_point_at(text, at);
    // A replacement character that is part of the text has three bytes.
    if (next.value == kReplacement && next.end == at + 1) return at;
    at = next.end;
  }
  return std::string_view::npos;
}

bool is_space(char32_t value) { return within(value, std::begin(kSpaces), std::end(kSpaces)); }

bool is_unspaced(char32_t value) { return within(value, std::begin(kUnspaced), std::end(kUnspaced)); }

bool has_han(std::string_view text) {
  for (const auto& [c, begin, end] : CodePoints(text)) {
    if ((c >= 0x3400 && c <= 0x9FFF) || (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x20000 && c <= 0x3134F)) return true;
  }
  return false;
}

}  // namespace fovea
