// The commands, one file each. A command adds itself to the command line and, when it is chosen, sets the function to
// run, whose result is the exit status.
//
// They include CLI11 without its help and configuration files, which take longer to compile than a command; main.cpp
// includes those.
#pragma once

#include <CLI/App.hpp>
#include <functional>

namespace fovea::app {

// Exit statuses.
constexpr int kDone = 0, kFailed = 1, kMisused = 2, kInterrupted = 130;

using Run = std::function<int()>;

void add_train(CLI::App& app, Run& run);
void add_translate(CLI::App& app, Run& run);
void add_classify(CLI::App& app, Run& run);
void add_caption(CLI::App& app, Run& run);
void add_summarise(CLI::App& app, Run& run);
void add_chat(CLI::App& app, Run& run);
void add_evaluate(CLI::App& app, Run& run);
void add_score(CLI::App& app, Run& run);
void add_view(CLI::App& app, Run& run);
void add_align(CLI::App& app, Run& run);
void add_answer(CLI::App& app, Run& run);
void add_data(CLI::App& app, Run& run);
void add_serve(CLI::App& app, Run& run);
void add_mechanisms(CLI::App& app, Run& run);
void add_info(CLI::App& app, Run& run);
void add_pack(CLI::App& app, Run& run);
void add_export(CLI::App& app, Run& run);
void add_shortlist(CLI::App& app, Run& run);

}  // namespace fovea::app
