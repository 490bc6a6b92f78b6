// fovea align: word alignments, read from the attention weights of a model that is teacher-forced with the target; and
// the symmetrisation of two directions.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "base/error.h"
#include "base/thousands.h"
#include "fovea/commands.h"
#include "fovea/console.h"
#include "fovea/flags.h"
#include "fovea/output.h"
#include "store/shipped.h"
#include "text/lines.h"
#include "view/align.h"

namespace fovea::app {

namespace {

constexpr size_t kPairsAtOnce = 1024;  // pairs whose weights are in memory

struct AlignFlags : ModelFlags {
  std::string reverse_model, source, target, forward, backward, output, join = "grow-diag-final";
  int64_t first = 0;
  ReduceOptions heads;
  AlignOptions align;
};

// Aligns pairs in one direction. `swapped`: the model translates from the target to the source.
class Aligner {
 public:
  Aligner(Translator translator, const AlignFlags& flags, bool swapped)
      : translator_(std::move(translator)), flags_(flags), swapped_(swapped) {}

  std::vector<Alignment> operator()(std::span<const std::string> sources, std::span<const std::string> targets) const {
    const std::vector<SharedLine> from = translator_.tokenise_source(swapped_ ? targets : sources, Offsets::kTokens),
                                  to = translator_.tokenise_target(swapped_ ? sources : targets);
    const std::vector<Hypothesis> forced = translator_.score(from, to, {.capture_weights = true});
    std::vector<Alignment> alignments;
    for (size_t i = 0; i < forced.size(); ++i) {
      Alignment& links =
          alignments.emplace_back(align(translator_.record(*from[i], forced[i]), flags_.heads, flags_.align));
      if (!swapped_) continue;
      for (Link& link : links) std::swap(link.source, link.target);
      std::sort(links.begin(), links.end());
    }
    return alignments;
  }

 private:
  Translator translator_;
  const AlignFlags& flags_;
  bool swapped_;
};

void join(std::vector<Alignment>& forward, const std::vector<Alignment>& backward, const std::string& how) {
  for (size_t i = 0; i < forward.size(); ++i) forward[i] = symmetrise(forward[i], backward[i], how);
}

std::vector<Alignment> read_alignments(const std::string& path, int64_t first) {
  LineReader reader(path);
  std::vector<Alignment> alignments;
  for (std::string line; reader.next(line);) {
    alignments.push_back(parse_pharaoh(line, first, reader.place()).possible);
  }
  return alignments;
}

void write(Output& output, const std::vector<Alignment>& alignments, int64_t first) {
  std::string text;
  for (const Alignment& links : alignments) text += to_pharaoh(links, first) + "\n";
  output.write(text);
}

int join_files(const AlignFlags& flags) {
  std::vector<Alignment> forward = read_alignments(flags.forward, flags.first);
  const std::vector<Alignment> backward = read_alignments(flags.backward, flags.first);
  check(forward.size() == backward.size(), "{}: expected {} lines, as {} has, got {}", flags.backward, forward.size(),
        flags.forward, backward.size());
  join(forward, backward, flags.join);
  Output output(flags.output);
  write(output, forward, flags.first);
  output.commit();
  return kDone;
}

int align_text(const AlignFlags& flags) {
  check(flags.models.size() == 1 && !flags.source.empty(),
        "align: expected one --model with source and target text, or --forward and --backward");
  const ParallelLines lines = flags.target.empty() ? read_tsv(flags.source) : read_parallel(flags.source, flags.target);
  const Aligner forward(flags.load(), flags, false);
  std::optional<Aligner> backward;
  if (!flags.reverse_model.empty()) {
    backward.emplace(Translator({find_model(flags.reverse_model)}, flags.translator), flags, true);
  }
  Console console(stderr);
  Output output(flags.output);
  for (size_t at = 0; at < lines.source.size(); at += kPairsAtOnce) {
    const size_t count = std::min(kPairsAtOnce, lines.source.size() - at);
    const auto sources = std::span(lines.source).subspan(at, count),
               targets = std::span(lines.target).subspan(at, count);
    std::vector<Alignment> alignments = forward(sources, targets);
    if (backward) join(alignments, (*backward)(sources, targets), flags.join);
    console.live(fmt::format("aligned {} of {} pairs", thousands(static_cast<int64_t>(at + count)),
                             thousands(std::ssize(lines.source))));
    console.finish();
    write(output, alignments, flags.first);
  }
  output.commit();
  return kDone;
}

}  // namespace

void add_align(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("align", "Align the words of parallel text using a model's attention.");
  const auto flags = std::make_shared<AlignFlags>();
  add_model_flags(*command, *flags)->description("A model that translates source to target.");
  command
      ->add_option("--reverse-model", flags->reverse_model,
                   "A model for the other direction; the two alignments are symmetrised.")
      ->type_name("DIR");
  command->add_option("source", flags->source, "Source text, or a TSV file with both sides.")->type_name("FILE");
  command->add_option("target", flags->target, "Target text, aligned line by line.")->type_name("FILE");
  command->add_option("--forward", flags->forward, "Symmetrise two files of alignments instead: this one ...")
      ->type_name("FILE");
  command
      ->add_option("--backward", flags->backward,
                   "... and this one of the other direction, also written source-target.")
      ->type_name("FILE")
      ->needs("--forward");
  command->add_option("--join", flags->join, "Symmetrisation heuristic.")->check(CLI::IsMember(symmetrisations()));
  command->add_option("--first", flags->first, "Index of the first word.")->check(CLI::IsMember({0, 1}));
  command->add_option("-o,--output", flags->output, "File for the alignments; standard output by default.")
      ->type_name("FILE");
  add_flags(*command, flags->align, "Alignment");
  add_flags(*command, flags->heads, "Heads");
  command->footer("Output is in Pharaoh format: 0-0 1-2 ... (source word - target word), one line per pair.");
  command->callback(
      [flags, &run] { run = [flags] { return flags->forward.empty() ? align_text(*flags) : join_files(*flags); }; });
}

}  // namespace fovea::app
