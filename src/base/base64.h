// Base64 (RFC 4648, section 4), with padding.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fovea {

std::string to_base64(std::string_view bytes);
// Returns nothing for text that is not valid base64.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace fovea
