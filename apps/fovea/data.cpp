// fovea data: generated text pairs and pictures, for experiments without a download. Its subcommands read corpora.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/files.h"
#include "fovea/commands.h"
#include "fovea/data_corpora.h"
#include "fovea/flags.h"
#include "fovea/output.h"
#include "text/generators.h"
#include "vision/shapes.h"

namespace fovea::app {

namespace {

struct DataFlags {
  std::string name, source, target, folder;
  int64_t count = 10, seed = 1;
};

constexpr std::string_view kShapes = "shapes";

// Writes pictures as a classifier reads them: in a folder for each label.
int write_shapes(const DataFlags& flags) {
  namespace fs = std::filesystem;
  check(!flags.folder.empty() && flags.source.empty() && flags.target.empty(),
        "data: shapes are pictures: expected --out with a folder for them, and neither --source nor --target");
  check(!fs::exists(flags.folder) || fs::is_empty(flags.folder), "{}: expected a new folder, got one with files",
        flags.folder);
  for (const char* label : {"same", "different"}) {
    std::error_code code;
    fs::create_directories(fs::path(flags.folder) / label, code);
    check(!code, "{}: cannot create the folder: {}", flags.folder, code.message());
  }
  for (int64_t i = 0; i < flags.count; ++i) {
    const ShapesPicture made = shapes_picture(static_cast<uint64_t>(flags.seed), i);
    write_file_atomically(fmt::format("{}/{}/{:06}.png", flags.folder, made.same() ? "same" : "different", i + 1),
                          encode_png(made.image));
  }
  return kDone;
}

int data(const DataFlags& flags) {
  if (flags.name.empty()) {
    for (const Generator& g : generators()) fmt::print("{:12} {}\n", g.name, g.help);
    fmt::print("{:12} Pictures of two shapes far apart: are they the same?\n", kShapes);
    return kDone;
  }
  if (flags.name == kShapes) return write_shapes(flags);
  check(flags.folder.empty(), "data: --out: expected the task shapes, whose pictures are files");
  check(flags.source.empty() == flags.target.empty(), "data: expected both --source and --target, or neither");
  const ParallelLines lines = generate(flags.name, flags.count, static_cast<uint64_t>(flags.seed));
  Output source(flags.source), target(flags.target);
  for (size_t i = 0; i < lines.source.size(); ++i) {
    if (flags.source.empty()) {
      source.write(fmt::format("{}\t{}\n", lines.source[i], lines.target[i]));
    } else {
      source.write(lines.source[i] + "\n");
      target.write(lines.target[i] + "\n");
    }
  }
  source.commit();
  target.commit();
  return kDone;
}

}  // namespace

void add_data(CLI::App& app, Run& run) {
  CLI::App* command =
      app.add_subcommand("data",
                         "Import or clean a corpus (see the subcommands); generate text pairs or pictures for a toy "
                         "task; without a name, list the tasks.");
  const auto flags = std::make_shared<DataFlags>();
  command->add_option("task", flags->name, "Name of the task.")->type_name("TASK");
  command->add_option("-n,--count", flags->count, "Number of pairs or pictures.")
      ->check(at_least(1))
      ->capture_default_str();
  command->add_option("--seed", flags->seed, "Random seed.")->check(at_least(0))->capture_default_str();
  command->add_option("--source", flags->source, "File for the source side; without files, TSV is printed.")
      ->type_name("FILE");
  command->add_option("--target", flags->target, "File for the target side.")->type_name("FILE");
  command
      ->add_option("-o,--out", flags->folder, "shapes: folder for the pictures, which are in a folder for each label.")
      ->type_name("DIR");
  command->callback([flags, command, &run] {
    if (command->get_subcommands().empty()) run = [flags] { return data(*flags); };
  });
  add_data_import(*command, run);
  add_data_clean(*command, run);
}

}  // namespace fovea::app
