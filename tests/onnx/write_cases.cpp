// Writes every case as a folder with the exported model and run.json, for check_runtime.mjs.
//
// usage: onnx_cases FOLDER
#include <fmt/format.h>

#include <exception>

#include "base/files.h"
#include "onnx/cases.h"

int main(int argc, char** argv) {
  using namespace fovea;
  if (argc != 2) return 2;
  try {
    Json names = Json::array();
    for (const onnx::NamedCase& named : onnx::all_cases()) {
      const onnx::Case one = named.make();
      const std::string folder = fmt::format("{}/{}", argv[1], one.name);
      onnx::write(one.exported, folder);
      write_file_atomically(folder + "/run.json", one.run.dump());
      names.push_back(one.name);
    }
    write_file_atomically(std::string(argv[1]) + "/cases.json", names.dump());
  } catch (const std::exception& error) {
    fmt::print(stderr, "onnx_cases: {}\n", error.what());
    return 1;
  }
}
