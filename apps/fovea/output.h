// The output of a command: standard output, or a file that is written completely or not at all.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <system_error>

#include "base/error.h"
#include "base/files.h"

namespace fovea::app {

// A picture that a command reads would be lost if the output took its place.
inline void check_output_is_no_input(const std::string& output, std::span<const std::string> inputs) {
  for (const std::string& input : inputs) {
    std::error_code absent;
    check(output.empty() || !std::filesystem::equivalent(output, input, absent),
          "--output: expected another file than {}, which is read here and would be lost", input);
  }
}

class Output {
 public:
  explicit Output(const std::string& path) {  // "" or "-" for standard output
    if (!path.empty() && path != "-") file_ = std::make_unique<AtomicFile>(path);
  }
  void write(const std::string& text) {
    if (file_) return file_->write(text);
    const bool ok = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    check(ok, "cannot write to standard output");
  }
  void commit() {
    if (file_) file_->commit();
  }

 private:
  std::unique_ptr<AtomicFile> file_;
};

}  // namespace fovea::app
