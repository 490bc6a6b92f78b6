#include "evaluate/references.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/error.h"
#include "base/json.h"
#include "text/lines.h"

namespace fovea {

namespace {

constexpr size_t kMaxReferencesBytes = 16 * kMaxLineBytes;  // of one line
constexpr std::string_view kExpected = "expected a JSON array of references, because line 1 is one";

bool is_array_of_strings(const Json& json) {
  return json.is_array() && std::all_of(json.begin(), json.end(), [](const Json& item) { return item.is_string(); });
}

// A reference is a line of text, so an escaped line break in it is a space.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r' || c == '\0'; }, ' ');
  return text;
}

bool starts_like_array(const std::string& line) {
  const size_t first = line.find_first_not_of(" \t");
  return first != std::string::npos && line[first] == '[';
}

// Whether a file that starts with this line is one of JSON arrays: text may start with a bracket, too.
bool is_json_references(const std::string& line) {
  if (!starts_like_array(line)) return false;
  try {
    const Json json = parse_json(line, "");
    return is_array_of_strings(json) && !json.empty();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::vector<std::vector<std::string>> read_references(const std::string& path) {
  LineReader reader(path, kMaxReferencesBytes);
  std::vector<std::vector<std::string>> references;
  std::optional<bool> json;
  for (std::string line; reader.next(line);) {
    if (!json) json = is_json_references(line);
    std::vector<std::string>& all = references.emplace_back();
    if (!*json) {
      all.push_back(line);
      continue;
    }
    check(starts_like_array(line), "{}: {}, got {}", reader.place(), kExpected, brief(line));
    const Json array = parse_json(line, reader.place());
    check(is_array_of_strings(array) && !array.empty(), "{}: {}, got {}", reader.place(), kExpected,
          array.empty() ? "an empty one" : "other values than strings");
    for (const Json& item : array) all.push_back(one_line(item.get<std::string>()));
  }
  return references;
}

namespace {

ReferencedText read_referenced_tsv(const std::string& path) {
  ReferencedText text;
  LineReader reader(path, kMaxReferencesBytes);
  for (std::string line; reader.next(line);) {
    std::vector<std::string> columns(1);
    for (const char c : line) {
      if (c == '\t') {
        columns.emplace_back();
      } else {
        columns.back() += c;
      }
    }
    check(columns.size() > 1,
          "{}: expected a source and its references or candidates, separated by tabs, got one column", reader.place());
    text.sources.push_back(std::move(columns.front()));
    text.references.emplace_back(std::make_move_iterator(columns.begin() + 1), std::make_move_iterator(columns.end()));
  }
  check(!text.sources.empty(), "{}: expected text, got an empty file", path);
  return text;
}

}  // namespace

ReferencedText read_referenced(const std::string& source, const std::vector<std::string>& references) {
  if (references.empty()) return read_referenced_tsv(source);
  ReferencedText text;
  LineReader reader(source);
  for (std::string line; reader.next(line);) text.sources.push_back(line);
  check(!text.sources.empty(), "{}: expected lines, got none", source);
  text.references.resize(text.sources.size());
  for (const std::string& path : references) {
    const std::vector<std::vector<std::string>> lines = read_references(path);
    check(lines.size() == text.sources.size(), "{}: expected {} lines, as {} has, got {}", path, text.sources.size(),
          source, lines.size());
    for (size_t i = 0; i < lines.size(); ++i) {
      text.references[i].insert(text.references[i].end(), lines[i].begin(), lines[i].end());
    }
  }
  return text;
}

}  // namespace fovea
