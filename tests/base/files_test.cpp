#include "base/files.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "gzip.h"
#include "support.h"
#include "temporary_folder.h"

namespace fovea {
namespace {

size_t files_in(const std::string& folder) {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

// Limits the size of files during its lifetime, which simulates a full disk.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SmallDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    static_cast<void>(std::signal(SIGXFSZ, handler_));
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(Files, WritesWhatIsReadBack) {
  const TemporaryFolder folder;
  const std::string path = folder.file("model"), bytes("a\0b\n\xFF", 5);
  write_file_atomically(path, bytes);
  EXPECT_EQ(read_file(path), bytes);
  write_file_atomically(path, "");
  EXPECT_EQ(read_file(path), "");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(Files, DecompressesGzip) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += std::to_string(i * 7919) + "\n";
  EXPECT_EQ(read_file(folder.file("one", gzip(text))), text);
  EXPECT_EQ(read_file(folder.file("members", gzip(text) + gzip("") + gzip("tail"))), text + "tail");
  EXPECT_EQ(read_file(folder.file("empty", gzip(""))), "");
  EXPECT_EQ(read_file(folder.file("not", "\x1F")), "\x1F");
}

TEST(Files, RefusesDamagedGzip) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += std::to_string(i * 7919) + "\n";
  const std::string whole = gzip(text);
  for (const size_t length : {size_t{2}, size_t{5}, size_t{12}, whole.size() / 2, whole.size() - 1}) {
    const std::string path = folder.file("truncated.gz", whole.substr(0, length));
    EXPECT_ERROR(read_file(path), path + ": the gzip file is truncated");
  }
  std::string damaged = whole;
  damaged[whole.size() / 2] ^= 0x55;
  EXPECT_ERROR(read_file(folder.file("damaged.gz", damaged)), "damaged.gz: the gzip file is damaged");
  EXPECT_ERROR(read_file(folder.file("tail.gz", gzip("a") + "no gzip")), "tail.gz: the gzip file is damaged");
}

TEST(Files, NamesWhatCannotBeRead) {
  const TemporaryFolder folder;
  EXPECT_ERROR(read_file(folder.file("none")), folder.file("none") + ": cannot open: No such file or directory");
  EXPECT_ERROR(read_file(folder.path()), folder.path() + ": expected a file, got a directory");
  EXPECT_ERROR(read_file(""), "cannot open");
}

TEST(Files, FullDiskKeepsTheOldFile) {
  const TemporaryFolder folder;
  const std::string path = folder.file("model", "old");
  {
    const SmallDisk disk(1000);
    EXPECT_ERROR(write_file_atomically(path, std::string(5000, 'x')),
                 path + ": cannot write: File too large; the existing file is unchanged");
    EXPECT_ERROR(write_file_atomically(folder.file("new"), std::string(5000, 'x')),
                 "new: cannot write: File too large");
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(Files, DevicesAreWrittenNotReplaced) {
  EXPECT_ERROR(write_file_atomically("/dev/full", "x"), "/dev/full: cannot write: No space left on device");
  struct stat about {};
  ASSERT_EQ(stat("/dev/full", &about), 0);
  EXPECT_TRUE(S_ISCHR(about.st_mode));
  write_file_atomically("/dev/null", "x");
  ASSERT_EQ(stat("/dev/null", &about), 0);
  EXPECT_TRUE(S_ISCHR(about.st_mode));
}

TEST(Files, WithoutCommitNothingHappened) {
  const TemporaryFolder folder;
  const std::string path = folder.file("model", "old");
  {
    AtomicFile file(path);
    file.write("half of the n");
    EXPECT_EQ(read_file(path), "old");
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(Files, NamesWhatCannotBeWritten) {
  const TemporaryFolder folder;
  EXPECT_ERROR(write_file_atomically(folder.path(), "x"), folder.path() + ": expected a file, got a directory");
  const std::string lost = folder.file("no/where");
  EXPECT_ERROR(write_file_atomically(lost, "x"), lost + ": cannot create: No such file or directory");
}

TEST(Files, StandardInputIsADash) {
  const TemporaryFolder folder;
  const int before = dup(STDIN_FILENO);
  const int file = open(folder.file("in", gzip("from afar")).c_str(), O_RDONLY);
  ASSERT_GE(dup2(file, STDIN_FILENO), 0);
  close(file);
  EXPECT_EQ(read_file("-"), "from afar");
  EXPECT_EQ(InputFile("-").name(), "standard input");
  if (before >= 0) {
    dup2(before, STDIN_FILENO);
    close(before);
  }
}

}  // namespace
}  // namespace fovea
