// fovea: train, translate, evaluate and look, from the command line.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "base/fields.h"
#include "base/threads.h"
#include "fovea/commands.h"
#include "kernels/cpu/cpu.h"

namespace {

// What to say to a word that is no command; nothing where there is none.
std::string unknown_command(const CLI::App& app, int argc, char** argv) {
  const std::string word = argc > 1 ? argv[1] : "";
  if (word.empty() || word[0] == '-') return "";
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  if (std::find(names.begin(), names.end(), word) != names.end()) return "";
  const std::string near = fovea::nearest_spelling(word, names);
  return "fovea: no such command: " + word + (near.empty() ? "" : " (did you mean " + near + "?)") +
         "; fovea --help lists them\n";
}

}  // namespace

int main(int argc, char** argv) {
  fovea::bound_spinning(argv);
  fovea::adapt_thread_count();
  using namespace fovea::app;
  CLI::App app("Attention you can train, run and see.");
  app.set_version_flag("--version", [] { return "fovea " FOVEA_VERSION "\n" + fovea::describe_cpu(); });
  app.require_subcommand(1);
  Run run;
  for (const auto add : {add_train, add_translate, add_evaluate, add_score, add_view, add_align, add_serve, add_data,
                         add_mechanisms, add_info, add_pack}) {
    add(app, run);
  }
  // Last, for commands take over what is there when they are added.
  app.footer(
      "Translate, look, serve, with the models that are shipped:\n"
      "  fovea translate 'I love you.'\n"
      "  fovea view 'I love you.'\n"
      "  fovea serve\n"
      "A first model of your own, with nothing but this program:\n"
      "  fovea train dates\n"
      "  echo 'the 3rd of may 1986' | fovea translate --model runs/dates\n"
      "Exit status: 0 done, 1 failed (the message says why), 2 misused, 130 interrupted (and saved).");
  if (const std::string wrong = unknown_command(app, argc, argv); !wrong.empty()) {
    std::fputs(wrong.c_str(), stderr);
    return kMisused;
  }
  try {
    fovea::check_instruction_set();
    app.parse(argc, argv);
    return run();
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kDone : kMisused;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "fovea: there is not enough memory\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fovea: %s\n", error.what());
  }
  return kFailed;
}
