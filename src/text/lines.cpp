#include "text/lines.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/error.h"
#include "text/utf8.h"

namespace fovea {

namespace {

constexpr size_t kBlock = size_t{1} << 16;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

void check_not_empty(const std::string& path, const std::vector<std::string>& lines) {
  const std::string name = path == "-" ? "standard input" : path;
  check(!lines.empty(), "{}: expected text, got an empty file", name);
  const bool any = std::any_of(lines.begin(), lines.end(), [](const std::string& line) { return !line.empty(); });
  check(any, "{}: expected text, got {} empty line{}", name, lines.size(), lines.size() == 1 ? "" : "s");
}

}  // namespace

LineReader::LineReader(std::string name, ReadBytes read, size_t max_bytes)
    : name_(std::move(name)), read_(std::move(read)), max_bytes_(max_bytes), block_(kBlock) {}

LineReader::LineReader(const std::string& path, size_t max_bytes) : max_bytes_(max_bytes), block_(kBlock) {
  const auto file = std::make_shared<InputFile>(path);
  name_ = file->name();
  read_ = [file](char* bytes, size_t most) { return file->read(bytes, most); };
}

std::string LineReader::place() const { return fmt::format("{}:{}", name_, line_number_); }

bool LineReader::refill() {
  try {
    begin_ = 0;
    end_ = read_(block_.data(), block_.size());
    return end_ > 0;
  } catch (const Error& error) {
    fail("{} (line {})", error.what(), line_number_);
  }
}

// Reads up to a \n or the end of the file.
bool LineReader::read_raw(std::string& line) {
  line.clear();
  ++line_number_;
  while (true) {
    if (begin_ == end_ && !refill()) return !line.empty();
    const char* from = block_.data() + begin_;
    const auto* newline = static_cast<const char*>(std::memchr(from, '\n', end_ - begin_));
    const size_t count = newline ? static_cast<size_t>(newline - from) : end_ - begin_;
    // One more byte is allowed for a \r, which is removed later.
    check(line.size() + count <= max_bytes_ + 1, "{}: expected a line of at most {} bytes, got more", place(),
          max_bytes_);
    line.append(from, count);
    begin_ += count + (newline ? 1 : 0);
    if (newline) return true;
  }
}

bool LineReader::next(std::string& line) {
  if (!read_raw(line)) {
    --line_number_;
    return false;
  }
  if (line.ends_with('\r')) line.pop_back();
  if (line_number_ == 1 && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
  check(line.size() <= max_bytes_, "{}: expected a line of at most {} bytes, got more", place(), max_bytes_);
  const size_t bad = find_invalid_utf8(line);
  if (bad != std::string::npos) {
    fail("{}: not valid UTF-8: byte 0x{:02X} at position {}", place(), static_cast<unsigned char>(line[bad]), bad + 1);
  }
  const size_t nul = line.find('\0');
  check(nul == std::string::npos, "{}: expected text, got a NUL byte at position {}", place(), nul + 1);
  return true;
}

std::vector<std::string> read_lines(const std::string& path, size_t max_bytes) {
  LineReader reader(path, max_bytes);
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) lines.push_back(line);
  check_not_empty(path, lines);
  return lines;
}

ParallelLines read_parallel(const std::string& source_path, const std::string& target_path, size_t max_bytes) {
  ParallelLines lines{read_lines(source_path, max_bytes), read_lines(target_path, max_bytes)};
  check(lines.source.size() == lines.target.size(), "corpus: expected as many lines in {} as in {}, got {} and {}",
        target_path, source_path, lines.target.size(), lines.source.size());
  return lines;
}

ParallelLines read_tsv(const std::string& path, size_t max_bytes) {
  LineReader reader(path, max_bytes);
  ParallelLines lines;
  for (std::string line; reader.next(line);) {
    const auto columns = 1 + std::count(line.begin(), line.end(), '\t');
    check(columns == 2, "{}: expected two columns separated by a tab, got {} column{}", reader.place(), columns,
          columns == 1 ? "" : "s");
    const size_t tab = line.find('\t');
    lines.source.push_back(line.substr(0, tab));
    lines.target.push_back(line.substr(tab + 1));
  }
  check_not_empty(path, lines.source);
  check_not_empty(path, lines.target);
  return lines;
}

}  // namespace fovea
