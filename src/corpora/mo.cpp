// gettext's MO: a header of 32-bit numbers in either byte order and two tables of (length, offset), one for the
// messages and one for their translations. "context EOT message NUL plural" is translated by "form NUL form ...".
#include <bit>
#include <cstring>

#include "base/error.h"
#include "corpora/gettext.h"
#include "corpora/readers.h"
#include "text/lines.h"
#include "text/utf8.h"

namespace fovea {

namespace {

constexpr size_t kMaxBytes = size_t{256} << 20;
constexpr uint32_t kMagic = 0x950412DE, kSwapped = 0xDE120495;

class MoFile {
 public:
  MoFile(std::string name, std::string bytes) : name_(std::move(name)), bytes_(std::move(bytes)) {
    check(bytes_.size() >= 28, "{}: expected a MO file, got one of {} bytes", name_, bytes_.size());
    const uint32_t magic = number(0);
    check(magic == kMagic || magic == kSwapped, "{}: expected a MO file, which begins with DE 12 04 95", name_);
    swapped_ = magic == kSwapped;
    check(number(4) >> 16 <= 1, "{}: expected a MO file of version 0 or 1, got {}", name_, number(4) >> 16);
  }
  uint32_t count() const { return number(8); }
  std::string_view message(uint32_t i) const { return text(number(12), i); }
  std::string_view translation(uint32_t i) const { return text(number(16), i); }

 private:
  uint32_t number(size_t at) const {
    check(at + 4 <= bytes_.size(), "{}: the file is truncated or damaged: it has no byte {}", name_, at + 4);
    uint32_t value;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return swapped_ ? __builtin_bswap32(value) : value;
  }
  std::string_view text(uint32_t table, uint32_t i) const {
    const size_t entry = size_t{table} + 8 * size_t{i};
    const size_t length = number(entry), offset = number(entry + 4);
    check(offset <= bytes_.size() && length <= bytes_.size() - offset,
          "{}: the file is truncated or damaged: string {} ends at byte {} of {}", name_, i + 1, offset + length,
          bytes_.size());
    check(length <= kMaxLineBytes, "{}: expected strings of at most {} bytes, got one of {}", name_, kMaxLineBytes,
          length);
    return std::string_view(bytes_).substr(offset, length);
  }

  std::string name_, bytes_;
  bool swapped_ = false;
};

std::vector<std::string> split_at_nul(std::string_view text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == '\0') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace

void read_mo(ByteSource source, PairWriter& writer) {
  const std::string name = source.name;
  const MoFile file(name, read_all(std::move(source), kMaxBytes));
  GettextWriter gettext(writer);
  // The empty message sorts first; entries may share bytes, so that a small file could have many long ones.
  size_t total = 0;
  for (uint32_t i = 0; i < file.count(); ++i) {
    const std::string place = fmt::format("{}:{}", name, i + 1);
    std::string_view message = file.message(i);
    const std::string_view translation = file.translation(i);
    total += message.size() + translation.size();
    check(total <= 2 * kMaxBytes, "{}: expected strings that do not overlap", name);
    check(find_invalid_utf8(message) == std::string_view::npos &&
              find_invalid_utf8(translation) == std::string_view::npos,
          "{}: not valid UTF-8", place);
    if (message.empty()) {
      gettext.read_header(translation, place);
      continue;
    }
    message.remove_prefix(std::min(message.find('\4') + 1, message.size()));  // the context
    const std::vector<std::string> forms = split_at_nul(message);
    gettext.add({.source = forms.front(),
                 .source_plural = forms.size() > 1 ? forms[1] : "",
                 .has_plural = forms.size() > 1,
                 .targets = split_at_nul(translation)},
                place);
  }
}

}  // namespace fovea
