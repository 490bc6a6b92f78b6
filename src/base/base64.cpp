#include "base/base64.h"

#include <array>
#include <cstdint>

namespace fovea {

namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<int8_t, 256> kValues = [] {
  std::array<int8_t, 256> values{};
  values.fill(-1);
  for (size_t i = 0; i < kAlphabet.size(); ++i)
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<int8_t>(i);
  return values;
}();

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](size_t k) {
      return i + k < bytes.size() ? static_cast<uint32_t>(static_cast<unsigned char>(bytes[i + k])) : 0u;
    };
    const uint32_t group = byte(0) << 16 | byte(1) << 8 | byte(2);
    text += kAlphabet[group >> 18];
    text += kAlphabet[group >> 12 & 63];
    text += i + 1 < bytes.size() ? kAlphabet[group >> 6 & 63] : '=';
    text += i + 2 < bytes.size() ? kAlphabet[group & 63] : '=';
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    uint32_t group = 0;
    for (size_t k = i; k < i + 4; ++k) {
      const bool padded = k >= text.size() - padding;
      const int8_t value = padded ? int8_t{0} : kValues[static_cast<unsigned char>(text[k])];
      if (value < 0) return std::nullopt;
      group = group << 6 | static_cast<uint32_t>(value);
    }
    bytes += static_cast<char>(group >> 16 & 255);
    bytes += static_cast<char>(group >> 8 & 255);
    bytes += static_cast<char>(group & 255);
  }
  bytes.resize(bytes.size() - padding);
  return bytes;
}

}  // namespace fovea
