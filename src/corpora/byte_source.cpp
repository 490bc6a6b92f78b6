#include "corpora/byte_source.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "base/thousands.h"

namespace fovea {

namespace {

// Counts the bytes that a file unpacks to.
class UnpackMeter {
 public:
  UnpackMeter(std::string name, int64_t packed, const UnpackLimits& limits)
      : name_(std::move(name)), packed_(packed), limits_(limits) {}
  void add(size_t bytes) {
    unpacked_ += static_cast<int64_t>(bytes);
    const bool too_much =
        unpacked_ > limits_.free &&
        static_cast<double>(unpacked_) > limits_.ratio * static_cast<double>(std::max<int64_t>(1, packed_));
    check(!too_much, "{}: expected text, got a file of {} bytes that unpacks to more than {} times as many", name_,
          thousands(packed_), limits_.ratio);
  }

 private:
  std::string name_;
  int64_t packed_, unpacked_ = 0;
  UnpackLimits limits_;
};

bool is_zip(const std::string& path) {
  std::error_code code;
  if (path == "-" || !std::filesystem::is_regular_file(path, code)) return false;
  char magic[4] = {};
  std::ifstream(path, std::ios::binary).read(magic, sizeof magic);
  const std::string_view found(magic, sizeof magic);
  return found == "PK\3\4" || found == "PK\5\6";
}

ByteSource metered(ByteSource source, const std::shared_ptr<UnpackMeter>& meter) {
  return {source.name, [read = std::move(source.read), meter](char* bytes, size_t most) {
            const size_t got = read(bytes, most);
            meter->add(got);
            return got;
          }};
}

ByteSource open_file(const std::string& path, const UnpackLimits& limits) {
  const auto file = std::make_shared<InputFile>(path);
  ByteSource source{file->name(), [file](char* bytes, size_t most) { return file->read(bytes, most); }};
  std::error_code code;
  const auto size = std::filesystem::file_size(path, code);
  if (code || path == "-") return source;  // of a pipe the size is not known
  // The ratio of a file that is not compressed is 1.
  return metered(std::move(source), std::make_shared<UnpackMeter>(path, static_cast<int64_t>(size), limits));
}

std::vector<InputEntry> list_archive(const std::string& path, const UnpackLimits& limits) {
  const auto archive = std::make_shared<ZipArchive>(path, limits);
  std::vector<InputEntry> entries;
  for (const ZipEntry& entry : archive->entries()) {
    const std::string name = archive->name_of(entry);
    entries.push_back({name, true, [archive, entry, name, limits] {
                         const auto meter =
                             std::make_shared<UnpackMeter>(name, static_cast<int64_t>(entry.packed), limits);
                         return metered(archive->open(entry), meter);
                       }});
  }
  return entries;
}

}  // namespace

std::vector<InputEntry> list_entries(const std::string& path, const UnpackLimits& limits) {
  if (is_zip(path)) return list_archive(path, limits);
  return {{path == "-" ? "standard input" : path, false, [path, limits] { return open_file(path, limits); }}};
}

std::string read_all(ByteSource source, size_t max_bytes) {
  std::string bytes;
  std::vector<char> block(size_t{1} << 16);
  while (const size_t got = source.read(block.data(), block.size())) {
    check(bytes.size() + got <= max_bytes, "{}: expected a file of at most {} bytes, got more", source.name,
          thousands(static_cast<int64_t>(max_bytes)));
    bytes.append(block.data(), got);
  }
  return bytes;
}

}  // namespace fovea
