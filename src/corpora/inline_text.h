// The text of a segment of TMX or XLIFF without its inline elements.
//
// Elements that mark text (<g>, <mrk>, <hi>, <pc>) are removed and their text stays. Elements that stand for codes of
// the original document (<bpt>, <ept>, <ph>, <it>, <ut>, <x/>, <bx/>, <ex/>, <sc/>, <ec/>) are removed with their
// contents, except for what the sentence needs: a line break becomes a space, and a variable such as %d or {name}
// stays as text.
#pragma once

#include <string>
#include <string_view>

#include "corpora/xml.h"

namespace fovea {

class InlineText {
 public:
  explicit InlineText(const XmlHandler& document) : document_(document) {}

  void clear();
  void start(std::string_view name, const XmlAttributes& attributes);
  void end();
  void add(std::string_view text);
  const std::string& text() const { return text_; }

 private:
  const XmlHandler& document_;  // knows the place, for errors
  std::string text_, code_, equivalent_;
  bool breaks_ = false;  // the code is a line break
  int depth_ = 0;        // of elements inside a code
};

}  // namespace fovea
