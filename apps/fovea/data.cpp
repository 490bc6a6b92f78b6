// fovea data: generated text pairs, for experiments without a download.
#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "fovea/commands.h"
#include "fovea/flags.h"
#include "fovea/output.h"
#include "text/generators.h"

namespace fovea::app {

namespace {

struct DataFlags {
  std::string name, source, target;
  int64_t count = 10, seed = 1;
};

int data(const DataFlags& flags) {
  if (flags.name.empty()) {
    for (const Generator& g : generators()) fmt::print("{:12} {}\n", g.name, g.help);
    return kDone;
  }
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
  CLI::App* command = app.add_subcommand("data", "Generate text pairs for a toy task; without a name, list the tasks.");
  const auto flags = std::make_shared<DataFlags>();
  command->add_option("task", flags->name, "Name of the task.")->type_name("TASK");
  command->add_option("-n,--count", flags->count, "Number of pairs.")->check(at_least(1))->capture_default_str();
  command->add_option("--seed", flags->seed, "Random seed.")->check(at_least(0))->capture_default_str();
  command->add_option("--source", flags->source, "File for the source side; without files, TSV is printed.")
      ->type_name("FILE");
  command->add_option("--target", flags->target, "File for the target side.")->type_name("FILE");
  command->callback([flags, &run] { run = [flags] { return data(*flags); }; });
}

}  // namespace fovea::app
