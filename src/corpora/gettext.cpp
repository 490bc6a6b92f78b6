#include "corpora/gettext.h"

#include <algorithm>

#include "base/error.h"

namespace fovea {

namespace {

// The value of a header's line "Key: value".
std::string header_value(std::string_view header, std::string_view key) {
  size_t at = 0;
  while (at < header.size()) {
    const size_t end = std::min(header.find('\n', at), header.size());
    const std::string_view line = header.substr(at, end - at);
    if (line.starts_with(key) && line.substr(key.size()).starts_with(":")) {
      return one_line(line.substr(key.size() + 1));
    }
    at = end + 1;
  }
  return "";
}

}  // namespace

void GettextWriter::read_header(std::string_view header, const std::string& place) {
  const std::string type = header_value(header, "Content-Type");
  constexpr std::string_view kCharset = "charset=";
  if (const size_t at = type.find(kCharset); at != std::string::npos) {
    std::string charset = type.substr(at + kCharset.size());
    std::transform(charset.begin(), charset.end(), charset.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    // The template of xgettext has the word CHARSET.
    check(
        charset == "UTF-8" || charset == "UTF8" || charset == "US-ASCII" || charset == "ASCII" || charset == "CHARSET",
        "{}: expected the charset UTF-8, got {}; msgconv --to-code=UTF-8 converts it", place, charset);
  }
  language_ = header_value(header, "Language");
  const std::string& wanted = writer_.options.target_language;
  if (wanted.empty() || language_.empty() || language_matches(wanted, language_)) return;
  const bool is_source =
      !writer_.options.source_language.empty() && language_matches(writer_.options.source_language, language_);
  check(!is_source, "{}: expected a file that translates to {}, got one to {}, which is the source language", place,
        wanted, language_);
}

void GettextWriter::add(const GettextMessage& message, const std::string& place) {
  const std::string& wanted = writer_.options.target_language;
  if (!language_.empty()) writer_.report.saw_language(language_);
  if (!wanted.empty() && !language_.empty() && !language_matches(wanted, language_)) {
    return writer_.report.skip("without both languages");
  }
  for (size_t i = 0; i < message.targets.size(); ++i) {
    const bool plural = message.has_plural && (i > 0 || message.targets.size() == 1);
    writer_.add(plural ? message.source_plural : message.source, message.targets[i], place);
  }
}

}  // namespace fovea
