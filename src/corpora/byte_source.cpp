// Zip archives are read by libzip, which knows zip64, checks checksums and is kept up to date by Debian.
#include "corpora/byte_source.h"

#include <zip.h>

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

ByteSource open_file(const std::string& path, const UnpackLimits& limits) {
  const auto file = std::make_shared<InputFile>(path);
  std::error_code code;
  const auto size = std::filesystem::file_size(path, code);
  if (code || path == "-") {
    return {file->name(), [file](char* bytes, size_t most) { return file->read(bytes, most); }};
  }
  // The ratio of a file that is not compressed is 1.
  const auto meter = std::make_shared<UnpackMeter>(path, static_cast<int64_t>(size), limits);
  return {file->name(), [file, meter](char* bytes, size_t most) {
            const size_t got = file->read(bytes, most);
            meter->add(got);
            return got;
          }};
}

// An archive that is open as long as one of its entries is listed.
class ZipArchive {
 public:
  ZipArchive(std::string path, const UnpackLimits& limits) : path_(std::move(path)), limits_(limits) {
    int code = 0;
    archive_ = zip_open(path_.c_str(), ZIP_RDONLY, &code);
    if (archive_ != nullptr) return;
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    fail("{}: cannot read the zip archive: {}", path_, reason);
  }
  ~ZipArchive() { zip_discard(archive_); }
  ZipArchive(const ZipArchive&) = delete;
  ZipArchive& operator=(const ZipArchive&) = delete;

  int64_t size() const { return zip_get_num_entries(archive_, 0); }
  const std::string& path() const { return path_; }
  zip_stat_t about(int64_t index) const {
    zip_stat_t about;
    zip_stat_init(&about);
    const bool ok = zip_stat_index(archive_, static_cast<zip_uint64_t>(index), ZIP_FL_ENC_GUESS, &about) == 0;
    check(ok && about.name != nullptr, "{}: cannot read entry {} of the archive: {}", path_, index + 1, reason());
    return about;
  }
  size_t read(zip_file_t* file, const std::string& name, char* bytes, size_t most) {
    const zip_int64_t got = zip_fread(file, bytes, most);
    check(got >= 0, "{}: the archive is damaged here: {}", name, zip_file_strerror(file));
    total_ += got;
    check(total_ <= limits_.total, "{}: expected an archive of at most {} bytes of text, got more", path_,
          thousands(limits_.total));
    return static_cast<size_t>(got);
  }
  std::shared_ptr<zip_file_t> open(int64_t index, const std::string& name) {
    zip_file_t* file = zip_fopen_index(archive_, static_cast<zip_uint64_t>(index), 0);
    check(file != nullptr, "{}: cannot be read: {}", name, reason());
    return {file, zip_fclose};
  }

 private:
  std::string reason() const { return zip_strerror(archive_); }

  std::string path_;
  UnpackLimits limits_;
  zip_t* archive_ = nullptr;
  int64_t total_ = 0;
};

// Nothing is written by these names, but an archive that tries is not one to learn from.
void check_name(const std::string& archive, const std::string& name) {
  const std::filesystem::path path(name);
  const bool climbs = std::find(path.begin(), path.end(), "..") != path.end();
  const bool absolute = name.starts_with('/') || name.find('\\') != std::string::npos || name.find(':') == 1;
  check(!climbs && !absolute, "{}: expected names of files inside the archive, got \"{}\"", archive, name);
}

std::vector<InputEntry> list_archive(const std::string& path, const UnpackLimits& limits) {
  const auto archive = std::make_shared<ZipArchive>(path, limits);
  check(archive->size() <= limits.entries, "{}: expected an archive of at most {} files, got {}", path, limits.entries,
        archive->size());
  std::vector<InputEntry> entries;
  for (int64_t i = 0; i < archive->size(); ++i) {
    const zip_stat_t about = archive->about(i);
    const std::string inside = about.name, name = path + "/" + inside;
    check_name(path, inside);
    if (inside.ends_with('/')) continue;  // a folder
    check((about.valid & ZIP_STAT_ENCRYPTION_METHOD) == 0 || about.encryption_method == ZIP_EM_NONE,
          "{}: expected a file without a password, got an encrypted one", name);
    const auto packed = static_cast<int64_t>(about.comp_size);
    entries.push_back({name, true, [archive, i, name, packed, limits] {
                         const auto file = archive->open(i, name);
                         const auto meter = std::make_shared<UnpackMeter>(name, packed, limits);
                         return ByteSource{name, [archive, file, name, meter](char* bytes, size_t most) {
                                             const size_t got = archive->read(file.get(), name, bytes, most);
                                             meter->add(got);
                                             return got;
                                           }};
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
