#include "fovea/serve/files.h"

#include <fmt/format.h>

#include <random>

namespace fovea::app {

namespace {

constexpr auto kKept = std::chrono::minutes(10);
constexpr size_t kMostBytes = 64 << 20;

}  // namespace

std::string TranslatedFiles::add(File file) {
  std::random_device random;  // nobody shall guess the path of another's file
  std::string path = fmt::format("{}{:08x}{:08x}{:08x}{:08x}", kDownloadPath, random(), random(), random(), random());
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  bytes_ += file.bytes.size();
  files_.push_back({path, std::move(file), now});
  while (files_.size() > 1 && (bytes_ > kMostBytes || now - files_.front().added > kKept)) {
    bytes_ -= files_.front().file.bytes.size();
    files_.pop_front();
  }
  return path;
}

std::optional<TranslatedFiles::File> TranslatedFiles::find(const std::string& path) const {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  for (const Kept& kept : files_) {
    if (kept.path == path && now - kept.added <= kKept) return kept.file;
  }
  return std::nullopt;
}

}  // namespace fovea::app
