#include "store/shipped.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "text/utf8.h"

namespace fovea {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> places() {
  std::vector<fs::path> all;
  if (const char* named = std::getenv("FOVEA_MODELS")) {
    for (std::string_view left = named; !left.empty();) {
      const size_t colon = std::min(left.find(':'), left.size());
      if (colon > 0) all.emplace_back(left.substr(0, colon));
      left.remove_prefix(std::min(colon + 1, left.size()));
    }
  }
  all.emplace_back("models");
  std::error_code code;
  const fs::path program = fs::read_symlink("/proc/self/exe", code).parent_path();
  if (!code) {
    all.push_back(program / "../share/fovea/models");  // bin/fovea
    all.push_back(program / "../../models");           // build/release/fovea
  }
  return all;
}

bool is_model(const fs::path& folder) {
  std::error_code code;
  return fs::exists(folder / "config.json", code) && fs::exists(folder / "model.safetensors", code);
}

std::string name_of(const std::string& folder) { return fs::path(folder).filename().string(); }

bool has_han(std::string_view text) {
  for (const auto& [c, begin, end] : CodePoints(text)) {
    if ((c >= 0x3400 && c <= 0x9FFF) || (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x20000 && c <= 0x3134F)) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> shipped_models() {
  std::vector<std::string> found;
  for (const fs::path& place : places()) {
    std::error_code code;
    for (const fs::directory_entry& entry : fs::directory_iterator(place, code)) {
      if (!is_model(entry.path())) continue;
      const std::string folder = entry.path().lexically_normal().string();
      const auto same = [&](const std::string& other) { return name_of(other) == name_of(folder); };
      if (std::none_of(found.begin(), found.end(), same)) found.push_back(folder);
    }
  }
  std::sort(found.begin(), found.end(),
            [](const std::string& a, const std::string& b) { return name_of(a) < name_of(b); });
  return found;
}

std::string find_model(const std::string& name) {
  std::error_code code;
  if (fs::exists(name, code) || name.find('/') != std::string::npos) return name;
  const std::vector<std::string> all = shipped_models();
  for (const std::string& folder : all) {
    if (name_of(folder) == name) return folder;
  }
  std::vector<std::string> names;
  for (const std::string& folder : all) names.push_back(name_of(folder));
  fail("{}: expected a model folder{}, got nothing of that name", name,
       names.empty() ? "" : fmt::format(" or one of {}", fmt::join(names, ", ")));
}

std::string model_for(std::string_view text) {
  const std::string name = has_han(text) ? "zh-en" : "en-zh";
  for (const std::string& folder : shipped_models()) {
    if (name_of(folder) == name) return folder;
  }
  fail("expected --model: the shipped model {} is not found; FOVEA_MODELS may say where models are", name);
}

}  // namespace fovea
