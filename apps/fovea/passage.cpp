#include "fovea/passage.h"

#include "base/error.h"
#include "base/files.h"
#include "text/utf8.h"

namespace fovea::app {

std::string read_passage(const std::string& path) {
  std::string text = read_file(path);
  const size_t invalid = find_invalid_utf8(text);
  check(invalid == std::string::npos, "{}: expected UTF-8, got an invalid byte at {}", path, invalid);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);  // a byte order mark
  return text;
}

}  // namespace fovea::app
