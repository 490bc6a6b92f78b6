// The script and the style sheets of HTML views, the same for every picture. The build embeds html_page.js and
// html_page*.css, which hold neither "<" nor "&", so that they are XML as they are (cmake/embed_text.cmake).
#pragma once

#include <string_view>

namespace fovea {

extern const std::string_view kPageScript;
extern const std::string_view kPageScriptHash;  // "sha256-...", for the page's Content-Security-Policy
extern const std::string_view kPageStyle;
extern const std::string_view kLightColours, kDarkColours;  // the custom properties that kPageStyle uses

}  // namespace fovea
