// The commands, one file each. Each adds itself to the command line and leaves behind what to run when
// it is chosen; what that returns is the exit status.
//
// They see CLI11 without its help and configuration files, which main.cpp has: those take longer to compile than a
// command.
#pragma once

#include <CLI/App.hpp>
#include <functional>

namespace fovea::app {

// What main returns.
constexpr int kDone = 0, kFailed = 1, kMisused = 2, kInterrupted = 130;

using Run = std::function<int()>;

void add_train(CLI::App& app, Run& run);
void add_translate(CLI::App& app, Run& run);
void add_evaluate(CLI::App& app, Run& run);
void add_score(CLI::App& app, Run& run);
void add_view(CLI::App& app, Run& run);
void add_align(CLI::App& app, Run& run);
void add_data(CLI::App& app, Run& run);
void add_serve(CLI::App& app, Run& run);
void add_mechanisms(CLI::App& app, Run& run);
void add_info(CLI::App& app, Run& run);
void add_pack(CLI::App& app, Run& run);

}  // namespace fovea::app
