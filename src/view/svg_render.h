// An SVG drawn by librsvg as PNG or PDF, with the fonts of this machine. An Error where Fovea was built without
// librsvg.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fovea {

// `scale` pixels for each unit; fewer where there would be more than 16,384 a side or 64 million in all.
std::string svg_to_png(const std::string& svg, double scale = 2);
// One page with the size of the SVG, 96 units an inch; text stays text and its fonts are embedded.
std::string svg_to_pdf(const std::string& svg);

// Characters of one script that no font of this machine has.
struct MissingGlyphs {
  std::string script;      // "Chinese"
  std::string package;     // of Debian, with a font that has them
  std::string characters;  // the first few

  // "no installed font covers the Chinese characters 我爱你; the picture shows boxes instead (...)"
  std::string statement() const;
};
// Of the text that an SVG draws, script by script; none where Fovea was built without librsvg.
std::vector<MissingGlyphs> missing_glyphs(std::string_view svg);

}  // namespace fovea
