// Renders SVG as PNG or PDF with librsvg and the fonts of this machine. Throws an Error if Fovea was built without
// librsvg.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fovea {

// Renders `scale` pixels for each unit, or fewer to stay within 16,384 pixels a side and 64 million in all.
std::string svg_to_png(const std::string& svg, double scale = 2);
// One page with the size of the SVG, 96 units an inch; text stays text and its fonts are embedded.
std::string svg_to_pdf(const std::string& svg);

// The characters of one script that no font of this machine covers.
struct MissingGlyphs {
  std::string script;      // "Chinese"
  std::string package;     // the Debian package of a font that covers them
  std::string characters;  // the first few

  // "no installed font covers the Chinese characters 我爱你; the picture shows boxes instead (...)"
  std::string statement() const;
};
// The missing characters of the text in an SVG, by script; empty if Fovea was built without librsvg.
std::vector<MissingGlyphs> missing_glyphs(std::string_view svg);

}  // namespace fovea
