// Reads text files: UTF-8, one sentence per line, plain or gzip; parallel text is two files or one TSV.
// Errors name the file and the line.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace fovea {

constexpr size_t kMaxLineBytes = 1'000'000;

// Reads a file line by line. A line ends at \n; a \r before it and a byte order mark at the start of the file are
// removed. "-" is standard input.
class LineReader {
 public:
  explicit LineReader(const std::string& path, size_t max_bytes = kMaxLineBytes);
  // Reads what `read` returns, which fills a buffer as InputFile::read does; errors call it `name`.
  using ReadBytes = std::function<size_t(char* bytes, size_t max_bytes)>;
  LineReader(std::string name, ReadBytes read, size_t max_bytes = kMaxLineBytes);
  // Returns false at the end. Throws an Error for invalid UTF-8, a NUL byte or a line that is too long.
  bool next(std::string& line);
  int64_t line_number() const { return line_number_; }  // of the last line read, from 1
  std::string place() const;                            // "file:line"

 private:
  bool refill();
  bool read_raw(std::string& line);

  std::string name_;
  ReadBytes read_;
  size_t max_bytes_;
  std::vector<char> block_;
  size_t begin_ = 0, end_ = 0;
  int64_t line_number_ = 0;
};

// Reads all lines. Throws an Error if there are none, or if all of them are empty.
std::vector<std::string> read_lines(const std::string& path, size_t max_bytes = kMaxLineBytes);

// Line i of the source is translated by line i of the target.
struct ParallelLines {
  std::vector<std::string> source, target;
};

ParallelLines read_parallel(const std::string& source_path, const std::string& target_path,
                            size_t max_bytes = kMaxLineBytes);
// Reads two columns separated by a tab.
ParallelLines read_tsv(const std::string& path, size_t max_bytes = kMaxLineBytes);

}  // namespace fovea
