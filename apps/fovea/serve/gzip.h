#pragma once

#include <string>
#include <string_view>

namespace fovea::app {

std::string gzip(std::string_view text);
std::string ungzip(std::string_view bytes);

}  // namespace fovea::app
