#include "train/metrics_file.h"

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "recipe/run_folder.h"

namespace fovea {

namespace {

// False also for a line that is incomplete or no JSON: an interrupted write may leave one.
bool is_of_step_up_to(int64_t step, const std::string& line) {
  try {
    return parse_json(line, "metrics").value("step", int64_t{0}) <= step;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

MetricsFile::MetricsFile(const std::string& folder, int64_t step) : path_(metrics_path(folder)) {
  if (std::filesystem::exists(path_)) {
    std::ifstream old(path_);
    std::string retained;
    for (std::string line; std::getline(old, line);) {
      if (is_of_step_up_to(step, line)) retained += line + "\n";
    }
    write_file_atomically(path_, retained);
  }
  file_.open(path_, std::ios::app);
  check(file_.good(), "{}: cannot open for writing", path_);
}

void MetricsFile::write(const std::string& json) {
  file_ << json << '\n' << std::flush;
  check(file_.good(), "{}: cannot write (is the disk full?)", path_);
}

}  // namespace fovea
