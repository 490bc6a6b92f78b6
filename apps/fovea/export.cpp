// fovea export: writes a model in the format of another program. A format is one entry of the table.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "base/error.h"
#include "fovea/commands.h"
#include "onnx/export.h"
#include "store/shipped.h"

namespace fovea::app {

namespace {

struct ExportFormat {
  std::string name, help;
  // Writes the model in `folder` to the new folder `output`. Throws an Error that names the setting of a model that the
  // format cannot express.
  void (*write)(const std::string& folder, const std::string& output);
};

const std::vector<ExportFormat>& formats() {
  static const std::vector<ExportFormat> all = {
      {"onnx", "graphs of an encoder and of a step of the decoder, or of a classifier, for onnxruntime and others.",
       onnx::export_folder},
  };
  return all;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const ExportFormat& format : formats()) names.push_back(format.name);
  return names;
}

std::string format_help() {
  std::string help = "What to write.";
  for (const ExportFormat& format : formats()) help += fmt::format(" {}: {}", format.name, format.help);
  return help;
}

struct ExportFlags {
  std::string format, model, output;
};

int export_model(const ExportFlags& flags) {
  const std::string folder = find_model(flags.model);
  check(!std::filesystem::exists(flags.output), "{}: expected a new folder, got one that exists", flags.output);
  for (const ExportFormat& format : formats()) {
    if (format.name != flags.format) continue;
    format.write(folder, flags.output);
    return kDone;
  }
  fail("--format: expected one of {}, got {}", fmt::join(format_names(), ", "), flags.format);
}

}  // namespace

void add_export(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("export", "Write a model in the format of another program.");
  const auto flags = std::make_shared<ExportFlags>();
  command->add_option("--format", flags->format, format_help())->required()->type_name("NAME");
  command->add_option("-m,--model", flags->model, "A model folder or the name of a shipped model.")
      ->required()
      ->type_name("DIR");
  command->add_option("-o,--output", flags->output, "The folder to write, which must not exist.")
      ->required()
      ->type_name("DIR");
  command->callback([flags, &run] { run = [flags] { return export_model(*flags); }; });
  if (formats().empty()) command->group("");  // a command without formats is not shown
}

}  // namespace fovea::app
