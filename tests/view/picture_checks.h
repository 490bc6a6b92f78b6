// Checks pictures with parsers that are not ours (check_picture.py).
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "temporary_folder.h"

namespace fovea {

class PictureChecks : public testing::Test {
 protected:
  // The output of check_picture.py for pictures by name; empty if nothing is wrong.
  std::string wrong(const std::map<std::string, std::string>& pictures, const std::vector<std::string>& tokens) const {
    std::string wanted;
    for (const std::string& token : tokens) wanted += token + '\0';
    std::string command =
        std::string(FOVEA_PYTHON) + " '" + FOVEA_CHECK_PICTURE + "' '" + folder_.file("tokens", wanted) + "'";
    for (const auto& [name, picture] : pictures) command += " '" + folder_.file(name, picture) + "'";
    FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    std::string said;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) said += static_cast<char>(c);
    return pclose(pipe) == 0 ? "" : said + "(failed)";
  }
  std::string wrong(const std::string& picture, const std::vector<std::string>& tokens) const {
    return wrong(std::map<std::string, std::string>{{"picture", picture}}, tokens);
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace fovea
