// Files as bytes: reading with gzip seen through, and writing that leaves either the whole new file or
// the old one. Errors name the file.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace fovea {

// Reads a file from its beginning; gzip is recognised by its first two bytes. "-" is standard input.
class InputFile {
 public:
  explicit InputFile(const std::string& path);  // Error when it is missing, unreadable or a directory
  ~InputFile();
  InputFile(InputFile&&) noexcept;
  InputFile& operator=(InputFile&&) noexcept;

  const std::string& name() const;
  // At most `most` bytes, as soon as there are some; 0 at the end. Error when the gzip data is cut off
  // or damaged.
  size_t read(char* bytes, size_t most);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string read_file(const std::string& path);

// A file under construction: written beside its place under another name, synced and renamed by
// commit(). Without commit, or when anything fails (a full disk), the old file stays as it was.
// A path to a device such as /dev/stdout is written directly.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  void commit();

 private:
  [[noreturn]] void give_up(std::string_view action, int code);

  std::string path_, temporary_;  // temporary_ is empty for a device
  int descriptor_ = -1;
};

void write_file_atomically(const std::string& path, std::string_view bytes);

}  // namespace fovea
