// fovea shortlist: which target words may translate a source word, estimated from parallel text, so that decoding
// computes the probabilities of few words.
#include "decode/shortlist.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/thousands.h"
#include "fovea/commands.h"
#include "fovea/flags.h"
#include "store/folder_config.h"
#include "store/shipped.h"
#include "text/lines.h"

namespace fovea::app {

namespace {

struct ShortlistFlags {
  std::string model, source, target, output;
  bool store = false;
  ShortlistOptions options;
};

// How much of the text's own translations the lists have, and how long they are.
void print_coverage(const Shortlist& shortlist, const ParallelCorpus& corpus) {
  int64_t tokens = 0, found = 0, listed = 0, whole = 0;
  for (int64_t i = 0; i < corpus.size(); ++i) {
    const std::vector<int32_t> list = shortlist.of(corpus.source[i]);
    listed += list.empty() ? shortlist.target_words() : std::ssize(list);
    whole += list.empty() ? 1 : 0;
    tokens += corpus.target.length(i);
    for (const int32_t id : corpus.target[i]) {
      found += list.empty() || std::binary_search(list.begin(), list.end(), id) ? 1 : 0;
    }
  }
  const auto share = [](int64_t part, int64_t of) { return static_cast<double>(part) / static_cast<double>(of); };
  fmt::print("the lists have {:.2f}% of the {} target tokens of this text\n", 100 * share(found, tokens),
             thousands(tokens));
  fmt::print("a sentence has {:.0f} of {} tokens on average; {} the whole vocabulary\n", share(listed, corpus.size()),
             thousands(shortlist.target_words()), whole == 1 ? "1 has" : thousands(whole) + " have");
}

int shortlist(const ShortlistFlags& flags) {
  const std::string folder = find_model(flags.model);
  FolderConfig config = read_folder_config(folder);
  check(config.task != "caption", "{}: expected a model that reads text, got one of the task caption", folder);
  check(!config.model.copies(), "{}: expected a model that does not copy words of its source", folder);
  check(!flags.store || flags.output.empty(), "--store: expected no --output: the shortlist is stored in the model");
  const LoadedModel model = load_model(folder, Device::cpu());
  const ParallelLines lines = flags.target.empty() ? read_tsv(flags.source) : read_parallel(flags.source, flags.target);
  const ParallelCorpus corpus = build_corpus(lines, *model.source, *model.target, {}).corpus;
  const Shortlist made = estimate_shortlist(corpus, *model.source, *model.target, flags.options);
  const std::string path = flags.output.empty() ? shortlist_path(folder) : flags.output;
  made.save(path, *model.source, *model.target);
  fmt::print("{}: {} tokens for every sentence, {} for single source tokens, from {}\n", path, thousands(made.common()),
             thousands(made.entries()), counted(corpus.size(), "pair"));
  print_coverage(made, corpus);
  if (!flags.store) return kDone;
  config.decoding.shortlist = true;
  save_config(folder, config);
  fmt::print("{} decodes with it by default, on a CPU\n", folder);
  return kDone;
}

}  // namespace

void add_shortlist(CLI::App& app, Run& run) {
  CLI::App* command =
      app.add_subcommand("shortlist", "Make a shortlist of target words, with which a model decodes faster.");
  const auto flags = std::make_shared<ShortlistFlags>();
  command->add_option("-m,--model", flags->model, "A model folder or the name of a shipped model.")
      ->required()
      ->type_name("DIR");
  command
      ->add_option("source", flags->source, "The source text that the model was trained on, or a TSV file with both.")
      ->required()
      ->type_name("FILE");
  command->add_option("target", flags->target, "The target text, aligned line by line.")->type_name("FILE");
  command
      ->add_option("-o,--output", flags->output,
                   "File for the shortlist; shortlist.safetensors in the model folder "
                   "by default.")
      ->type_name("FILE");
  command->add_flag("--store", flags->store,
                    "Also store in the model's config.json that it decodes with the shortlist by default.");
  add_flags(*command, flags->options, "Shortlist");
  command->footer("Decode with it by --shortlist on, or --shortlist FILE.");
  command->callback([flags, &run] { run = [flags] { return shortlist(*flags); }; });
}

}  // namespace fovea::app
