// Reads JSON that other people wrote: every parser in the project goes through parse_json, so that no document can
// exhaust the stack or the processor.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace fovea {

using Json = nlohmann::ordered_json;  // members keep the order of the document

struct JsonLimits {
  // Copying and writing a value recurse once per level.
  int64_t depth = 64;
  // Json looks members up one by one, so parsing an object takes time quadratic in its members.
  int64_t members = 10'000;
  // A value takes 16 bytes, of which the shortest text is two.
  int64_t values = 30'000'000;
};

// Throws an Error that starts with `what` (a file, a line or "request body") for text that is not JSON in UTF-8, for
// numbers outside the range of a double, and for documents beyond the limits.
Json parse_json(std::string_view text, std::string_view what, const JsonLimits& limits = {});

// A value for an error message, at most some 80 bytes long: scalars as JSON, lists and objects by their size.
std::string brief_value(const Json& value);
// The first bytes of a text without splitting a UTF-8 character, followed by "..." if any were left out.
std::string brief(std::string_view text, size_t most_bytes = 80);

}  // namespace fovea
