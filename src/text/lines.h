// Text as people keep it: UTF-8, a sentence a line, plain or gzip, one side a file or both in a TSV.
// Whatever is wrong with it is an Error that names the file and the line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace fovea {

constexpr size_t kMaxLineBytes = 1'000'000;

// Reads line after line. A line ends at \n, and a \r before it is dropped, as is a byte order mark at the
// beginning. "-" is standard input.
class LineReader {
 public:
  explicit LineReader(const std::string& path, size_t most_bytes = kMaxLineBytes);
  // False at the end. Error for invalid UTF-8, a NUL byte and a line that is too long.
  bool next(std::string& line);
  int64_t line_number() const { return line_number_; }  // of the line read last, from 1
  std::string place() const;                            // "file:line"

 private:
  bool refill();
  bool read_raw(std::string& line);

  InputFile file_;
  size_t most_bytes_;
  std::vector<char> block_;
  size_t begin_ = 0, end_ = 0;
  int64_t line_number_ = 0;
};

// All lines; Error when there are none, or only empty ones.
std::vector<std::string> read_lines(const std::string& path, size_t most_bytes = kMaxLineBytes);

// Line i of one side belongs to line i of the other.
struct ParallelLines {
  std::vector<std::string> source, target;
};

ParallelLines read_parallel(const std::string& source_path, const std::string& target_path,
                            size_t most_bytes = kMaxLineBytes);
// Two columns with a tab between them.
ParallelLines read_tsv(const std::string& path, size_t most_bytes = kMaxLineBytes);

}  // namespace fovea
