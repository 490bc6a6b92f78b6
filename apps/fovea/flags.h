// Settings (base/fields.h) as flags: the setting max_length is --max-length. Also the flags that all commands that run
// models have.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "decode/translator.h"
#include "tasks/task.h"

namespace fovea {
struct ParagraphOptions;
}

namespace fovea::app {

namespace detail {
// `note` is called with each setting that is given and its value as text.
using Note = std::function<void(const std::string& key, const std::string& word)>;
void add_flags(CLI::App& command, const std::shared_ptr<Fields>& fields, const std::string& group,
               const Note& note = {});
}  // namespace detail

// The settings must outlive the command.
template <class Settings> void add_flags(CLI::App& command, Settings& settings, const std::string& group) {
  detail::add_flags(command, std::make_shared<Fields>(fields_of(settings)), group);
}

std::string flag_of(std::string_view key);  // "--max-length" for the setting max_length

// Throws an Error, which names the flags, if the options of a search contradict each other. Prints a warning for each
// that differs from the default and has no effect beside the others.
void check_search_flags(const SearchOptions& search, const SearchOptions& defaults = {});

// The flags of a search for a command whose models are of several tasks: what the user leaves out is the default of the
// task.
class SearchFlags {
 public:
  // The flags show the defaults of `task`.
  void add_to(CLI::App& command, const std::string& group, std::string_view task = "sequence");
  SearchOptions for_task(std::string_view task) const;
  SearchOptions checked_for_task(std::string_view task) const;  // by check_search_flags
  // What the user leaves out is as the model's folder stores it.
  SearchOptions for_model(const FolderConfig& config) const;
  SearchOptions checked_for_model(const FolderConfig& config) const;

 private:
  SearchOptions with_flags(SearchOptions defaults) const;
  SearchOptions checked(const SearchOptions& defaults) const;

  std::vector<std::pair<std::string, std::string>> given_;  // settings and their values as text
};
// How a line is translated beyond the search for each of its sentences.
struct LineFlags {
  int64_t split_above = -1;  // -1: as the model's folder stores it
  int64_t mbr = 0;           // candidates of minimum Bayes risk decoding; 0 for none
  std::string mbr_metric = "chrf";

  void add_to(CLI::App& command, const std::string& group);
  // Also changes the search so that it finds the candidates.
  ParagraphOptions prepare(SearchOptions& search, const FolderConfig& config) const;
};

// The heading of these flags, with the tasks whose defaults are not those that the flags show.
std::string search_group(const std::string& heading);

// A check whose message says what was expected.
CLI::Validator at_least(double low);

// Of a command for one model of a task that does not decode.
struct PredictorFlags {
  std::string model;
  int threads = 0;
  PredictorOptions options;

  // Sets the number of threads and returns the model's folder: without --model, that of the shipped model of the task
  // for such a text.
  std::string prepare(std::string_view task, std::string_view text = {}) const;
};
// Warns that a shipped model, which the user did not choose, cannot read the script of a text.
void warn_of_language(const std::string& folder, std::string_view text);
// Returns the option that names the model.
CLI::Option* add_predictor_flags(CLI::App& command, PredictorFlags& flags);

struct ModelFlags {
  std::vector<std::string> models;
  int threads = 0;
  TranslatorOptions translator;

  Translator load() const;  // also sets the number of threads
  // The same flags for a model of a task that does not decode: one model only.
  PredictorFlags for_predictor() const;
};
// Returns the option that names the models.
CLI::Option* add_model_flags(CLI::App& command, ModelFlags& flags);

}  // namespace fovea::app
