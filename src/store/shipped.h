// The models and recipes that are shipped with the program, by name: `en-zh` instead of a path.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fovea {

// The folders of the shipped models, sorted by name. They are searched for in the folders that FOVEA_MODELS names
// (separated by colons), in `models` in the working directory, and beside the installed or built program; of models
// with the same name, the first is used.
std::vector<std::string> shipped_models();
std::vector<std::string> model_search_path();  // these folders, in that order
// A further folder that has `models` and `recipes`, to be searched after the working directory: for a library that is
// not installed beside a program. To be called before anything else is searched for.
void add_shipped_folder(const std::string& folder);
bool is_model_folder(const std::string& path);
bool is_shipped_model(const std::string& name);
// The given folder, or that of the shipped model of the name. Throws an Error that lists the shipped models if there is
// neither.
std::string find_model(const std::string& name);
// The given file, the recipe of the run in the given folder, or the shipped recipe of the name: `dates` is
// recipes/dates.toml, in the working directory or beside the program. Throws an Error that lists the shipped recipes if
// there is none of these.
std::string find_recipe(const std::string& name);
// The shipped model for a text without --model, chosen by whether the text has Chinese characters. Throws an Error if
// that model is not found.
std::string model_for(std::string_view text);
// The shipped model of another task, for instance classify, for a text without --model. Of several, the one whose
// about.json names the language of the text. Throws an Error if there is none.
std::string model_of_task(std::string_view task, std::string_view text);
// The language that the model's about.json says it reads, a code as "en"; empty if it says none.
std::string source_language(const std::string& folder);

}  // namespace fovea
