// The text of an HTML document, and the document with other text in its place. Markup stays as it is, byte for byte;
// the contents of elements such as script, style and code are not text. Each text between two tags is a piece of its
// own.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fovea::app {

class HtmlText {
 public:
  explicit HtmlText(std::string_view html);

  // Entities are decoded, white space is one blank.
  const std::vector<std::string>& texts() const { return texts_; }
  std::string with(std::span<const std::string> texts) const;

 private:
  void add_markup(std::string_view markup) { markup_.back() += markup; }
  void add_text(std::string_view text);

  std::vector<std::string> markup_{""};  // before each text, and after the last
  std::vector<std::string> texts_;
};

}  // namespace fovea::app
