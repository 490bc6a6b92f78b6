#include "corpora/pairs.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/thousands.h"
#include "text/utf8.h"

namespace fovea {

namespace {

// The subtags of a language code in lower case: "zh_Hans-CN" is zh, hans, cn.
std::vector<std::string> subtags(std::string_view code) {
  std::vector<std::string> tags(1);
  for (const char c : code) {
    if (c == '-' || c == '_') {
      tags.emplace_back();
    } else {
      tags.back() += c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    }
  }
  return tags;
}

bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0xFEFF; }

}  // namespace

bool language_matches(std::string_view wanted, std::string_view code) {
  const std::vector<std::string> want = subtags(wanted), have = subtags(code);
  return want.size() <= have.size() && std::equal(want.begin(), want.end(), have.begin());
}

std::string one_line(std::string_view text) {
  std::string line;
  bool space = false;
  for (const auto& [value, begin, end] : code_points(text)) {
    if (is_space(value)) {
      space = true;
    } else if (!is_control(value)) {
      if (space && !line.empty()) line += ' ';
      space = false;
      line += text.substr(begin, end - begin);
    }
  }
  return line;
}

void ImportReport::saw_language(const std::string& code) {
  constexpr size_t kMostCodes = 100;  // a hostile file could name millions
  if (languages.size() < kMostCodes || languages.count(code) > 0) ++languages[code];
}

std::string ImportReport::text() const {
  std::string text = fmt::format("read {}", counted(pairs, "pair"));
  const char* separator = "; skipped: ";
  for (const auto& [reason, count] : skipped) {
    text += fmt::format("{}{} {}", separator, thousands(count), reason);
    separator = ", ";
  }
  return text;
}

void PairWriter::add(std::string_view source, std::string_view target, std::string place) {
  TextPair pair{one_line(source), one_line(target), std::move(place)};
  if (pair.source.empty() || pair.target.empty()) return report.skip("untranslated or empty");
  ++report.pairs;
  sink_.take(std::move(pair));
}

}  // namespace fovea
