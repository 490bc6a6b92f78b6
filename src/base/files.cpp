#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"

namespace fovea {

namespace {

constexpr size_t kBlock = size_t{1} << 16;
constexpr unsigned char kGzipMagic[] = {0x1F, 0x8B};

std::string reason(int code) { return std::generic_category().message(code); }

// read(2), repeated if a signal interrupts it.
ssize_t read_some(int descriptor, char* bytes, size_t max_bytes) {
  ssize_t got;
  do {
    got = ::read(descriptor, bytes, max_bytes);
  } while (got < 0 && errno == EINTR);
  return got;
}

// Syncs the folder, so that the name of a new file survives a power failure. Errors are ignored: some file systems
// cannot sync folders and do not need to.
void sync_folder(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

struct InputFile::State {
  std::string name;
  int descriptor = -1;
  std::vector<char> block = std::vector<char>(kBlock);
  size_t begin = 0, end = 0;  // the unread bytes of the block
  bool gzip = false;
  bool between = false;  // a gzip member has ended; the file ends here or another member follows
  z_stream inflater{};

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (gzip) inflateEnd(&inflater);
    if (descriptor > STDIN_FILENO) ::close(descriptor);
  }

  // Appends bytes to the block; false at the end of the file.
  bool fill() {
    if (begin == end) begin = end = 0;
    const ssize_t got = read_some(descriptor, block.data() + end, block.size() - end);
    check(got >= 0, "{}: cannot read: {}", name, reason(errno));
    end += static_cast<size_t>(got);
    return got > 0;
  }

  // Reads as few bytes as possible, so that a short line typed in a terminal is not held back.
  void detect_gzip() {
    while (end < std::size(kGzipMagic) && std::memcmp(block.data(), kGzipMagic, end) == 0) {
      if (!fill()) break;
    }
    if (end < std::size(kGzipMagic) || std::memcmp(block.data(), kGzipMagic, std::size(kGzipMagic)) != 0) return;
    check(inflateInit2(&inflater, 15 + 16) == Z_OK, "{}: cannot initialise zlib", name);
    gzip = true;
  }

  size_t read_plain(char* bytes, size_t max_bytes) {
    if (begin == end && !fill()) return 0;
    const size_t count = std::min(max_bytes, end - begin);
    std::memcpy(bytes, block.data() + begin, count);
    begin += count;
    return count;
  }

  size_t read_gzip(char* bytes, size_t max_bytes) {
    inflater.next_out = reinterpret_cast<Bytef*>(bytes);
    inflater.avail_out = static_cast<uInt>(std::min(max_bytes, kBlock));
    const uInt room = inflater.avail_out;
    while (inflater.avail_out == room) {
      if (begin == end && !fill()) {
        check(between, "{}: the gzip file is truncated", name);
        return 0;
      }
      if (between) inflateReset(&inflater);
      between = false;
      inflater.next_in = reinterpret_cast<Bytef*>(block.data() + begin);
      inflater.avail_in = static_cast<uInt>(end - begin);
      const int code = inflate(&inflater, Z_NO_FLUSH);
      begin = end - inflater.avail_in;
      check(code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR, "{}: the gzip file is damaged ({})", name,
            inflater.msg ? inflater.msg : "zlib failed");
      between = code == Z_STREAM_END;
    }
    return room - inflater.avail_out;
  }
};

InputFile::InputFile(const std::string& path) : state_(std::make_unique<State>()) {
  const bool standard = path == "-";
  state_->name = standard ? "standard input" : path;
  state_->descriptor = standard ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  check(state_->descriptor >= 0, "{}: cannot open: {}", path, reason(errno));
  struct stat about {};
  check(::fstat(state_->descriptor, &about) == 0, "{}: cannot open: {}", path, reason(errno));
  check(!S_ISDIR(about.st_mode), "{}: expected a file, got a directory", state_->name);
  state_->detect_gzip();
}

InputFile::~InputFile() = default;
InputFile::InputFile(InputFile&&) noexcept = default;
InputFile& InputFile::operator=(InputFile&&) noexcept = default;

const std::string& InputFile::name() const { return state_->name; }

size_t InputFile::read(char* bytes, size_t max_bytes) {
  return state_->gzip ? state_->read_gzip(bytes, max_bytes) : state_->read_plain(bytes, max_bytes);
}

std::string read_file(const std::string& path) {
  InputFile file(path);
  std::string bytes;
  std::vector<char> block(kBlock);
  while (const size_t got = file.read(block.data(), block.size())) bytes.append(block.data(), got);
  return bytes;
}

AtomicFile::AtomicFile(const std::string& path) : path_(path) {
  struct stat about {};
  const bool exists = ::stat(path.c_str(), &about) == 0;
  check(!exists || !S_ISDIR(about.st_mode), "{}: expected a file, got a directory", path);
  const bool device = exists && !S_ISREG(about.st_mode);
  if (!device) temporary_ = fmt::format("{}.{}.tmp", path, ::getpid());
  const int flags = O_WRONLY | O_CLOEXEC | (device ? 0 : O_CREAT | O_TRUNC);
  descriptor_ = ::open((device ? path_ : temporary_).c_str(), flags, 0666);
  if (descriptor_ < 0) fail("{}: cannot create: {}", path, reason(errno));
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::give_up(std::string_view action, int code) {
  fail("{}: cannot {}: {}{}", path_, action, reason(code),
       temporary_.empty() || ::access(path_.c_str(), F_OK) != 0 ? "" : "; the existing file is unchanged");
}

void AtomicFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) give_up("write", errno);
    bytes.remove_prefix(static_cast<size_t>(done));
  }
}

void AtomicFile::commit() {
  if (!temporary_.empty() && ::fsync(descriptor_) != 0) give_up("write", errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) give_up("write", errno);
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) give_up("rename", errno);
  temporary_.clear();
  sync_folder(path_);
}

void write_file_atomically(const std::string& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace fovea
