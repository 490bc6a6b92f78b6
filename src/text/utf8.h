// UTF-8 and the properties of characters that Fovea uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fovea {

constexpr char32_t kReplacement = 0xFFFD;  // replaces invalid bytes

// One character of a text: bytes [begin, end).
struct CodePoint {
  char32_t value;
  size_t begin, end;
};

// The character that starts at byte `at`; an invalid byte is returned as kReplacement.
CodePoint code_point_at(std::string_view text, size_t at);

// for (const auto& [value, begin, end] : code_points(text))
class CodePoints {
 public:
  class Iterator {
   public:
    Iterator(std::string_view text, size_t at) : text_(text), at_(at) {}
    CodePoint operator*() const { return code_point_at(text_, at_); }
    Iterator& operator++() {
      at_ = code_point_at(text_, at_).end;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    std::string_view text_;
    size_t at_;
  };

  explicit CodePoints(std::string_view text) : text_(text) {}
  Iterator begin() const { return {text_, 0}; }
  Iterator end() const { return {text_, text_.size()}; }

 private:
  std::string_view text_;
};
inline CodePoints code_points(std::string_view text) { return CodePoints(text); }
int64_t count_code_points(std::string_view text);  // the text must be valid UTF-8

void append_code_point(std::string& text, char32_t value);

// The position of the first invalid byte; npos if the text is valid. Overlong forms, surrogates and values above
// U+10FFFF are invalid.
size_t find_invalid_utf8(std::string_view text);

// Unicode's White_Space property.
bool is_space(char32_t value);
// Whether the character's script has no spaces between words: Han, kana, Thai, Lao, Khmer, Burmese.
bool is_unspaced(char32_t value);

// Whether the text contains Han characters.
bool has_han(std::string_view text);

}  // namespace fovea
