#include "train/recipe.h"

#include <fmt/ranges.h>

#include "base/error.h"
#include "evaluate/tokenize.h"
#include "text/generators.h"
#include "train/metrics.h"
#include "train/schedule.h"
#include "train/toml_fields.h"

namespace fovea {

void DataConfig::describe(Fields& f) {
  f.add("train", train, "Text to learn from: one TSV file, or two files, source and target. Plain or gzip.");
  f.add("valid", valid, "Text to check by, like train.");
  std::vector<std::string> names = {""};
  for (const Generator& g : generators()) names.emplace_back(g.name);
  f.add("generator", generator, "Make the text instead of reading it.").choices(std::move(names));
  f.add("generated", generated, "Pairs to make to learn from.").at_least(1);
  f.add("generated_valid", generated_valid, "Pairs to make to check by; never the same as those learned from.")
      .at_least(1);
  f.add("held_out", held_out, "Without valid: pairs of train kept apart to check by, at most a tenth of them.")
      .at_least(1);
  f.add("shared_vocabulary", shared_vocabulary, "One vocabulary for both sides, as source_vocabulary says.");
  f.add("alignment", alignment, "Word alignments of train, in Pharaoh format (0-0 1-2 ...), for guided_alignment.");
  filter.describe(f);
}

void TrainingConfig::describe(Fields& f) {
  f.add("optimiser", optimiser, "How gradients become steps.").choices({"sgd", "adam", "adamw"});
  f.add("learning_rate", learning_rate, "The largest there will be.").at_least(0);
  f.add("schedule", schedule, "What becomes of the learning rate after warm-up.").choices(schedule_names());
  f.add("warmup", warmup, "Steps over which the learning rate rises from nothing.").at_least(0);
  f.add("final_rate", final_rate, "cosine: where the learning rate ends, as a share of learning_rate.")
      .at_least(0)
      .at_most(1);
  f.add("plateau_factor", plateau_factor, "plateau: by what the rate is multiplied.").at_least(0).below(1);
  f.add("plateau_patience", plateau_patience, "plateau: validations without improvement before that.").at_least(1);
  f.add("clip_norm", clip_norm, "Longer gradients are shortened to this norm; 0 for never.").at_least(0);
  f.add("weight_decay", weight_decay, "Of matrices; decoupled with adamw.").at_least(0);
  f.add("momentum", momentum, "sgd only.").at_least(0).below(1);
  f.add("beta1", beta1, "adam: decay of the mean gradient.").at_least(0).below(1);
  f.add("beta2", beta2, "adam: decay of the mean square.").at_least(0).below(1);
  f.add("epsilon", epsilon, "adam: added to the root of the mean square.").at_least(0);
  f.add("label_smoothing", label_smoothing, "Share of the truth spread over all words.").at_least(0).below(1);
  f.add("accumulation", accumulation, "Batches whose gradients make one step.").at_least(1);
  f.add("memory", memory,
        "Most memory for a batch, in GB; 0 for what there is. A batch that needs more is worked on in parts.")
      .at_least(0);
  f.add("ema", ema, "Decay of a running average of the weights, which is what is validated and kept; 0 for none.")
      .at_least(0)
      .below(1);
  f.add("precision", precision, "What factors of products are rounded to: bf16 where the CPU has instructions for it.")
      .choices({"f32", "bf16"});
  f.add("epochs", epochs, "Stop after so many passes over the data; 0 for no such limit.").at_least(0);
  f.add("steps", steps, "Stop after so many steps; 0 for no such limit.").at_least(0);
  f.add("minutes", minutes, "Stop after so much time, over all resumes; 0 for no such limit.").at_least(0);
  f.add("checkpoint_minutes", checkpoint_minutes, "Time between checkpoints; each validation makes one, too.")
      .at_least(0);
  f.add("guided_alignment", guided_alignment, "Weight of the loss that draws attention to data.alignment.").at_least(0);
  f.add("coverage_loss", coverage_loss, "Weight of the loss on attending again (See et al. 2017).").at_least(0);
  f.add("baseline_decay", baseline_decay, "hard selection: of the running mean that rewards are compared with.")
      .at_least(0)
      .below(1);
}

void ValidationConfig::describe(Fields& f) {
  f.add("every", every, "Steps between validations; 0 for every epoch.").at_least(0);
  f.add("metric", metric, "What makes a model the best so far.").choices(validation_metric_names());
  f.add("sentences", sentences, "Decode only the first so many of data.valid; 0 for all.").at_least(0);
  f.add("tokenizer", tokenizer, "For BLEU.").choices(tokenizer_names());
  f.add("patience", patience, "Stop after so many validations without improvement; 0 for never.").at_least(0);
  f.add("goal", goal, "Stop when the metric is this good; 0 for never.").at_least(0);
  f.section("search", search);
}

void Recipe::describe(Fields& f) {
  f.add("folder", folder, "Where the run goes: the model, its checkpoint, metrics.jsonl, recipe.toml.");
  f.add("seed", seed, "Of all random numbers.").at_least(0);
  f.add("device", device, "What to compute on: cpu, cuda or cuda:N, or auto, a card where there is one.");
  f.add("threads", threads, "To compute with; 0 for all cores.").at_least(0);
  f.add("report_every", report_every,
        "Steps between progress lines where there is no terminal; 0 for about every 10 s.")
      .at_least(0);
  f.section("data", data);
  f.section("source_vocabulary", source_vocabulary);
  f.section("target_vocabulary", target_vocabulary);
  f.section("model", model);
  f.section("batch", batch);
  f.section("training", training);
  f.section("validation", validation);
}

namespace {

void check_recipe(const Recipe& r, const std::string& path) {
  const auto files = [&](std::string_view key, const std::vector<std::string>& list) {
    check(list.size() <= 2, "{}: data.{}: expected one TSV file or two files, got {}", path, key, list.size());
  };
  files("train", r.data.train);
  files("valid", r.data.valid);
  check(!r.data.generator.empty() || !r.data.train.empty(),
        "{}: expected data.train (files) or data.generator, got neither", path);
  check(r.data.generator.empty() || r.data.train.empty(),
        "{}: expected either data.train (files) or data.generator, got both; --set data.generator= leaves out the "
        "generator",
        path);
  check(r.data.generator.empty() || r.data.valid.empty(), "{}: data.valid: a generator makes its own", path);
  check((r.training.guided_alignment > 0) == !r.data.alignment.empty(),
        "{}: expected training.guided_alignment and data.alignment together", path);
  check(r.batch.tokens > 0 || r.batch.sentences > 0, "{}: expected batch.tokens or batch.sentences above 0", path);
  const TrainingConfig& t = r.training;
  check(t.epochs > 0 || t.steps > 0 || t.minutes > 0 || r.validation.patience > 0 || r.validation.goal > 0,
        "{}: expected a reason to stop: training.epochs, training.steps, training.minutes, validation.patience or "
        "validation.goal",
        path);
  check(t.schedule != "cosine" || t.steps > 0 || t.epochs > 0 || t.minutes > 0,
        "{}: training.schedule: cosine needs an end: training.steps, training.epochs or training.minutes", path);
}

}  // namespace

Recipe read_recipe(const std::string& path, std::span<const std::string> changes) {
  Recipe recipe;
  Fields fields = fields_of(recipe);
  fields_from_toml(fields, path);
  for (const std::string& change : changes) {
    const size_t equals = change.find('=');
    check(equals != std::string::npos, "--set {}: expected key=value", change);
    try {
      fields.find(change.substr(0, equals)).set_text(std::string_view(change).substr(equals + 1));
    } catch (const Error& error) {
      fail("--set {}: {}", change, error.what());
    }
  }
  check_recipe(recipe, path);
  return recipe;
}

std::string recipe_text(const Recipe& recipe, bool with_help) {
  Recipe copy = recipe;
  return fields_to_toml(fields_of(copy), with_help);
}

}  // namespace fovea
