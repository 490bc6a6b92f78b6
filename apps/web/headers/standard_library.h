// What C++20 has and the standard library of Debian's Emscripten lacks. Included before every source.
#pragma once

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>
#include <version>

namespace std {

#if __cplusplus > 201703L && !defined(__cpp_lib_bit_cast)
template <class To, class From> constexpr To bit_cast(const From& from) noexcept {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}
#endif

// The library converts integers only.
inline from_chars_result from_chars(const char* first, const char* last, double& value) {
  const string text(first, last);  // ends with a zero, as strtod needs it
  const size_t digits = !text.empty() && text[0] == '-' ? 1 : 0;
  const bool is_number = text.find_first_of("0123456789.in", digits) == digits;
  char* end = nullptr;
  const double parsed = is_number ? strtod(text.c_str(), &end) : 0.0;
  if (end == nullptr || end == text.c_str()) return {first, errc::invalid_argument};
  value = parsed;
  return {first + (end - text.c_str()), errc()};
}
inline from_chars_result from_chars(const char* first, const char* last, float& value) {
  double parsed = 0;
  const from_chars_result result = from_chars(first, last, parsed);
  if (result.ec == errc()) value = static_cast<float>(parsed);
  return result;
}

}  // namespace std
