// Checks pictures with parsers that are not ours (check_picture.py).
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace fovea {

class PictureChecks : public testing::Test {
 protected:
  PictureChecks() {
    std::string pattern = (std::filesystem::temp_directory_path() / "fovea-pictures-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~PictureChecks() override { std::filesystem::remove_all(folder_); }
  PictureChecks(const PictureChecks&) = delete;
  PictureChecks& operator=(const PictureChecks&) = delete;

  std::string write(const std::string& name, const std::string& content) const {
    const std::filesystem::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
  }

  // The output of check_picture.py for pictures by name; empty if nothing is wrong.
  std::string wrong(const std::map<std::string, std::string>& pictures, const std::vector<std::string>& tokens) const {
    std::string wanted;
    for (const std::string& token : tokens) wanted += token + '\0';
    std::string command =
        std::string(FOVEA_PYTHON) + " '" + FOVEA_CHECK_PICTURE + "' '" + write("tokens", wanted) + "'";
    for (const auto& [name, picture] : pictures) command += " '" + write(name, picture) + "'";
    FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    std::string said;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) said += static_cast<char>(c);
    return pclose(pipe) == 0 ? "" : said + "(failed)";
  }
  std::string wrong(const std::string& picture, const std::vector<std::string>& tokens) const {
    return wrong(std::map<std::string, std::string>{{"picture", picture}}, tokens);
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace fovea
