// metrics.jsonl of a run: one JSON object per line.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace fovea {

class MetricsFile {
 public:
  // Opens the file for appending. Lines of steps after `step` are removed, because a resumed run repeats these steps.
  MetricsFile(const std::string& folder, int64_t step);
  void write(const std::string& json);

 private:
  std::string path_;
  std::ofstream file_;
};

}  // namespace fovea
