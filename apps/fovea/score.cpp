// fovea score: log-probabilities of given translations (teacher forcing).
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/thousands.h"
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
  fmt::print(stderr, "{}, {}: {:.4f} nats per token, perplexity {:.3f}\n", counted(std::ssize(scores), "pair"),
             counted(static_cast<int64_t>(tokens), "target token"), -total / static_cast<double>(tokens),
             std::exp(-total / static_cast<double>(tokens)));
  return kDone;
}

}  // namespace

void add_score(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("score", "Print log-probabilities of given translations, and the perplexity.");
  const auto flags = std::make_shared<ScoreFlags>();
  add_model_flags(*command, *flags)->required();
  command->add_option("source", flags->source, "Source text, or a TSV file with both sides.")
      ->required()
      ->type_name("FILE");
  command->add_option("target", flags->target, "Target text, aligned line by line.")->type_name("FILE");
  command->add_option("-o,--output", flags->output, "File for the scores; standard output by default.")
      ->type_name("FILE");
  command->add_flag("--json", flags->json, "Print one JSON object per line, with the log-probability of each token.");
  command->callback([flags, &run] { run = [flags] { return score(*flags); }; });
}

}  // namespace fovea::app
