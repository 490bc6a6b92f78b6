// Finds the characters of a picture that no font covers. Pango, which draws librsvg's text, uses every font that
// fontconfig knows, so a character is missing if none of them covers it.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/utf8.h"
#include "view/svg_render.h"

#ifdef FOVEA_RSVG
#include <memory>

#include "view/graphics_libraries.h"
#endif

namespace fovea {

std::string MissingGlyphs::statement() const {
  return fmt::format(
      "no installed font covers the {} characters {}; the picture shows boxes instead (Debian has a font for them in "
      "the package {})",
      script, characters, package);
}

#ifdef FOVEA_RSVG

namespace {

struct Script {
  char32_t first, last;
  const char *name, *package;
};
// Common scripts, each with the smallest good package of fonts. The first range that contains a character decides.
constexpr std::array kScripts = {
    Script{0x0000, 0x024F, "Latin", "fonts-dejavu-core"},
    Script{0x0370, 0x03FF, "Greek", "fonts-dejavu-core"},
    Script{0x0400, 0x052F, "Cyrillic", "fonts-dejavu-core"},
    Script{0x0530, 0x058F, "Armenian", "fonts-dejavu-core"},
    Script{0x0590, 0x05FF, "Hebrew", "fonts-dejavu-core"},
    Script{0x0600, 0x077F, "Arabic", "fonts-dejavu-core"},
    Script{0x0900, 0x097F, "Devanagari", "fonts-lohit-deva"},
    Script{0x0980, 0x09FF, "Bengali", "fonts-lohit-beng-bengali"},
    Script{0x0B80, 0x0BFF, "Tamil", "fonts-lohit-taml"},
    Script{0x0E00, 0x0E7F, "Thai", "fonts-thai-tlwg"},
    Script{0x10A0, 0x10FF, "Georgian", "fonts-dejavu-core"},
    Script{0x1100, 0x11FF, "Korean", "fonts-wqy-microhei"},
    Script{0x2000, 0x2BFF, "symbol", "fonts-dejavu-core"},
    Script{0x2E80, 0x303F, "Chinese", "fonts-wqy-microhei"},
    Script{0x3040, 0x30FF, "Japanese", "fonts-wqy-microhei"},
    Script{0x3130, 0x318F, "Korean", "fonts-wqy-microhei"},
    Script{0x3200, 0x9FFF, "Chinese", "fonts-wqy-microhei"},
    Script{0xAC00, 0xD7FF, "Korean", "fonts-wqy-microhei"},
    Script{0xF900, 0xFAFF, "Chinese", "fonts-wqy-microhei"},
    Script{0xFF00, 0xFFEF, "full-width", "fonts-wqy-microhei"},
    Script{0x1F000, 0x1FAFF, "emoji", "fonts-noto-color-emoji"},
    Script{0x20000, 0x3FFFF, "rare Chinese", "fonts-hanazono"},
    Script{0, 0x10FFFF, "other", "fonts-noto-core"},
};

// Spaces, joiners, variation selectors and marks of direction have no glyph.
bool draws_nothing(char32_t c) {
  return c <= 0x20 || (c >= 0x7F && c <= 0xA0) || (c >= 0x2000 && c <= 0x200F) || (c >= 0x2028 && c <= 0x202F) ||
         (c >= 0x205F && c <= 0x206F) || c == 0x3000 || (c >= 0xFE00 && c <= 0xFE0F) || c == 0xFEFF;
}

struct Destroy {
  void operator()(FcPattern* p) const { graphics().FcPatternDestroy(p); }
  void operator()(FcObjectSet* o) const { graphics().FcObjectSetDestroy(o); }
  void operator()(FcFontSet* s) const { graphics().FcFontSetDestroy(s); }
  void operator()(FcCharSet* c) const { graphics().FcCharSetDestroy(c); }
};
template <class T> using Owned = std::unique_ptr<T, Destroy>;

// The union of the characters of all fonts.
Owned<FcCharSet> covered() {
  Owned<FcCharSet> all(graphics().FcCharSetCreate());
  const Owned<FcPattern> any(graphics().FcPatternCreate());
  const Owned<FcObjectSet> wanted(graphics().FcObjectSetBuild(FC_CHARSET, nullptr));
  const Owned<FcFontSet> fonts(graphics().FcFontList(nullptr, any.get(), wanted.get()));
  for (int i = 0; fonts && i < fonts->nfont; ++i) {
    FcCharSet* of_font = nullptr;  // owned by its pattern
    if (graphics().FcPatternGetCharSet(fonts->fonts[i], FC_CHARSET, 0, &of_font) == FcResultMatch) {
      FcBool changed = FcFalse;
      graphics().FcCharSetMerge(all.get(), of_font, &changed);
    }
  }
  return all;
}

// The text of an SVG: everything outside its tags and its style sheet.
std::string drawn_text(std::string_view svg) {
  std::string text;
  for (size_t at = 0; at < svg.size();) {
    if (svg.substr(at).starts_with("<style")) at = std::min(svg.find("</style>", at), svg.size());
    const size_t begin = std::min(svg.find('>', at), svg.size() - 1) + 1,
                 end = std::min(svg.find('<', begin), svg.size());
    text += svg.substr(begin, end - begin);
    at = end;
  }
  return text;
}

}  // namespace

std::vector<MissingGlyphs> missing_glyphs(std::string_view svg) {
  constexpr int64_t kMaxNamed = 8;
  const Owned<FcCharSet> fonts = covered();
  const std::string text = drawn_text(svg);
  std::vector<char32_t> seen;
  std::vector<MissingGlyphs> missing;
  std::vector<int64_t> counts;
  for (const CodePoint& c : code_points(text)) {
    if (draws_nothing(c.value) || graphics().FcCharSetHasChar(fonts.get(), c.value)) continue;
    if (std::find(seen.begin(), seen.end(), c.value) != seen.end()) continue;
    seen.push_back(c.value);
    const auto script = std::find_if(kScripts.begin(), kScripts.end(),
                                     [&](const Script& s) { return c.value >= s.first && c.value <= s.last; });
    auto found =
        std::find_if(missing.begin(), missing.end(), [&](const MissingGlyphs& m) { return m.script == script->name; });
    if (found == missing.end()) {
      found = missing.insert(missing.end(), {script->name, script->package, ""});
      counts.push_back(0);
    }
    const int64_t count = ++counts[static_cast<size_t>(found - missing.begin())];
    if (count <= kMaxNamed) found->characters += text.substr(c.begin, c.end - c.begin);
    if (count == kMaxNamed + 1) found->characters += "…";
  }
  return missing;
}

#else

std::vector<MissingGlyphs> missing_glyphs(std::string_view) { return {}; }

#endif

}  // namespace fovea
