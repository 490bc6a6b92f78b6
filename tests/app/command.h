// Runs the program as a user does and keeps what it said.
#pragma once

#include <string>
#include <vector>

namespace fovea {

struct Outcome {
  int status = -1;  // what it exited with, or 128 + the signal that ended it
  std::string out, err;
};

Outcome fovea_command(const std::vector<std::string>& arguments, const std::string& input = {});

}  // namespace fovea
