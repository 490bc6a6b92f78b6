// Zip archives (PKWARE's APPNOTE.TXT 6.3), with zip64: files that are stored or deflated, read as a stream over zlib.
//
// A library would do it, too, but libzip brings a TLS library for encrypted archives, which every start of the program
// would have to load. Sizes and offsets of the archive are checked against the file, names must stay inside the
// archive, and the files must not overlap.
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

struct ZipEntry {
  std::string name;
  uint64_t packed = 0, unpacked = 0, offset = 0;  // bytes; of the local header
  uint32_t checksum = 0;
  uint16_t method = 0, flags = 0;
};

class ZipArchive : public std::enable_shared_from_this<ZipArchive> {
 public:
  // Throws an Error for what is not a zip archive, or beyond the limits.
  ZipArchive(std::string path, const UnpackLimits& limits);
  ~ZipArchive();
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  const std::vector<ZipEntry>& entries() const { return entries_; }
  std::string name_of(const ZipEntry& entry) const { return path_ + "/" + entry.name; }
  // Reads one file; keeps the archive open, and ignores the limit of the ratio. Reading throws an Error where the file
  // is damaged.
  ByteSource open(const ZipEntry& entry);

 private:
  friend class ZipEntryReader;
  std::string read_at(uint64_t offset, uint64_t bytes, std::string_view what) const;
  void read_directory(uint64_t offset, uint64_t bytes, uint64_t count);
  void count_unpacked(size_t bytes);

  std::string path_;
  UnpackLimits limits_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
  int64_t unpacked_ = 0;  // of all files that were read
  std::vector<ZipEntry> entries_;
};

}  // namespace fovea
