// fovea data import: corpora in the formats of other tools as text that training reads. fovea data clean: the same
// cleaning of text that is there already.
#include "fovea/data_corpora.h"

#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "corpora/import.h"
#include "fovea/commands.h"
#include "fovea/data_pipeline.h"
#include "text/lines.h"

namespace fovea::app {

namespace {

struct ImportFlags : PipelineFlags {
  std::vector<std::string> files;
  std::string format = "auto";
  ImportOptions import;
};

struct CleanFlags : PipelineFlags {
  std::string source, target, source_language, target_language;
};

int import_corpus(const ImportFlags& flags) {
  check(flags.clean || flags.held_out.empty(), "--held-out: expected --clean, too, which drops pairs");
  return run_interruptible([&] {
    DataPipeline pipeline(flags, flags.import.source_language, flags.import.target_language);
    const ImportReport report = import_corpora(flags.files, flags.format, flags.import, pipeline);
    std::string read = report.text();
    for (const auto& [extension, count] : report.ignored) {
      read += fmt::format("; ignored {} of the archive {}", count,
                          extension.empty() ? "without an extension" : "with the extension ." + extension);
    }
    pipeline.finish(read);
  });
}

// Reads two files in step, or a TSV file.
template <class Take> void read_pairs(const CleanFlags& flags, const Take& take) {
  LineReader sources(flags.source);
  if (flags.target.empty()) {
    for (std::string line; sources.next(line);) {
      const size_t tab = line.find('\t');
      check(tab != std::string::npos && line.find('\t', tab + 1) == std::string::npos,
            "{}: expected two columns separated by a tab; for tables with a header, use fovea data import --clean",
            sources.place());
      take(TextPair{line.substr(0, tab), line.substr(tab + 1), sources.place()});
    }
    return;
  }
  LineReader targets(flags.target);
  std::string source, target;
  while (true) {
    const bool more = sources.next(source), more_targets = targets.next(target);
    check(more == more_targets, "{}: expected as many lines as in {}, got fewer", more ? flags.target : flags.source,
          more ? flags.source : flags.target);
    if (!more) return;
    take(TextPair{source, target, sources.place()});
  }
}

int clean_corpus(const CleanFlags& flags) {
  return run_interruptible([&] {
    DataPipeline pipeline(flags, flags.source_language, flags.target_language);
    read_pairs(flags, [&](TextPair pair) { pipeline.take(std::move(pair)); });
    pipeline.finish("");
  });
}

std::string formats_text() {
  std::string text = "Formats, by the ends of the files' names:\n";
  for (const CorpusFormat& format : corpus_formats()) text += fmt::format("  {:6} {}\n", format.name, format.help);
  return text +
         "Files may be compressed by gzip, and zip archives may contain them.\n"
         "Columns and keys are found by the languages, or are source and target.\n"
         "Exit status 130: interrupted; no file was written.";
}

void add_language_flags(CLI::App& command, std::string& source, std::string& target, const std::string& help) {
  command.add_option("--source", source, "Source language, a code such as en" + help)->type_name("CODE");
  command.add_option("--target", target, "Target language.")->type_name("CODE");
}

}  // namespace

void add_data_import(CLI::App& data, Run& run) {
  CLI::App* command = data.add_subcommand(
      "import", "Read translation memories, catalogues, tables and other corpora; write text that training reads.");
  const auto flags = std::make_shared<ImportFlags>();
  command->add_option("files", flags->files, "Files in the formats below.")->type_name("FILE")->required();
  add_language_flags(*command, flags->import.source_language, flags->import.target_language,
                     "; it also means its variants, as en-US.");
  std::vector<std::string> formats = {"auto"};
  for (const CorpusFormat& format : corpus_formats()) formats.emplace_back(format.name);
  command->add_option("--format", flags->format, "Format of all files; by default chosen by their names.")
      ->check(CLI::IsMember(formats));
  command->add_option("--source-column", flags->import.source_column, "Tables and JSON: column or key of the source.")
      ->type_name("NAME");
  command->add_option("--target-column", flags->import.target_column, "Tables and JSON: column or key of the target.")
      ->type_name("NAME");
  command->add_flag("--no-header", flags->import.no_header, "Tables: the first row is a pair; columns have numbers.");
  command->add_flag("--fuzzy", flags->import.fuzzy,
                    "Also read translations that are marked as unfinished: fuzzy in PO, new or needs-... in XLIFF.");
  command->add_flag("--clean", flags->clean, "Drop pairs that do not help, as fovea data clean does.");
  add_pipeline_flags(*command, *flags);
  command->footer(formats_text());
  command->callback([flags, &run] { run = [flags] { return import_corpus(*flags); }; });
}

void add_data_clean(CLI::App& data, Run& run) {
  CLI::App* command = data.add_subcommand("clean", "Drop the pairs of a corpus that do not help a model to learn.");
  const auto flags = std::make_shared<CleanFlags>();
  flags->clean = true;
  command->add_option("source_text", flags->source, "Source text, or a TSV file with both sides.")
      ->required()
      ->type_name("FILE");
  command->add_option("target_text", flags->target, "Target text, aligned line by line.")->type_name("FILE");
  add_language_flags(*command, flags->source_language, flags->target_language,
                     "; without it, scripts and languages are not checked.");
  add_pipeline_flags(*command, *flags);
  command->footer(
      "Each pair is dropped for the first reason that applies: empty, control characters, markup, identical sides,\n"
      "too short, too long, length ratio, wrong script, wrong language, held out, duplicate; then noisy.\n"
      "Memory: some 40 bytes for each pair that is kept; with --keep, all pairs.");
  command->callback([flags, &run] { run = [flags] { return clean_corpus(*flags); }; });
}

}  // namespace fovea::app
