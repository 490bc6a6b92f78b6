// Reads untrusted JSON. All JSON in the project is parsed by parse_json, whose limits prevent a document from
// exhausting the stack, the memory or the processor.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace fovea {

using Json = nlohmann::ordered_json;  // members are in the order of the document

struct JsonLimits {
  // Copying and writing a value recurse once per level.
  int64_t depth = 64;
  // Json searches members linearly, so parsing an object takes time quadratic in the number of members.
  int64_t members = 10'000;
  // A value takes 16 bytes in memory and at least two bytes of text.
  int64_t values = 30'000'000;
};

// Throws an Error that starts with `what` (a file, a line or "request body") for text that is not JSON in UTF-8, for
// numbers outside the range of a double, and for documents beyond the limits.
Json parse_json(std::string_view text, std::string_view what, const JsonLimits& limits = {});

// Reads the member `key`, a whole number in [low, high]; without the member it returns the default, if there is one.
int64_t whole_number(const Json& json, const char* key, int64_t low, int64_t high,
                     std::optional<int64_t> otherwise = {});

// Describes a value in an error message in about 80 bytes: scalars as JSON, lists and objects by their size.
std::string brief_value(const Json& value);
// Truncates a text without splitting a UTF-8 character; "..." marks the truncation.
std::string brief(std::string_view text, size_t max_bytes = 80);

}  // namespace fovea
