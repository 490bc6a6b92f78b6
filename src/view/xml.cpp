#include "view/xml.h"

#include <fmt/format.h>

#include <cassert>
#include <cmath>
#include <utility>

#include "text/utf8.h"

namespace fovea {

namespace {

char32_t allowed(char32_t value) {
  if (value == '\t' || value == '\n' || value == '\r') return value;
  if (value < 0x20) return 0x2400 + value;  // the picture of a control character
  if (value == 0x7F) return 0x2421;
  const bool forbidden = (value >= 0x80 && value < 0xA0) || (value & 0xFFFE) == 0xFFFE;
  return forbidden ? kReplacement : value;
}

}  // namespace

std::string escape_xml(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const CodePoint& c : code_points(text)) {
    switch (c.value) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: append_code_point(out, allowed(c.value));
    }
  }
  return out;
}

std::string to_hundredths(double value) {
  const double rounded = std::round(value * 100.0) / 100.0;
  return fmt::format("{}", rounded == 0.0 ? 0.0 : rounded);
}

Xml& Xml::open(std::string_view name) {
  end_tag();
  out_ += '<';
  out_ += name;
  names_.emplace_back(name);
  in_tag_ = true;
  return *this;
}

Xml& Xml::set(std::string_view name, std::string_view value) {
  assert(in_tag_);
  out_ += ' ';
  out_ += name;
  out_ += "=\"";
  out_ += escape_xml(value);
  out_ += '"';
  return *this;
}

Xml& Xml::set(std::string_view name, double value) { return set(name, std::string_view(to_hundredths(value))); }

Xml& Xml::text(std::string_view content) { return raw(escape_xml(content)); }

Xml& Xml::raw(std::string_view content) {
  end_tag();
  out_ += content;
  return *this;
}

Xml& Xml::close() {
  assert(!names_.empty());
  end_tag();
  out_ += "</";
  out_ += names_.back();
  out_ += ">";
  names_.pop_back();
  return *this;
}

Xml& Xml::leaf() {
  assert(in_tag_);
  out_ += "/>";
  names_.pop_back();
  in_tag_ = false;
  return *this;
}

std::string Xml::take() {
  assert(names_.empty());
  return std::exchange(out_, {});
}

void Xml::end_tag() {
  if (in_tag_) out_ += '>';
  in_tag_ = false;
}

}  // namespace fovea
