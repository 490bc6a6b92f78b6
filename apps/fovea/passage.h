// The passage that questions are about.
#pragma once

#include <string>

namespace fovea::app {

// The text of a file or, as "-", of standard input, without the line ends after it.
std::string read_passage(const std::string& path);

}  // namespace fovea::app
