// Settings (base/fields.h) as flags: the setting max_length is --max-length.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

#include "base/fields.h"

namespace fovea::app {

namespace detail {
void add_flags(CLI::App& command, const std::shared_ptr<Fields>& fields, const std::string& group);
}

// The settings must live as long as the command.
template <class Settings> void add_flags(CLI::App& command, Settings& settings, const std::string& group) {
  detail::add_flags(command, std::make_shared<Fields>(fields_of(settings)), group);
}

}  // namespace fovea::app
