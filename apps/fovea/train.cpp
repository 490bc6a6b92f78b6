// fovea train: trains a model by a recipe.
#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/signals.h"
#include "base/thousands.h"
#include "base/threads.h"
#include "fovea/commands.h"
#include "fovea/console.h"
#include "fovea/mistakes.h"
#include "store/shipped.h"
#include "train/trainer.h"

namespace fovea::app {

namespace {

class Narrator final : public TrainingListener {
 public:
  void message(const std::string& text) override { console_.line(text); }

  void stepped(const StepReport& r) override {
    if (!busy_ && thread_count_is_reduced()) {
      busy_ = true;
      console_.line(
          "other programs are using the CPU: training uses fewer threads while that is faster; results stay the same");
    }
    const std::string left = r.minutes_left >= 0 ? fmt::format(", {} left", minutes_text(r.minutes_left)) : "";
    const std::string text = fmt::format(
        "step {}  epoch {:.2f}  loss {:.4f}  {} {}/s  lr {:.2e}  {}{}", thousands(r.step),
        static_cast<double>(r.epoch) + r.epoch_done, r.loss, thousands(static_cast<int64_t>(r.tokens_per_second)),
        r.unit == "token" ? "tok" : fmt::format("{}s", r.unit), r.learning_rate, minutes_text(r.minutes), left);
    if (console_.is_terminal()) {
      console_.live(text);
    } else if (r.logged) {
      console_.line(text);
    }
  }

  // Preparations end by an exception, so that they can remove unfinished files.
  struct Interrupted {};
  bool prepares() const { return prepares_; }
  void interrupt() { interrupted_ = true; }

  void preparing(int64_t done, int64_t total) override {
    prepares_ = done < total;
    if (interrupted_) throw Interrupted();
    console_.live(fmt::format("reading pictures: {} of {}", thousands(done), thousands(total)));
  }

  void validating(int64_t done, int64_t total) override {
    console_.live(fmt::format("validating: {} of {} sentences", thousands(done), thousands(total)));
  }

  void validated(const ValidationReport& r) override {
    std::string scores;
    for (const auto& [name, score] : r.scores) scores += fmt::format("  {} {:.2f}", name, score);
    if (r.scores.empty()) {
      scores = fmt::format("  perplexity {:.2f}", std::exp(r.loss));
      if (r.score) scores += fmt::format("  {} {:.2f}", r.metric, *r.score);
    }
    console_.line(fmt::format("step {}  validation: loss {:.4f}{}{}", thousands(r.step), r.loss, scores,
                              r.improved ? "  (best so far)" : ""));
    if (!r.example_input.empty()) {
      console_.line(fmt::format("    {}\n    -> {}", r.example_input, r.example_output));
    }
  }

  Console& console() { return console_; }

 private:
  bool busy_ = false;  // whether the user was told that the CPU is busy
  Console console_{stdout};
  std::atomic<bool> prepares_ = false, interrupted_ = false;
};

struct TrainFlags {
  std::string recipe;
  std::vector<std::string> changes;
  bool resume = false, overwrite = false, print_defaults = false;
};

Recipe read(const TrainFlags& flags, std::vector<std::string>& warnings) {
  const std::string path = find_recipe(flags.recipe);
  try {
    return read_recipe(path, flags.changes, &warnings);
  } catch (const Error& error) {
    if (path.ends_with(".toml") || std::string_view(error.what()).find("not valid TOML") == std::string_view::npos) {
      throw;
    }
    fail(
        "{}; expected a recipe. To train on your own text, choose a recipe and set data.train:\n"
        "  fovea train bahdanau --set data.train=SOURCE,TARGET --set folder=runs/my-model",
        error.what());
  }
}

int train(const TrainFlags& flags) {
  if (flags.print_defaults) {
    fmt::print("{}", recipe_text(Recipe(), true));
    return kDone;
  }
  if (flags.recipe.empty()) return misused("train: expected a recipe, as in: fovea train dates");
  std::vector<std::string> warnings;
  const Recipe recipe = read(flags, warnings);
  for (const std::string& warning : warnings) fmt::print(stderr, "warning: {}\n", warning);
  const Start start = flags.overwrite ? Start::kOverwrite : flags.resume ? Start::kResume : Start::kNew;
  Narrator narrator;
  std::atomic<bool> training = false, interrupted = false;
  const Signals signals([&, clear = narrator.console().is_terminal() ? "\r\x1b[K" : ""] {
    if (!training && narrator.prepares()) return narrator.interrupt();
    if (!training) std::_Exit(kInterrupted);  // there is nothing to save yet
    interrupted = true;
    std::fprintf(stderr, "%sinterrupted: saving a checkpoint after this step; interrupt again to quit without saving\n",
                 clear);
  });
  std::optional<Trainer> trainer;
  try {
    trainer.emplace(recipe, start, narrator);
  } catch (const Narrator::Interrupted&) {
    return kInterrupted;
  }
  training = true;
  const TrainingResult result = trainer->run(interrupted);
  const std::string best =
      result.best ? fmt::format(", best validation {} {:.4g}", result.metric, *result.best) : ", not validated yet";
  narrator.console().line(fmt::format("stopped: {}. Trained {} in {}{}", result.why, counted(result.steps, "step"),
                                      minutes_text(result.minutes), best));
  if (result.interrupted) {
    narrator.console().line(fmt::format("checkpoint saved; continue with: fovea train {} --resume", recipe.folder));
    return kInterrupted;
  }
  narrator.console().line(fmt::format("model saved in {}; try it: fovea {} --model {}", recipe.folder,
                                      task_named(recipe.task).command, recipe.folder));
  return kDone;
}

}  // namespace

void add_train(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("train", "Train a model from a recipe.");
  const auto flags = std::make_shared<TrainFlags>();
  command
      ->add_option("recipe", flags->recipe,
                   "A TOML file, the name of a shipped recipe, or the folder of a training run.")
      ->type_name("RECIPE");
  command
      ->add_option("--set", flags->changes,
                   "Change a setting of the recipe, as in training.learning_rate=0.0005; may be repeated.")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  CLI::Option* resume =
      command->add_flag("--resume", flags->resume, "Continue the training run in the recipe's folder.");
  command->add_flag("--overwrite", flags->overwrite, "Replace the training run in the recipe's folder.")
      ->excludes(resume);
  command->add_flag("--print-defaults", flags->print_defaults,
                    "Print a recipe with every setting, its default and what it means.");
  command->footer(
      "Train on generated dates, train on two files of your own, continue a run, and plot its progress:\n"
      "  fovea train dates\n"
      "  fovea train bahdanau --set data.train=my.en,my.de --set folder=runs/my-model\n"
      "  fovea train runs/my-model --resume\n"
      "  fovea view runs/my-model");
  command->callback([flags, &run] { run = [flags] { return train(*flags); }; });
}

}  // namespace fovea::app
