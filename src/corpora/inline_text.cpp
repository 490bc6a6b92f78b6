#include "corpora/inline_text.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "text/lines.h"

namespace fovea {

namespace {

constexpr std::array<std::string_view, 13> kCodes = {"bpt", "ept", "ph", "it", "ut", "x", "bx",
                                                     "ex",  "sc",  "ec", "sm", "em", "cp"};

bool is_code(std::string_view name) { return std::find(kCodes.begin(), kCodes.end(), name) != kCodes.end(); }

// %d, %(count)s, {0}, {name}, {{name}}, $name, ${name}
bool is_variable(std::string_view code) {
  constexpr size_t kLongest = 80;
  if (code.size() < 2 || code.size() > kLongest || code.find_first_of("<>\n") != std::string_view::npos) return false;
  return code[0] == '%' || code[0] == '$' || (code[0] == '{' && code.back() == '}');
}

bool is_break(const XmlAttributes& attributes) {
  for (const char* name : {"type", "ctype", "subType"}) {
    const std::string value = attributes.get(name);
    if (value == "lb" || value == "xlf:lb" || value == "x-br" || value == "br") return true;
  }
  return false;
}

}  // namespace

void InlineText::clear() {
  text_.clear();
  depth_ = 0;
}

void InlineText::start(std::string_view name, const XmlAttributes& attributes) {
  if (depth_ > 0) {
    ++depth_;
    return;
  }
  if (!is_code(name)) return;
  depth_ = 1;
  code_.clear();
  breaks_ = is_break(attributes);
  equivalent_ = attributes.get("equiv-text");
  if (equivalent_.empty()) equivalent_ = attributes.get("equiv");
  if (equivalent_.empty()) equivalent_ = attributes.get("disp");
}

void InlineText::end() {
  if (depth_ == 0 || --depth_ > 0) return;
  if (is_variable(code_)) {
    text_ += code_;
  } else if (is_variable(equivalent_)) {
    text_ += equivalent_;
  } else if (breaks_ || code_.starts_with("<br") || equivalent_.starts_with("<br")) {
    text_ += ' ';
  }
}

void InlineText::add(std::string_view text) {
  std::string& to = depth_ > 0 ? code_ : text_;
  if (to.size() + text.size() > kMaxLineBytes) {
    fail("{}: expected a segment of at most {} bytes, got more", document_.place(), kMaxLineBytes);
  }
  to += text;
}

}  // namespace fovea
