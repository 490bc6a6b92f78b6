#include "fovea/mistakes.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/fields.h"
#include "fovea/commands.h"
#include "recipe/recipe.h"
#include "store/shipped.h"

namespace fovea::app {

namespace {

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
  }
  return names;
}

// The flag that was probably meant: by spelling, or because one of the two names begins with the other.
std::string nearest_flag(const std::string& name, const std::vector<std::string>& flags) {
  if (std::string near = nearest_spelling(name, flags); !near.empty()) return near;
  constexpr size_t kLeast = 3;
  for (const std::string& flag : flags) {
    const bool begins = name.starts_with(flag) || flag.starts_with(name);
    if (begins && std::min(name.size(), flag.size()) >= kLeast) return flag;
  }
  return "";
}

// The setting of a recipe that a flag such as --steps probably means.
std::string setting_like(const std::string& name) {
  Recipe recipe;
  std::string key = name;
  std::replace(key.begin(), key.end(), '-', '_');
  return fields_of(recipe).nearest_key(key);
}

// "data import" for the subcommand import of data.
std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr || parent->get_parent() == nullptr ? command.get_name()
                                                              : full_name(*parent) + " " + command.get_name();
}

std::string about_flag(const CLI::App& command, const std::string& flag, const std::string& value) {
  const std::string name = flag.substr(std::min(flag.find_first_not_of('-'), flag.size()));
  const std::string unknown = fmt::format("{}: unknown option {}", full_name(command), flag);
  const std::string near = nearest_flag(name, flags_of(command));
  if (!near.empty()) return fmt::format("{}; did you mean --{}?", unknown, near);
  if (command.get_name() == "train") {
    if (const std::string key = setting_like(name); !key.empty()) {
      return fmt::format("{}; settings of a recipe are changed with --set, as in: --set {}={}", unknown, key,
                         value.empty() ? "VALUE" : value);
    }
  }
  return fmt::format("{}; see fovea {} --help", unknown, full_name(command));
}

// "fovea train my.en my.de": the recipe was left out.
std::string about_text_for_training(const CLI::App& command, const std::vector<std::string>& more) {
  std::vector<std::string> files = command.get_option("recipe")->results();
  files.insert(files.end(), more.begin(), more.end());
  return fmt::format(
      "train: expected one recipe, got {}; to train on your own text, choose a recipe and set data.train:\n"
      "  fovea train bahdanau --set data.train={} --set folder=runs/my-model",
      fmt::join(files, " "), fmt::join(files, ","));
}

bool is_model(const std::string& text) {
  return is_model_folder(text) || (text.find_first_of(" /") == std::string::npos && is_shipped_model(text));
}

std::string in_quotes(const std::string& text) { return "\"" + text + "\""; }

}  // namespace

std::string unexpected_argument(const CLI::App& app) {
  const CLI::App* chosen = &app;
  while (!chosen->get_subcommands().empty()) chosen = chosen->get_subcommands().front();
  if (chosen == &app) return "";
  const CLI::App& command = *chosen;
  const std::vector<std::string> unknown = command.remaining();
  if (unknown.empty()) return "";
  std::string flag, value;
  for (const std::string& argument : unknown) {
    if (flag.empty() && argument.starts_with('-')) {
      flag = argument;
    } else if (!flag.empty() && value.empty()) {
      value = argument;
    }
  }
  if (const size_t equals = flag.find('='); equals != std::string::npos) {
    value = flag.substr(equals + 1);
    flag.resize(equals);
  }
  if (!flag.empty()) return about_flag(command, flag, value);
  if (command.get_name() == "train") return about_text_for_training(command, unknown);
  return fmt::format("{}: unexpected argument {}; see fovea {} --help", full_name(command), in_quotes(unknown.front()),
                     full_name(command));
}

std::string model_among_texts(const std::string& command, const std::vector<std::string>& texts) {
  if (texts.empty() || !is_model(texts.front())) return "";
  if (texts.size() == 1 && !is_model_folder(texts.front())) return "";  // a word such as "phonemes" may be text
  std::string rest;
  for (size_t i = 1; i < texts.size(); ++i) rest += " " + in_quotes(texts[i]);
  return fmt::format("{}: {} is a model; name it with --model, as in: fovea {} -m {}{}", command, texts.front(),
                     command, texts.front(), rest);
}

std::string unquoted_sentence(const std::string& command, const std::vector<std::string>& texts) {
  const auto has_space = [](const std::string& text) { return text.find(' ') != std::string::npos; };
  if (texts.size() < 2 || std::any_of(texts.begin(), texts.end(), has_space)) return "";
  return fmt::format("hint: each argument is a text of its own; put a sentence in quotes: fovea {} {}", command,
                     in_quotes(fmt::format("{}", fmt::join(texts, " "))));
}

int misused(const std::string& sentence) {
  fmt::print(stderr, "fovea: {}\n", sentence);
  return kMisused;
}

}  // namespace fovea::app
