// fovea score: log-probabilities of given translations (teacher forcing), and candidates ranked by them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/thousands.h"
#include "evaluate/references.h"
#include "fovea/commands.h"
#include "fovea/flags.h"
#include "fovea/output.h"

namespace fovea::app {

namespace {

using Json = nlohmann::ordered_json;

struct ScoreFlags : ModelFlags {
  std::string source, output;
  std::vector<std::string> references;
  bool json = false, rank = false, per_token = false;
};

double score_of(const Hypothesis& scored, bool per_token) {
  return per_token ? scored.log_probability / static_cast<double>(scored.log_probs.size()) : scored.log_probability;
}

void print_perplexity(std::span<const Hypothesis> scores) {
  double total = 0;
  size_t tokens = 0;
  for (const Hypothesis& s : scores) {
    total += s.log_probability;
    tokens += s.log_probs.size();
  }
  fmt::print(stderr, "{}, {}: {:.4f} nats per token, perplexity {:.3f}\n", counted(std::ssize(scores), "pair"),
             counted(static_cast<int64_t>(tokens), "target token"), -total / static_cast<double>(tokens),
             std::exp(-total / static_cast<double>(tokens)));
}

int rank(const ScoreFlags& flags) {
  const ReferencedText read = read_referenced(flags.source, flags.references);
  std::vector<std::string> sources, targets;
  for (size_t i = 0; i < read.sources.size(); ++i) {
    for (const std::string& candidate : read.references[i]) {
      sources.push_back(read.sources[i]);
      targets.push_back(candidate);
    }
  }
  const std::vector<Hypothesis> scores = flags.load().score(sources, targets);
  Output output(flags.output);
  size_t first = 0;
  for (size_t i = 0; i < read.references.size(); ++i) {
    const std::vector<std::string>& candidates = read.references[i];
    std::vector<size_t> order(candidates.size());
    for (size_t c = 0; c < order.size(); ++c) order[c] = c;
    const auto score = [&](size_t c) { return score_of(scores[first + c], flags.per_token); };
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return score(a) > score(b); });
    Json ranked = Json::array();
    for (const size_t c : order) {
      ranked.push_back({{"text", candidates[c]},
                        {"candidate", c + 1},
                        {"score", score(c)},
                        {"log_probability", scores[first + c].log_probability}});
      if (!flags.json) output.write(fmt::format("{} ||| {} ||| {:.4f}\n", i + 1, candidates[c], score(c)));
    }
    if (flags.json) output.write(Json{{"source", read.sources[i]}, {"candidates", std::move(ranked)}}.dump() + "\n");
    first += candidates.size();
  }
  output.commit();
  return kDone;
}

int score(const ScoreFlags& flags) {
  if (flags.rank) return rank(flags);
  const ReferencedText read = read_referenced(flags.source, flags.references);
  std::vector<std::string> targets;
  for (size_t i = 0; i < read.references.size(); ++i) {
    check(read.references[i].size() == 1, "line {}: expected one translation, got {}; --rank compares several", i + 1,
          read.references[i].size());
    targets.push_back(read.references[i].front());
  }
  const std::vector<Hypothesis> scores = flags.load().score(read.sources, targets);
  Output output(flags.output);
  for (const Hypothesis& s : scores) {
    output.write(flags.json ? Json{{"log_probability", s.log_probability}, {"log_probs", s.log_probs}}.dump() + "\n"
                            : fmt::format("{:.6f}\n", score_of(s, flags.per_token)));
  }
  output.commit();
  print_perplexity(scores);
  return kDone;
}

}  // namespace

void add_score(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand(
      "score", "Print log-probabilities of given translations or replies and the perplexity, or rank candidates.");
  const auto flags = std::make_shared<ScoreFlags>();
  add_model_flags(*command, *flags)->required();
  command->add_option("source,-s,--source", flags->source, "Source text, or a TSV file with both sides.")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("references,-r,--references", flags->references,
                   "The translations, line by line; with --rank several files, or a JSON array of candidates a line.")
      ->type_name("FILE");
  command->add_option("-o,--output", flags->output, "File for the scores; standard output by default.")
      ->type_name("FILE");
  command->add_flag("--json", flags->json, "Print one JSON object per line, with the log-probability of each token.");
  command->add_flag(
      "--rank", flags->rank,
      "Each line has several candidates: a JSON array in --references, several files of them, or further columns "
      "of the TSV. "
      "They are printed best first: line number (from 1) ||| candidate ||| score.");
  command->add_flag("--per-token", flags->per_token,
                    "Divide scores by the number of target tokens, so that long texts are not at a disadvantage.");
  command->callback([flags, &run] { run = [flags] { return score(*flags); }; });
}

}  // namespace fovea::app
