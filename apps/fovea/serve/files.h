// Files that were translated for LibreTranslate's clients, which fetch them with a second request.
#pragma once

#include <chrono>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace fovea::app {

inline constexpr std::string_view kDownloadPath = "/download_file/";

class TranslatedFiles {
 public:
  struct File {
    std::string name, type, bytes;
  };
  // The path to fetch it at. It is kept for some minutes, and the oldest files make room for new ones.
  std::string add(File file);
  std::optional<File> find(const std::string& path) const;

 private:
  struct Kept {
    std::string path;
    File file;
    std::chrono::steady_clock::time_point added;
  };
  mutable std::mutex mutex_;
  std::list<Kept> files_;
  size_t bytes_ = 0;
};

}  // namespace fovea::app
