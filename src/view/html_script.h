// The script and the style sheet of a page: the same for every picture, and XML as they stand (no < and no &).
#pragma once

#include <string_view>

namespace fovea {

extern const std::string_view kPageScript;
extern const std::string_view kPageScriptHash;  // "sha256-...", for the page's security policy; a test compares
extern const std::string_view kPageStyle;
extern const std::string_view kLightPage, kDarkPage;  // the colours of kPageStyle

}  // namespace fovea
