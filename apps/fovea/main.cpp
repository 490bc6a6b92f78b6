// fovea: the command-line program.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "base/fields.h"
#include "base/threads.h"
#include "fovea/commands.h"
#include "fovea/mistakes.h"
#include "kernels/cpu/cpu.h"

namespace {

// The message about an argument that is not a command; empty if there is none.
std::string unknown_command(const CLI::App& app, int argc, char** argv) {
  const std::string word = argc > 1 ? argv[1] : "";
  if (word.empty() || word[0] == '-') return "";
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  if (std::find(names.begin(), names.end(), word) != names.end()) return "";
  const std::string near = fovea::nearest_spelling(word, names);
  return "fovea: there is no command " + word + (near.empty() ? "; see fovea --help" : "; did you mean " + near + "?") +
         "\n";
}

}  // namespace

int main(int argc, char** argv) {
  fovea::adapt_thread_count();
  using namespace fovea::app;
  CLI::App app("Train, run and visualise attention models.");
  app.set_version_flag("--version", [] { return "fovea " FOVEA_VERSION "\n" + fovea::describe_cpu(); });
  app.require_subcommand(1);
  Run run;
  for (const auto add : {add_train, add_translate, add_summarise, add_chat, add_classify, add_answer, add_caption,
                         add_evaluate, add_score, add_view, add_align, add_serve, add_data, add_mechanisms, add_info,
                         add_pack, add_export, add_shortlist}) {
    add(app, run);
  }
  // After all other settings, because commands copy the settings when they are added.
  app.footer(
      "Translate, view attention and serve with the models that come with the program:\n"
      "  fovea translate 'I love you.'\n"
      "  fovea view 'I love you.'\n"
      "  fovea serve\n"
      "Train a first model of your own; no data needed:\n"
      "  fovea train dates\n"
      "  echo 'the 3rd of may 1986' | fovea translate --model runs/dates\n"
      "Exit status: 0 success, 1 error, 2 wrong usage, 130 interrupted (training saves a checkpoint first).");
  if (const std::string wrong = unknown_command(app, argc, argv); !wrong.empty()) {
    std::fputs(wrong.c_str(), stderr);
    return kMisused;
  }
  try {
    fovea::check_instruction_set();
    app.parse(argc, argv);
    return run();
  } catch (const CLI::ParseError& error) {
    const bool failed = error.get_exit_code() != 0;  // help and version are not failures
    if (const std::string unknown = failed ? unexpected_argument(app) : ""; !unknown.empty()) return misused(unknown);
    return app.exit(error) == 0 ? kDone : kMisused;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "fovea: out of memory\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fovea: %s\n", error.what());
  }
  return kFailed;
}
