// Reads reference files: a reference a line, or a JSON array of all references of a segment a line.
#pragma once

#include <string>
#include <vector>

namespace fovea {

// The references of each line. If the first line is a JSON array of strings, every line must be one with at least one
// string; otherwise each line is one reference. Errors name file and line.
std::vector<std::vector<std::string>> read_references(const std::string& path);

// Sources and, line by line, what is given for each: references or candidates.
struct ReferencedText {
  std::vector<std::string> sources;
  std::vector<std::vector<std::string>> references;
};
// From a source file and files of references for it, as above; without files of references the source file is a TSV,
// whose further columns are the references. Errors name file and line.
ReferencedText read_referenced(const std::string& source, const std::vector<std::string>& references);

}  // namespace fovea
