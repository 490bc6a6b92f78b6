// Writes XML one element at a time: pictures (SVG) and pages (HTML in XML's syntax). Everything is escaped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fovea {

// Escapes text for elements and attributes. Characters that XML forbids are replaced: control characters by their
// pictures (U+2400 and after), others by U+FFFD.
std::string escape_xml(std::string_view text);

class Xml {
 public:
  Xml& open(std::string_view name);
  Xml& set(std::string_view name,
           std::string_view value);               // an attribute of the element opened last, before its content
  Xml& set(std::string_view name, double value);  // rounded to a hundredth
  Xml& text(std::string_view content);
  Xml& raw(std::string_view content);  // without escaping: the content is XML already
  Xml& close();                        // </name>
  Xml& leaf();                         // />, for an element that never has content
  // <name>content</name>
  Xml& element(std::string_view name, std::string_view content) { return open(name).text(content).close(); }
  std::string take();

 private:
  void end_tag();

  std::string out_;
  std::vector<std::string> names_;
  bool in_tag_ = false;
};

std::string to_hundredths(double value);  // "3", "3.5", "-0.25"

}  // namespace fovea
