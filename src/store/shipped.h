// Models and recipes that come with the program, by name: `en-zh` instead of a path.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fovea {

// Folders of models, where they are looked for: those FOVEA_MODELS names (separated by colons), models in the working
// directory, and what lies with the program, installed or built.
std::vector<std::string> shipped_models();  // those found, sorted by name; of equal names the first
bool is_model_folder(const std::string& path);
bool is_shipped_model(const std::string& name);
// A folder as it was given, or the shipped model of that name. Error that lists them when there is neither.
std::string find_model(const std::string& name);
// A file as it was given, the recipe of the run in a folder, or the shipped recipe of that name: `dates` is
// recipes/dates.toml, looked for in the working directory and with the program. Error that lists them when there is
// neither.
std::string find_recipe(const std::string& name);
// What translates this text when nobody says: by whether there are Chinese characters in it. Error when it is not
// there.
std::string model_for(std::string_view text);

}  // namespace fovea
