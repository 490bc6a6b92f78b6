#include "base/json.h"

#include <algorithm>
#include <vector>

#include "base/error.h"

namespace fovea {

namespace {

// The position of a byte, such as "line 3, column 14", both counted from 1.
std::string position(std::string_view text, size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return fmt::format("line {}, column {}", std::count(before.begin(), before.end(), '\n') + 1,
                     before.size() - line_start + 1);
}

// Counts brackets and members before any value is built. The scan and the parser agree on where strings end up to the
// first syntax error, and the parser stops there, so no parsed value exceeds the limits.
void check_limits(std::string_view text, std::string_view what, const JsonLimits& limits) {
  std::vector<int64_t> colons;  // for every open bracket, the colons directly inside it
  int64_t commas = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    switch (c) {
      case '"': in_string = true; break;
      case '[':
      case '{':
        if (std::ssize(colons) >= limits.depth) {
          fail("{}: expected JSON nested at most {} levels deep, got more at {}", what, limits.depth,
               position(text, i));
        }
        colons.push_back(0);
        break;
      case ']':
      case '}':
        if (!colons.empty()) colons.pop_back();
        break;
      case ':':
        if (!colons.empty() && ++colons.back() > limits.members) {
          fail("{}: expected JSON objects of at most {} members, got more at {}", what, limits.members,
               position(text, i));
        }
        break;
      case ',':
        if (++commas >= limits.values) {
          fail("{}: expected JSON of at most {} values, got more at {}", what, limits.values, position(text, i));
        }
        break;
      default: break;
    }
  }
}

}  // namespace

Json parse_json(std::string_view text, std::string_view what, const JsonLimits& limits) {
  check_limits(text, what, limits);
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    // The parser counts bytes from 1 and reports the end of the text as one past it.
    fail("{}: expected JSON in UTF-8, got a syntax error at {}", what,
         position(text, error.byte > 0 ? error.byte - 1 : 0));
  } catch (const Json::out_of_range&) {
    fail("{}: expected numbers between -1.8e308 and 1.8e308, got one outside", what);
  }
}

int64_t whole_number(const Json& json, const char* key, int64_t low, int64_t high, std::optional<int64_t> otherwise) {
  if (otherwise && !json.contains(key)) return *otherwise;
  const Json& value = json.at(key);
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() || value.get<uint64_t>() <= static_cast<uint64_t>(high)) &&
                    value.get<int64_t>() >= low && value.get<int64_t>() <= high;
  check(fits, "expected {} to be a whole number from {} to {}, got {}", key, low, high, brief_value(value));
  return value.get<int64_t>();
}

std::string brief_value(const Json& value) {
  if (value.is_array()) return fmt::format("a list of {}", value.size());
  if (value.is_object()) return fmt::format("an object of {} members", value.size());
  if (value.is_string()) return fmt::format("\"{}\"", brief(value.get_ref<const std::string&>()));
  return value.dump();
}

std::string brief(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u) --end;
  return std::string(text.substr(0, end)) + "...";
}

}  // namespace fovea
