// The commands of `fovea data` that read corpora.
#pragma once

#include <CLI/App.hpp>

#include "fovea/commands.h"

namespace fovea::app {

void add_data_import(CLI::App& data, Run& run);
void add_data_clean(CLI::App& data, Run& run);

}  // namespace fovea::app
