// Reads files, decompressing gzip transparently, and writes files atomically: after a failure the old file is
// unchanged. Errors name the file.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace fovea {

// Reads a file sequentially. Gzip is recognised by its first two bytes. "-" is standard input.
class InputFile {
 public:
  explicit InputFile(const std::string& path);  // throws an Error if it is missing, unreadable or a directory
  ~InputFile();
  InputFile(InputFile&&) noexcept;
  InputFile& operator=(InputFile&&) noexcept;

  const std::string& name() const;
  // Reads at most `max_bytes` and returns as soon as some are available; 0 at the end of the file. Throws an Error if
  // the gzip data is truncated or damaged.
  size_t read(char* bytes, size_t max_bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string read_file(const std::string& path);

// Writes a file under a temporary name in the same folder; commit() syncs and renames it. Without commit(), or if
// anything fails (a full disk), the old file is unchanged. Devices such as /dev/stdout are written directly.
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
