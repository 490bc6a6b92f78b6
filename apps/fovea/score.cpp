// fovea score: how likely given translations are (forced decoding).
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "fovea/commands.h"
#include "fovea/flags.h"
#include "fovea/output.h"
#include "text/lines.h"

namespace fovea::app {

namespace {

struct ScoreFlags : ModelFlags {
  std::string source, target, output;
  bool json = false;
};

int score(const ScoreFlags& flags) {
  const ParallelLines lines = flags.target.empty() ? read_tsv(flags.source) : read_parallel(flags.source, flags.target);
  const Translator translator = flags.load();
  const std::vector<Hypothesis> scores = translator.score(lines.source, lines.target);
  Output output(flags.output);
  double total = 0;
  size_t tokens = 0;
  for (const Hypothesis& s : scores) {
    total += s.log_probability;
    tokens += s.log_probs.size();
    output.write(
        flags.json
            ? nlohmann::ordered_json{{"log_probability", s.log_probability}, {"log_probs", s.log_probs}}.dump() + "\n"
            : fmt::format("{:.6f}\n", s.log_probability));
  }
  output.commit();
  fmt::print(stderr, "{} pairs, {} target tokens: {:.4f} nats a token, perplexity {:.3f}\n", scores.size(), tokens,
             -total / static_cast<double>(tokens), std::exp(-total / static_cast<double>(tokens)));
  return kDone;
}

}  // namespace

void add_score(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("score", "Log-probabilities of given translations, and the perplexity.");
  const auto flags = std::make_shared<ScoreFlags>();
  add_model_flags(*command, *flags)->required();
  command->add_option("source", flags->source, "Source text, or a TSV file of both sides.")
      ->required()
      ->type_name("FILE");
  command->add_option("target", flags->target, "Target text, line by line beside it.")->type_name("FILE");
  command->add_option("-o,--output", flags->output, "Where scores go; standard output if not given.")
      ->type_name("FILE");
  command->add_flag("--json", flags->json, "One JSON object a line, with each token's log-probability.");
  command->callback([flags, &run] { run = [flags] { return score(*flags); }; });
}

}  // namespace fovea::app
