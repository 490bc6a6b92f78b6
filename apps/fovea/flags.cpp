#include "fovea/flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "base/error.h"
#include "base/threads.h"
#include "decode/options.h"
#include "decode/paragraphs.h"
#include "evaluate/mbr.h"
#include "store/shipped.h"
#include "store/task_names.h"
#include "text/language.h"

namespace fovea::app {

namespace {

// TEXT, with the choices as CLI11 shows them: TEXT:{dot,general}.
std::string text_type(const Field& field) {
  constexpr std::string_view kOneOf = "one of ";
  const std::string type = field.type();
  if (!type.starts_with(kOneOf)) return "TEXT";
  std::string choices = type.substr(kOneOf.size());
  std::erase(choices, ' ');
  return "TEXT:{" + choices + "}";
}

// A message with the flags in place of the keys of settings, which must be whole words.
std::string with_flags(const std::string& message, SearchOptions search) {
  const Fields fields = fields_of(search);
  std::string result;
  for (size_t begin = 0; begin < message.size();) {
    const size_t end = std::min(message.find_first_of(" :,;", begin), message.size());
    const std::string word = message.substr(begin, end - begin);
    const bool is_key = std::any_of(fields.list().begin(), fields.list().end(),
                                    [&](const Field& field) { return field.key() == word; });
    result += is_key ? flag_of(word) : word;
    if (end < message.size()) result += message[end];
    begin = end + 1;
  }
  return result;
}

}  // namespace

void detail::add_flags(CLI::App& command, const std::shared_ptr<Fields>& fields, const std::string& group,
                       const Note& note) {
  for (const Field& field : fields->list()) {
    const std::string flag = flag_of(field.key());
    const auto set = [fields, flag, note, key = field.key()](const std::string& word) {
      try {
        fields->find(key).set_text(word);
        if (note) note(key, word);
      } catch (const Error& error) {
        throw CLI::ValidationError(flag + std::string(error.what()).substr(key.size()));  // it begins with the key
      }
    };
    CLI::Option* option = nullptr;
    if (std::holds_alternative<bool>(field.value())) {
      option = command.add_flag_function(
          flag, [set](int64_t) { set("true"); }, field.help());
    } else {
      option = command.add_option_function<std::string>(flag, set, field.help());
      const Field::Value value = field.value();
      const auto* text = std::get_if<std::string>(&value);
      option->type_name(text != nullptr ? text_type(field) : "NUMBER");
      option->default_str(text != nullptr ? *text : field.text());
    }
    option->group(group);
  }
}

std::string flag_of(std::string_view key) {
  std::string flag = fmt::format("--{}", key);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

void check_search_flags(const SearchOptions& search, const SearchOptions& defaults) {
  check_options(search, flag_of);
  SearchOptions chosen = search, usual = defaults;
  for (const UnusedSetting& unused : unused_settings(fields_of(chosen), fields_of(usual), {})) {
    fmt::print(stderr, "warning: {}\n", with_flags(unused.message, search));
  }
}

void SearchFlags::add_to(CLI::App& command, const std::string& group, std::string_view task) {
  // The flags are checked as they are read, one by one, in settings of their own.
  const auto shown = std::make_shared<SearchOptions>(default_search(task));
  const auto note = [this, shown](const std::string& key, const std::string& word) { given_.emplace_back(key, word); };
  detail::add_flags(command, std::make_shared<Fields>(fields_of(*shown)), group, note);
}

SearchOptions SearchFlags::with_flags(SearchOptions defaults) const {
  SearchOptions search = std::move(defaults);
  Fields fields = fields_of(search);
  bool beam = false;
  for (const auto& [key, word] : given_) {
    fields.find(key).set_text(word);
    beam = beam || key == "beam";
  }
  if (search.sample && !beam) search.beam = 1;  // the default would contradict the flag
  return search;
}

SearchOptions SearchFlags::for_task(std::string_view task) const { return with_flags(default_search(task)); }
SearchOptions SearchFlags::checked_for_task(std::string_view task) const { return checked(default_search(task)); }
SearchOptions SearchFlags::for_model(const FolderConfig& config) const { return with_flags(default_search(config)); }
SearchOptions SearchFlags::checked_for_model(const FolderConfig& config) const {
  return checked(default_search(config));
}

SearchOptions SearchFlags::checked(const SearchOptions& defaults) const {
  const SearchOptions search = with_flags(defaults);
  check_search_flags(search, defaults);
  return search;
}

namespace {

// Sorts the candidates of a translation by their expected utility and leaves the first `nbest`.
void choose_by_utility(Translation& translation, Utility utility, bool sampled, int64_t nbest) {
  std::vector<Translation::Candidate>& candidates = translation.candidates;
  if (candidates.size() > 1) {
    std::vector<std::string> texts;
    std::vector<double> weights;
    for (const Translation::Candidate& c : candidates) texts.push_back(c.text);
    // Samples are drawn by their probabilities; of an n-best list, each counts by its score.
    for (size_t i = 0; !sampled && i < candidates.size(); ++i) {
      weights.push_back(std::exp(candidates[i].hypothesis.score - candidates.front().hypothesis.score));
    }
    const std::vector<double> utilities = expected_utilities(texts, weights, utility);
    std::vector<size_t> order(candidates.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return utilities[a] > utilities[b]; });
    std::vector<Translation::Candidate> sorted;
    for (const size_t i : order) sorted.push_back(std::move(candidates[i]));
    candidates = std::move(sorted);
  }
  if (std::ssize(candidates) > nbest) candidates.resize(static_cast<size_t>(nbest));
}

}  // namespace

void LineFlags::add_to(CLI::App& command, const std::string& group) {
  command
      .add_option(
          "--split-above", split_above,
          "Split a line of more than N source tokens into sentences, which are translated one by one and joined "
          "again; 0 for never. By default as the model's folder stores it, or 10.")
      ->type_name("N")
      ->check(at_least(0))
      ->group(group);
  command
      .add_option("--mbr", mbr,
                  "Minimum Bayes risk decoding: of N hypotheses (samples with --sample) the one that agrees best with "
                  "the others; 0 for none.")
      ->type_name("N")
      ->check(at_least(0))
      ->group(group);
  command.add_option("--mbr-metric", mbr_metric, "How agreement is measured: chrF or sentence BLEU.")
      ->check(CLI::IsMember({"chrf", "bleu"}))
      ->capture_default_str()
      ->group(group);
}

ParagraphOptions LineFlags::prepare(SearchOptions& search, const FolderConfig& config) const {
  ParagraphOptions options;
  options.split_above = split_above >= 0 ? split_above : default_split_above(config);
  if (mbr == 0) return options;
  check(mbr > 1, "--mbr: expected at least 2 hypotheses, got {}", mbr);
  check(search.nbest <= mbr, "--nbest: expected at most the {} hypotheses of --mbr, got {}", mbr, search.nbest);
  const int64_t nbest = search.nbest;
  search.nbest = mbr;
  if (!search.sample) search.beam = std::max(search.beam, mbr);
  check_options(search, flag_of);
  options.rerank = [utility = utility_named(mbr_metric), sampled = search.sample, nbest](Translation& translation) {
    choose_by_utility(translation, utility, sampled, nbest);
  };
  return options;
}

std::string search_group(const std::string& heading) {
  std::string tasks;
  for (const TaskName& task : kTaskNames) {
    SearchOptions plain, usual = default_search(task.name);
    const Fields before = fields_of(plain), after = fields_of(usual);
    std::string changes;
    for (size_t i = 0; i < before.list().size(); ++i) {
      if (before.list()[i].text() == after.list()[i].text()) continue;
      changes += fmt::format(" {} {}", flag_of(after.list()[i].key()), after.list()[i].text());
    }
    if (!changes.empty()) tasks += fmt::format("; by default{} for the task {}", changes, task.name);
  }
  return heading + tasks;
}

CLI::Validator at_least(double low) {
  const auto refusal = [low](const std::string& word) -> std::string {
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error == std::errc() && end == word.data() + word.size() && value >= low) return "";
    return fmt::format("expected a number of at least {}, got {}", low, word);
  };
  return {refusal, ""};
}

Translator ModelFlags::load() const {
  if (threads > 0) set_thread_count(threads);
  std::vector<std::string> folders;
  for (const std::string& model : models) folders.push_back(find_model(model));
  return {folders, translator};
}

CLI::Option* add_model_flags(CLI::App& command, ModelFlags& flags) {
  command.add_option("--threads", flags.threads, "Number of CPU threads; 0 for all cores.")
      ->check(at_least(0))
      ->group("Running");
  add_flags(command, flags.translator, "Running");
  return command
      .add_option("-m,--model", flags.models, "A model folder or the name of a shipped model; repeat for an ensemble.")
      ->type_name("DIR")
      ->allow_extra_args(false);
}

PredictorFlags ModelFlags::for_predictor() const {
  check(models.size() == 1, "--model: expected one model of this task, got {}", models.size());
  return {models.front(), threads, {.device = translator.device, .precision = translator.precision}};
}

std::string PredictorFlags::prepare(std::string_view task, std::string_view text) const {
  if (threads > 0) set_thread_count(threads);
  return model.empty() ? model_of_task(task, text) : find_model(model);
}

void warn_of_language(const std::string& folder, std::string_view text) {
  const std::string language = source_language(folder);
  constexpr double kLeastShare = 0.5;
  if (script_share(text, language) >= kLeastShare) return;
  fmt::print(stderr, "warning: the shipped model {} reads {}; --model names another\n",
             std::filesystem::path(folder).filename().string(), language_name(language));
}

CLI::Option* add_predictor_flags(CLI::App& command, PredictorFlags& flags) {
  command.add_option("--threads", flags.threads, "Number of CPU threads; 0 for all cores.")
      ->check(at_least(0))
      ->group("Running");
  add_flags(command, flags.options, "Running");
  return command.add_option("-m,--model", flags.model, "A model folder or the name of a shipped model.")
      ->type_name("DIR");
}

}  // namespace fovea::app
