#include "text/zip.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/json.h"
#include "base/thousands.h"
#include "text/utf8.h"

namespace fovea {

namespace {

constexpr uint64_t kEndBytes = 22, kLocatorBytes = 20, kEnd64Bytes = 56, kHeaderBytes = 46, kLocalBytes = 30;
constexpr uint64_t kMaxComment = 65'535, kMaxDirectory = uint64_t{128} << 20;
constexpr uint16_t kStored = 0, kDeflated = 8, kEncrypted = 1;
constexpr uint32_t kIn64 = 0xFFFFFFFF;  // the number is in a zip64 field

// A little-endian number of so many bytes. The caller has checked that they are there.
uint64_t number(std::string_view bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value |= uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return value;
}
uint16_t number16(std::string_view bytes, size_t at) { return static_cast<uint16_t>(number(bytes, at, 2)); }
uint32_t number32(std::string_view bytes, size_t at) { return static_cast<uint32_t>(number(bytes, at, 4)); }

// Nothing is written by these names, but an archive that tries is not one to learn from.
void check_name(const std::string& archive, const std::string& name) {
  check(find_invalid_utf8(name) == std::string::npos && name.find('\0') == std::string::npos,
        "{}: expected names in UTF-8 in the archive", archive);
  const std::filesystem::path path(name);
  const bool climbs = std::find(path.begin(), path.end(), "..") != path.end();
  const bool absolute = name.starts_with('/') || name.find('\\') != std::string::npos || name.find(':') == 1;
  check(!climbs && !absolute, "{}: expected names of files inside the archive, got \"{}\"", archive, brief(name));
}

// Sizes above 4 GB are in the extra field 1, in this order, each only if its own field says so.
void read_zip64(std::string_view extra, ZipEntry& entry) {
  for (size_t at = 0; at + 4 <= extra.size();) {
    const size_t length = number16(extra, at + 2), end = at + 4 + length;
    if (end > extra.size()) return;
    if (number16(extra, at) == 1) {
      size_t next = at + 4;
      for (uint64_t* value : {&entry.unpacked, &entry.packed, &entry.offset}) {
        if (*value != kIn64 || next + 8 > end) continue;
        *value = number(extra, next, 8);
        next += 8;
      }
      return;
    }
    at = end;
  }
}

}  // namespace

ZipArchive::ZipArchive(std::string path, const UnpackLimits& limits) : path_(std::move(path)), limits_(limits) {
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  check(descriptor_ >= 0, "{}: cannot open: {}", path_, std::generic_category().message(errno));
  struct stat about {};
  check(::fstat(descriptor_, &about) == 0, "{}: cannot open: {}", path_, std::generic_category().message(errno));
  size_ = static_cast<uint64_t>(about.st_size);
  // The last record is followed by a comment of any length.
  const uint64_t tail = std::min(size_, kEndBytes + kMaxComment);
  const std::string end = read_at(size_ - tail, tail, "end");
  const size_t at = end.rfind("PK\5\6");
  check(at != std::string::npos && at + kEndBytes <= end.size(),
        "{}: the zip archive is truncated or damaged: it has no end", path_);
  uint64_t count = number16(end, at + 10), bytes = number32(end, at + 12), offset = number32(end, at + 16);
  const bool large = count == 0xFFFF || bytes == kIn64 || offset == kIn64;
  if (large && at >= kLocatorBytes && end.compare(at - kLocatorBytes, 4, "PK\6\7") == 0) {
    const std::string end64 = read_at(number(end, at - kLocatorBytes + 8, 8), kEnd64Bytes, "zip64 end");
    check(end64.starts_with("PK\6\6"), "{}: the zip archive is damaged: it has no zip64 end", path_);
    count = number(end64, 32, 8);
    bytes = number(end64, 40, 8);
    offset = number(end64, 48, 8);
  }
  read_directory(offset, bytes, count);
}

ZipArchive::~ZipArchive() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string ZipArchive::read_at(uint64_t offset, uint64_t bytes, std::string_view what) const {
  check(offset <= size_ && bytes <= size_ - offset,
        "{}: the zip archive is truncated or damaged: its {} is outside of it", path_, what);
  std::string read(bytes, '\0');
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t got = ::pread(descriptor_, read.data() + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    check(got > 0, "{}: cannot read: {}", path_,
          got < 0 ? std::generic_category().message(errno) : "it became shorter");
    done += static_cast<uint64_t>(got);
  }
  return read;
}

void ZipArchive::read_directory(uint64_t offset, uint64_t bytes, uint64_t count) {
  check(count <= static_cast<uint64_t>(limits_.entries), "{}: expected an archive of at most {} files, got {}", path_,
        limits_.entries, count);
  check(bytes <= kMaxDirectory, "{}: expected a directory of at most {} bytes in the archive, got {}", path_,
        kMaxDirectory, bytes);
  const std::string directory = read_at(offset, bytes, "directory");
  uint64_t packed = 0;
  size_t at = 0;
  for (uint64_t i = 0; i < count; ++i) {
    check(at + kHeaderBytes <= directory.size() && directory.compare(at, 4, "PK\1\2") == 0,
          "{}: the zip archive is damaged: expected {} files, got {}", path_, count, i);
    ZipEntry entry{.packed = number32(directory, at + 20),
                   .unpacked = number32(directory, at + 24),
                   .offset = number32(directory, at + 42),
                   .checksum = number32(directory, at + 16),
                   .method = number16(directory, at + 10),
                   .flags = number16(directory, at + 8)};
    const size_t name = number16(directory, at + 28), extra = number16(directory, at + 30),
                 comment = number16(directory, at + 32);
    at += kHeaderBytes;
    check(name + extra + comment <= directory.size() - at, "{}: the zip archive is damaged: a name is outside of it",
          path_);
    entry.name = directory.substr(at, name);
    read_zip64(std::string_view(directory).substr(at + name, extra), entry);
    at += name + extra + comment;
    check_name(path_, entry.name);
    // Files that share bytes would let a small archive hold any number of them.
    check(entry.packed <= size_ - packed, "{}: the zip archive is damaged: its files overlap", path_);
    packed += entry.packed;
    if (!entry.name.ends_with('/')) entries_.push_back(std::move(entry));
  }
}

void ZipArchive::count_unpacked(size_t bytes) {
  unpacked_ += static_cast<int64_t>(bytes);
  check(unpacked_ <= limits_.total, "{}: expected an archive of at most {} bytes of text, got more", path_,
        thousands(limits_.total));
}

class ZipEntryReader {
 public:
  ZipEntryReader(std::shared_ptr<ZipArchive> archive, ZipEntry entry)
      : archive_(std::move(archive)), entry_(std::move(entry)), name_(archive_->name_of(entry_)) {
    check((entry_.flags & kEncrypted) == 0, "{}: expected a file without a password, got an encrypted one", name_);
    check(entry_.method == kStored || entry_.method == kDeflated,
          "{}: expected a file that is stored or deflated, got the compression method {}", name_, entry_.method);
    const std::string local = archive_->read_at(entry_.offset, kLocalBytes, "file");
    check(local.starts_with("PK\3\4"), "{}: the zip archive is damaged: the file is not where it should be", name_);
    next_ = entry_.offset + kLocalBytes + number16(local, 26) + number16(local, 28);
    left_ = entry_.packed;
    check(inflateInit2(&inflater_, -15) == Z_OK, "{}: cannot initialise zlib", name_);
  }
  ~ZipEntryReader() { inflateEnd(&inflater_); }
  ZipEntryReader(const ZipEntryReader&) = delete;
  ZipEntryReader& operator=(const ZipEntryReader&) = delete;

  size_t read(char* bytes, size_t most) {
    const size_t got = entry_.method == kStored ? read_stored(bytes, most) : read_deflated(bytes, most);
    checksum_ = static_cast<uint32_t>(crc32(checksum_, reinterpret_cast<const Bytef*>(bytes), static_cast<uInt>(got)));
    unpacked_ += got;
    check(got > 0 || most == 0 || (checksum_ == entry_.checksum && unpacked_ == entry_.unpacked),
          "{}: the archive is damaged here: the checksum is wrong", name_);
    archive_->count_unpacked(got);
    return got;
  }

 private:
  std::string fetch(size_t most) {
    const uint64_t bytes = std::min<uint64_t>(left_, most);
    std::string block = archive_->read_at(next_, bytes, "file");
    next_ += bytes;
    left_ -= bytes;
    return block;
  }
  size_t read_stored(char* bytes, size_t most) {
    const std::string block = fetch(most);
    std::copy(block.begin(), block.end(), bytes);
    return block.size();
  }
  size_t read_deflated(char* bytes, size_t most) {
    constexpr size_t kBlock = size_t{1} << 16;
    const auto room = static_cast<uInt>(std::min(most, kBlock));
    inflater_.next_out = reinterpret_cast<Bytef*>(bytes);
    inflater_.avail_out = room;
    while (!ended_ && inflater_.avail_out == room) {
      if (inflater_.avail_in == 0) {
        block_ = fetch(kBlock);
        check(!block_.empty(), "{}: the archive is damaged here: the file is truncated", name_);
        inflater_.next_in = reinterpret_cast<Bytef*>(block_.data());
        inflater_.avail_in = static_cast<uInt>(block_.size());
      }
      const int code = inflate(&inflater_, Z_NO_FLUSH);
      check(code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR, "{}: the archive is damaged here ({})", name_,
            inflater_.msg != nullptr ? inflater_.msg : "zlib failed");
      ended_ = code == Z_STREAM_END;
    }
    return room - inflater_.avail_out;
  }

  std::shared_ptr<ZipArchive> archive_;
  ZipEntry entry_;
  std::string name_, block_;
  uint64_t next_ = 0, left_ = 0, unpacked_ = 0;
  uint32_t checksum_ = 0;
  bool ended_ = false;
  z_stream inflater_{};
};

ByteSource ZipArchive::open(const ZipEntry& entry) {
  const auto reader = std::make_shared<ZipEntryReader>(shared_from_this(), entry);
  return {name_of(entry), [reader](char* bytes, size_t most) { return reader->read(bytes, most); }};
}

}  // namespace fovea
