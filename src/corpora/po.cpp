// gettext's PO: entries of comments, msgctxt, msgid, msgid_plural and msgstr, each a C string that may continue on
// further lines. Contexts tell equal messages apart and are not text; obsolete entries (#~) are left out.
#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/json.h"
#include "corpora/gettext.h"
#include "corpora/readers.h"
#include "text/lines.h"
#include "text/utf8.h"

namespace fovea {

namespace {

constexpr size_t kMostForms = 100;  // gettext's own limit is smaller

bool is_octal(char c) { return c >= '0' && c <= '7'; }

// The byte of \ooo or \xhh that starts at `at`, after the backslash; moves `at` past it.
char numeric_escape(std::string_view text, size_t& at, const std::string& place) {
  const bool hex = text[at] == 'x';
  const size_t begin = at + (hex ? 1 : 0);
  size_t end = begin;
  if (hex) {
    end = std::min(text.size(), begin + 2);
  } else {
    while (end < text.size() && end < begin + 3 && is_octal(text[end])) ++end;
  }
  unsigned value = 0;
  const auto result = std::from_chars(text.data() + begin, text.data() + end, value, hex ? 16 : 8);
  check(result.ec == std::errc() && value > 0 && value < 256, "{}: expected a character after \\x, got \"{}\"", place,
        brief(text.substr(begin, end - begin)));
  at = static_cast<size_t>(result.ptr - text.data());
  return static_cast<char>(value);
}

// The contents of the C string that the line is.
std::string unquote(std::string_view line, const std::string& place) {
  check(line.size() >= 2 && line.front() == '"', "{}: expected a string in double quotes, got {}", place, brief(line));
  constexpr std::string_view kNames = "ntrabfv\"\\'?", kValues = "\n\t\r\a\b\f\v\"\\'?";
  std::string text;
  size_t at = 1;
  while (at < line.size() && line[at] != '"') {
    if (line[at] != '\\') {
      text += line[at++];
      continue;
    }
    check(++at < line.size(), "{}: expected a character after the backslash at the end", place);
    if (const size_t known = kNames.find(line[at]); known != std::string_view::npos) {
      text += kValues[known];
      ++at;
    } else {
      check(is_octal(line[at]) || line[at] == 'x', "{}: expected an escape such as \\n, got \\{}", place,
            brief(line.substr(at, 1)));
      text += numeric_escape(line, at, place);
    }
  }
  check(at + 1 == line.size(), "{}: expected a string that ends with the line, got {}", place, brief(line));
  return text;
}

class PoReader {
 public:
  PoReader(ByteSource source, PairWriter& writer)
      : lines_(source.name, std::move(source.read)), writer_(writer), gettext_(writer) {}

  void read() {
    for (std::string line; lines_.next(line);) {
      const size_t begin = line.find_first_not_of(" \t");
      if (begin == std::string::npos) continue;
      const size_t end = line.find_last_not_of(" \t") + 1;
      take(std::string_view(line).substr(begin, end - begin));
    }
    finish();
  }

 private:
  enum class State { kNone, kContext, kId, kPlural, kTarget };  // what was read last of the entry

  void take(std::string_view line) {
    if (line.starts_with('#')) {
      if (state_ == State::kTarget) finish();  // comments precede the entry that they belong to
      if (line.starts_with("#,") && line.find("fuzzy") != std::string_view::npos) fuzzy_ = true;
      return;
    }
    if (line.starts_with('"')) {
      check(value_ != nullptr, "{}: expected msgid before a string", lines_.place());
      return append(line);
    }
    const size_t end = std::min(line.find_first_of(" \t\""), line.size());
    start(line.substr(0, end));
    const size_t quote = line.find_first_not_of(" \t", end);
    append(quote == std::string_view::npos ? std::string_view() : line.substr(quote));
  }
  void append(std::string_view quoted) {
    *value_ += unquote(quoted, lines_.place());
    check(value_->size() <= kMaxLineBytes, "{}: expected a message of at most {} bytes, got more", lines_.place(),
          kMaxLineBytes);
  }
  void start(std::string_view keyword) {
    if (keyword == "domain") {
      finish();
      value_ = &context_;
    } else if (keyword == "msgctxt") {
      finish();
      begin_entry(State::kContext, context_);
    } else if (keyword == "msgid") {
      if (state_ != State::kContext) finish();
      begin_entry(State::kId, message_.source);
    } else if (keyword == "msgid_plural") {
      check(state_ == State::kId, "{}: expected msgid before msgid_plural", lines_.place());
      message_.has_plural = true;
      begin_entry(State::kPlural, message_.source_plural);
    } else if (keyword == "msgstr" || keyword.starts_with("msgstr[")) {
      start_target(keyword);
    } else {
      fail("{}: expected msgid, msgstr, a string or a comment, got {}", lines_.place(), brief(keyword));
    }
  }
  void begin_entry(State state, std::string& value) {
    if (state_ == State::kNone) place_ = lines_.place();
    has_context_ = has_context_ || state == State::kContext;
    state_ = state;
    value_ = &value;
  }
  void start_target(std::string_view keyword) {
    const bool may = state_ != State::kNone && state_ != State::kContext;
    check(may, "{}: expected msgid before {}", lines_.place(), brief(keyword));
    size_t form = 0;
    if (keyword != "msgstr") {
      const std::string_view number = keyword.substr(std::string_view("msgstr[").size());
      const auto result = std::from_chars(number.data(), number.data() + number.size(), form);
      const std::string_view after(result.ptr, static_cast<size_t>(number.data() + number.size() - result.ptr));
      check(result.ec == std::errc() && after == "]" && form < kMostForms,
            "{}: expected msgstr[N] with the number of a plural form, got {}", lines_.place(), brief(keyword));
    }
    check(form == message_.targets.size(), "{}: expected {} here, got {}", lines_.place(),
          message_.has_plural ? fmt::format("msgstr[{}]", message_.targets.size()) : "another msgid", brief(keyword));
    state_ = State::kTarget;
    message_.targets.emplace_back();
    value_ = &message_.targets.back();
  }
  void finish() {
    check(state_ == State::kNone || state_ == State::kTarget, "{}: expected a msgstr in the entry that begins at {}",
          lines_.place(), place_);
    if (state_ == State::kTarget) add();
    if (state_ != State::kNone) fuzzy_ = false;
    message_ = {};
    context_.clear();
    has_context_ = false;
    state_ = State::kNone;
    value_ = nullptr;
  }
  void add() {
    std::vector<const std::string*> texts = {&message_.source, &message_.source_plural};
    for (const std::string& target : message_.targets) texts.push_back(&target);
    for (const std::string* text : texts) {
      check(find_invalid_utf8(*text) == std::string::npos, "{}: not valid UTF-8 with its escapes replaced", place_);
    }
    if (message_.source.empty() && !has_context_) {
      gettext_.read_header(message_.targets.front(), place_);
    } else if (fuzzy_ && !writer_.options.fuzzy) {
      writer_.report.skip("fuzzy or unfinished");
    } else {
      gettext_.add(message_, place_);
    }
  }

  LineReader lines_;
  PairWriter& writer_;
  GettextWriter gettext_;
  GettextMessage message_;
  State state_ = State::kNone;
  std::string context_, place_;
  std::string* value_ = nullptr;  // the string that continuation lines belong to
  bool fuzzy_ = false, has_context_ = false;
};

}  // namespace

void read_po(ByteSource source, PairWriter& writer) { PoReader(std::move(source), writer).read(); }

}  // namespace fovea
