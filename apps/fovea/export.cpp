// fovea export: writes a model in the format of another program. A format is one entry of the table.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "base/error.h"
#include "fovea/commands.h"
#include "onnx/export.h"
#include "store/marian_export.h"
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
      {"huggingface", "a folder that Hugging Face's transformers loads as a MarianMTModel.",
       [](const std::string& folder, const std::string& output) {
         export_marian(load_model(folder, Device::cpu()), output);
       }},
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

// Writes into a folder beside the output, which gets its name when all of it is written.
void write_whole(const ExportFormat& format, const std::string& folder, const std::string& output) {
  const std::string partial = (std::filesystem::path(output) / "").parent_path().string() + ".partial";
  check(!std::filesystem::exists(partial),
        "{}: expected no such folder; it is left from an export that was interrupted", partial);
  std::error_code code;
  try {
    format.write(folder, partial);
  } catch (...) {
    std::filesystem::remove_all(partial, code);
    throw;
  }
  std::filesystem::rename(partial, output, code);
  check(!code, "{}: cannot rename {}: {}", output, partial, code.message());
}

int export_model(const ExportFlags& flags) {
  const std::string folder = find_model(flags.model);
  check(!std::filesystem::exists(flags.output), "{}: expected a new folder, got one that exists", flags.output);
  for (const ExportFormat& format : formats()) {
    if (format.name != flags.format) continue;
    write_whole(format, folder, flags.output);
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
}

}  // namespace fovea::app
