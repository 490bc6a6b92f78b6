// Reads reference files: a reference a line, or a JSON array of all references of a segment a line.
#pragma once

#include <string>
#include <vector>

namespace fovea {

// The references of each line. If the first line is a JSON array of strings, every line must be one with at least one
// string; otherwise each line is one reference. Errors name file and line.
std::vector<std::vector<std::string>> read_references(const std::string& path);

}  // namespace fovea
