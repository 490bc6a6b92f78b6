// The output of a command: standard output, or a file that is written completely or not at all.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/files.h"

namespace fovea::app {

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
