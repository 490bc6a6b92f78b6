// fovea score: how likely given translations are (forced decoding).
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/threads.h"
#include "decode/translator.h"
#include "fovea/commands.h"
#include "fovea/flags.h"
#include "fovea/output.h"
#include "text/lines.h"

namespace fovea::app {

namespace {

struct ScoreFlags {
  std::vector<std::string> models;
  std::string source, target, output;
  bool json = false;
  int threads = 0;
  TranslatorOptions translator;
};

int score(const ScoreFlags& flags) {
  if (flags.threads > 0) set_thread_count(flags.threads);
  const ParallelLines lines = flags.target.empty() ? read_tsv(flags.source) : read_parallel(flags.source, flags.target);
  const Translator translator(flags.models, flags.translator, Device::cpu());
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
  command->add_option("-m,--model", flags->models, "A model folder; several are an ensemble.")
      ->required()
      ->type_name("DIR");
  command->add_option("source", flags->source, "Source text, or a TSV file of both sides.")
      ->required()
      ->type_name("FILE");
  command->add_option("target", flags->target, "Target text, line by line beside it.")->type_name("FILE");
  command->add_option("-o,--output", flags->output, "Where scores go; standard output if not given.")
      ->type_name("FILE");
  command->add_flag("--json", flags->json, "One JSON object a line, with each token's log-probability.");
  command->add_option("--threads", flags->threads, "To compute with; 0 for all cores.")->check(CLI::NonNegativeNumber);
  add_flags(*command, flags->translator, "Running");
  command->callback([flags, &run] { run = [flags] { return score(*flags); }; });
}

}  // namespace fovea::app
