// Bytes of a corpus file: plain, from gzip or from a zip archive, within limits that stop files which unpack to far
// more than any text does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace fovea {

// What a compressed file may unpack to.
struct UnpackLimits {
  // Of unpacked to packed bytes, once more than `free` bytes are unpacked. XML with much repetition reaches 50; deflate
  // reaches 1,032 with nothing but repetition.
  double ratio = 250;
  int64_t free = int64_t{16} << 20;
  int64_t total = 100'000'000'000;  // of an archive
  int64_t entries = 100'000;        // of an archive
};

// A file that is read once, from its begin to its end.
struct ByteSource {
  std::string name;  // for messages
  // Fills the buffer with at most `max_bytes` and returns their number; 0 at the end.
  std::function<size_t(char* bytes, size_t max_bytes)> read;
};

// A file as it is listed: opened when it is read.
struct InputEntry {
  std::string name;  // for messages; of a file in an archive "archive.zip/file"
  bool in_archive = false;
  std::function<ByteSource()> open;
};

// The file itself, or the files of a zip archive, which is recognised by its first bytes. Throws an Error for names in
// an archive that lead out of it, encrypted files and archives beyond the limits.
std::vector<InputEntry> list_entries(const std::string& path, const UnpackLimits& limits = {});

// The whole contents; an Error if they are longer than `max_bytes`.
std::string read_all(ByteSource source, size_t max_bytes);

}  // namespace fovea
