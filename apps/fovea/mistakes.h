// Messages about mistakes on the command line.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace fovea::app {

// A sentence about the first argument that the chosen command does not know, with what was probably meant; empty if it
// knows all of them.
std::string unexpected_argument(const CLI::App& app);

// For a command that takes texts: a sentence if the first of them is a model, which belongs after --model.
std::string model_among_texts(const std::string& command, const std::vector<std::string>& texts);

// For a command that takes texts: a hint if they look like one sentence without quotes.
std::string unquoted_sentence(const std::string& command, const std::vector<std::string>& texts);

// Prints the sentence as an error of use and returns the exit status for it.
int misused(const std::string& sentence);

}  // namespace fovea::app
