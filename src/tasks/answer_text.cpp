#include "tasks/answer_text.h"

#include <algorithm>

#include "base/error.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace fovea {

int32_t Forms::number(std::string text) {
  const auto [found, fresh] = numbers_.try_emplace(std::move(text), static_cast<int32_t>(texts_.size()));
  if (fresh) texts_.push_back(&found->first);
  return found->second;
}

namespace {

// Combining marks, variation selectors, skin tones and the joiner of emoji sequences.
bool is_mark(char32_t c) {
  return (c >= 0x300 && c <= 0x36F) || (c >= 0x1AB0 && c <= 0x1AFF) || (c >= 0x20D0 && c <= 0x20FF) ||
         (c >= 0xFE00 && c <= 0xFE0F) || c == 0x200D || (c >= 0x1F3FB && c <= 0x1F3FF);
}
bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_apostrophe(char32_t c) { return c == '\'' || c == 0x2019; }
bool is_single(char32_t c) { return is_unspaced(c) || unicode::is_punctuation(c) || unicode::is_symbol(c); }

class Splitter {
 public:
  Splitter(std::string_view text, bool characters) : text_(text), characters_(characters) {}

  std::vector<ByteRange> operator()() {
    char32_t before = ' ';
    for (const auto& [value, begin, end] : code_points(text_)) {
      if (is_space(value)) {
        open_ = false;
      } else if (is_mark(value) && before != ' ' && !is_space(before)) {
        tokens_.back().end = end;
        open_ = open_ || value == 0x200D;  // what the joiner joins
      } else {
        add(value, before, begin, end);
      }
      before = value;
    }
    return std::move(tokens_);
  }

 private:
  void add(char32_t value, char32_t before, size_t begin, size_t end) {
    const char32_t next = end < text_.size() ? code_point_at(text_, end).value : U' ';
    const bool in_number = (value == '.' || value == ',') && is_digit(before) && is_digit(next);
    const bool letter_next = !is_space(next) && !is_single(next) && !is_digit(next);
    const bool opens_ending = is_apostrophe(value) && open_ && letter_next;  // 's, 't, 're
    const bool single = characters_ || (is_single(value) && !in_number && !opens_ending);
    const bool joined = before == 0x200D && !tokens_.empty();
    if (joined || (open_ && !single && !opens_ending)) {
      tokens_.back().end = end;
    } else {
      tokens_.push_back({begin, end});
    }
    open_ = !single;
  }

  std::string_view text_;
  bool characters_;
  bool open_ = false;  // whether a letter continues the last token
  std::vector<ByteRange> tokens_;
};

TokenShape shape_of(const std::u32string& token) {
  static constexpr std::u32string_view kEnds = U".!?。！？…", kOpening = U"([{\"'“‘《「『（【〈",
                                       kClosing = U")]}”’》」』）】〉",
                                       kHanNumbers = U"〇零一二三四五六七八九十百千万亿两年月日";
  const char32_t first = token.empty() ? U' ' : token.front();
  if (token.size() == 1) {
    if (kEnds.find(first) != kEnds.npos) return TokenShape::kSentenceEnd;
    if (kOpening.find(first) != kOpening.npos) return TokenShape::kOpening;
    if (kClosing.find(first) != kClosing.npos) return TokenShape::kClosing;
    if (kHanNumbers.find(first) != kHanNumbers.npos) return TokenShape::kHanNumber;
    if (is_unspaced(first)) return TokenShape::kHan;
    if (unicode::is_punctuation(first) || unicode::is_symbol(first)) return TokenShape::kPunctuation;
  }
  const auto digits = std::count_if(token.begin(), token.end(), unicode::is_number);
  if (digits > 0) {
    const auto others = std::count_if(token.begin(), token.end(),
                                      [](char32_t c) { return !unicode::is_number(c) && c != '.' && c != ','; });
    return others == 0 ? TokenShape::kNumber : TokenShape::kWithDigits;
  }
  const std::u32string lower = unicode::lower(token);
  if (lower == token) return is_single(first) ? TokenShape::kOther : TokenShape::kLower;
  if (lower.substr(1) == token.substr(1)) return TokenShape::kCapitalised;
  return TokenShape::kUpper;
}

bool is_list(std::string_view kind) { return kind == "word" || kind == "character"; }

}  // namespace

std::vector<ByteRange> split_tokens(std::string_view text, bool characters) { return Splitter(text, characters)(); }

std::string vocabulary_line(const std::string& text, const VocabularyOptions& options, bool lowercase) {
  if (!is_list(options.kind)) return text;
  std::string line;
  for (const auto& [begin, end] : split_tokens(text, options.kind == "character")) {
    const std::string token = text.substr(begin, end - begin);
    if (options.kind == "word" && !line.empty()) line += ' ';
    line += lowercase ? unicode::encode(unicode::lower(unicode::decode(token))) : token;
  }
  return line;
}

std::string stem_of(const std::string& lower) {
  std::string stem = lower;
  const auto drop = [&](std::string_view ending, size_t shortest) {
    if (stem.size() < shortest + ending.size() || !stem.ends_with(ending)) return false;
    stem.resize(stem.size() - ending.size());
    return true;
  };
  const auto undouble = [&] {
    const size_t n = stem.size();
    if (n > 3 && stem[n - 1] == stem[n - 2] && stem[n - 1] != 'l' && stem[n - 1] != 's') stem.pop_back();
  };
  if (std::any_of(stem.begin(), stem.end(), [](char c) { return c < 'a' || c > 'z'; })) return stem;
  if (drop("ies", 2)) return stem + "y";
  if (!stem.ends_with("ss") && !stem.ends_with("us") && !stem.ends_with("is")) drop("s", 3);
  if (drop("ing", 3) || drop("ed", 3)) undouble();
  drop("ly", 3);
  drop("e", 3);
  return stem;
}

TokenisedText AnswerTokeniser::operator()(std::string text, Forms& forms) const {
  check(text.size() < (size_t{1} << 31), "answer: expected a text below 2 GB, got {} bytes", text.size());
  TokenisedText result;
  const auto add = [&](int32_t id, size_t begin, size_t end, std::string exact) {
    const std::u32string wide = unicode::decode(exact);
    std::string lower = unicode::encode(unicode::lower(wide));
    const int32_t stem = forms.number(stem_of(lower));
    const int32_t lower_number = forms.number(std::move(lower));
    result.tokens.push_back({.id = id,
                             .begin = static_cast<int32_t>(begin),
                             .end = static_cast<int32_t>(end),
                             .exact = forms.number(std::move(exact)),
                             .lower = lower_number,
                             .stem = stem,
                             .shape = shape_of(wide)});
  };
  if (is_list(vocabulary_->kind())) {
    for (const auto& [begin, end] : split_tokens(text, vocabulary_->kind() == "character")) {
      std::string exact = text.substr(begin, end - begin);
      const std::vector<int32_t> ids =
          vocabulary_->encode(lowercase_ ? unicode::encode(unicode::lower(unicode::decode(exact))) : exact);
      add(ids.empty() ? kUnknown : ids.front(), begin, end, std::move(exact));
    }
  } else {
    for (const Token& token : vocabulary_->tokenise(text)) add(token.id, token.begin, token.end, token.text);
  }
  result.text = std::move(text);
  return result;
}

}  // namespace fovea
