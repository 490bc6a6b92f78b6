// fovea view: what a model looked at, as pictures in the terminal and in files; records, alignments and diagnostics of
// whole texts; the curves of training runs.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.h"
#include "base/thousands.h"
#include "decode/options.h"
#include "fovea/commands.h"
#include "fovea/console.h"
#include "fovea/flags.h"
#include "fovea/mistakes.h"
#include "fovea/output.h"
#include "store/shipped.h"
#include "text/lines.h"
#include "view/align.h"
#include "view/curves.h"
#include "view/diagnostics.h"
#include "view/html.h"
#include "view/png.h"
#include "view/record_file.h"
#include "view/svg.h"
#include "view/terminal.h"
#include "view/text_width.h"

namespace fovea::app {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLinesAtOnce = 256;  // whose weights are in memory

const std::vector<std::string> kViews = {"heatmap", "highlight", "flow", "heads", "steps", "diagnostics"};
const std::vector<std::string> kFormats = {"terminal", "svg", "png", "html", "json", "npy", "pharaoh"};

struct ViewFlags : ModelFlags {
  std::vector<std::string> what;
  std::string target, input, output, as = "heatmap", format, sort_by;
  int64_t line = 0, alternatives = 5;
  SearchOptions search;
  ReduceOptions heads;
  PictureStyle style;
  AlignOptions align;
};

// --format, or what the output file's name says.
std::string format_of(const ViewFlags& flags) {
  if (!flags.format.empty()) return flags.format;
  std::string extension = std::filesystem::path(flags.output).extension().string();
  if (extension.empty()) return "terminal";
  extension.erase(0, 1);
  if (extension == "jsonl") return "json";
  if (extension == "txt") return "terminal";
  check(std::find(kFormats.begin(), kFormats.end(), extension) != kFormats.end(),
        "{}: expected the ending txt, svg, png, html, json, npy or pharaoh, or --format", flags.output);
  return extension;
}

// ---- where records come from

using Take = std::function<void(AttentionRecord&)>;

class ModelRecords {
 public:
  explicit ModelRecords(const ViewFlags& flags) : flags_(flags), translator_(flags.load()) {}

  void each(const Take& take) const {
    const std::vector<std::string> sources = flags_.input.empty() ? flags_.what : read_lines(flags_.input);
    check(!sources.empty(), "view: expected a sentence, or --input with sentences");
    std::vector<std::string> targets;
    if (!flags_.target.empty()) {
      targets = flags_.input.empty() ? std::vector{flags_.target} : read_lines(flags_.target);
      check(targets.size() == sources.size(), "--target: expected a target for each of {} sources, got {}",
            sources.size(), targets.size());
    }
    Console console(stderr);
    if (flags_.input.empty()) warn_of_unknown(console);
    for (size_t at = 0; at < sources.size(); at += kLinesAtOnce) {
      const size_t count = std::min(kLinesAtOnce, sources.size() - at);
      const auto part = std::span(sources).subspan(at, count);
      if (targets.empty()) {
        decoded(part, at, take);
      } else {
        forced(part, std::span(targets).subspan(at, count), at, take);
      }
      if (sources.size() > kLinesAtOnce) {
        console.live(
            fmt::format("{} of {} lines", thousands(static_cast<int64_t>(at + count)), thousands(std::ssize(sources))));
      }
    }
  }

 private:
  void warn_of_unknown(Console& console) const {
    for (const std::string& text : flags_.what) {
      for (const std::string& word : translator_.unknown(text)) {
        console.line(fmt::format("warning: the model does not know \"{}\"", harmless(word, false)));
      }
      if (const std::string spaced = translator_.spaced(text); !spaced.empty()) {
        console.line(fmt::format("hint: the model reads single characters, separated by spaces: \"{}\"",
                                 harmless(spaced, false)));
      }
    }
  }
  void decoded(std::span<const std::string> sources, size_t before, const Take& take) const {
    SearchOptions search = flags_.search;
    search.keep_weights = true;
    search.alternatives = flags_.alternatives;
    const std::vector<Translation> translations = translator_.translate(sources, search);
    for (size_t i = 0; i < sources.size(); ++i) {
      for (size_t n = 0; n < translations[i].candidates.size(); ++n) {
        AttentionRecord record = translator_.record(sources[i], translations[i].candidates[n].hypothesis);
        record.line = static_cast<int64_t>(before + i) + 1;
        record.rank = static_cast<int64_t>(n) + 1;
        record.search = search_name(flags_.search);
        take(record);
      }
    }
  }
  void forced(std::span<const std::string> sources, std::span<const std::string> targets, size_t before,
              const Take& take) const {
    const ScoreOptions options{.keep_weights = true, .alternatives = flags_.alternatives};
    const std::vector<Hypothesis> hypotheses = translator_.score(sources, targets, options);
    for (size_t i = 0; i < sources.size(); ++i) {
      AttentionRecord record = translator_.record(sources[i], hypotheses[i]);
      record.line = static_cast<int64_t>(before + i) + 1;
      record.search = "forced";
      take(record);
    }
  }

  const ViewFlags& flags_;
  Translator translator_;
};

void each_record(const ViewFlags& flags, const Take& take) {
  const auto chosen = [&](AttentionRecord& record) {
    if (flags.line == 0 || record.line == flags.line) take(record);
  };
  if (!flags.models.empty()) return ModelRecords(flags).each(chosen);
  for (const std::string& path : flags.what) {
    for (AttentionRecord& record : read_records(path)) chosen(record);
  }
}

// ---- what is made of a record

std::string as_text(const AttentionRecord& record, const ViewFlags& flags, const TerminalStyle& terminal) {
  std::string text = fmt::format("source: {}\ntarget: {}\n", harmless(record.source_text, !terminal.unicode),
                                 harmless(record.target_text, !terminal.unicode));
  if (record.source.empty()) return text + "(an empty line: nothing was attended to)\n";
  text += fmt::format("{}, {}, log p {:.2f}\n\n", record.architecture, record.search, record.log_probability);
  if (flags.as == "heads") {
    return text + heads_text(every_head(record, flags.heads), static_cast<int>(heads_of(record, flags.heads)),
                             flags.style, terminal);
  }
  const Grid grid = reduce(record, flags.heads);
  if (flags.as == "highlight") return text + highlight_text(grid, flags.style, terminal);
  if (flags.as == "flow") return text + flow_text(grid, flags.style, terminal);
  if (flags.as == "steps") return text + steps_text(grid, flags.style, terminal);
  return text + heatmap_text(grid, flags.style, terminal);
}

std::string as_svg(const AttentionRecord& record, const ViewFlags& flags) {
  if (flags.as == "heads") {
    return heads_svg(every_head(record, flags.heads), flags.style, static_cast<int>(heads_of(record, flags.heads)));
  }
  const Grid grid = reduce(record, flags.heads);
  if (flags.as == "highlight") return highlight_svg(grid, flags.style);
  if (flags.as == "flow") return flow_svg(grid, flags.style);
  if (flags.as == "steps") return steps_svg(grid, flags.style);
  return heatmap_svg(grid, flags.style);
}

std::string as_html(const AttentionRecord& record, const ViewFlags& flags) {
  if (flags.as == "heads") {
    return heads_html(every_head(record, flags.heads), flags.style, static_cast<int>(heads_of(record, flags.heads)));
  }
  const Grid grid = reduce(record, flags.heads);
  if (flags.as == "highlight") return highlight_html(grid, flags.style);
  if (flags.as == "flow") return flow_html(grid, flags.style);
  if (flags.as == "steps") return steps_html(grid, flags.style);
  return heatmap_html(grid, flags.style);
}

std::string drawn(const AttentionRecord& record, const ViewFlags& flags, const std::string& format) {
  check(!record.source.empty(), "line {}: expected text, got an empty line", record.line);
  if (format == "npy") {
    for (const RecordedAttention& a : record.attentions) {
      if (a.kind == flags.heads.attention && a.model == flags.heads.member - 1) return to_npy(a);
    }
    fail("attention: the record has no {}", flags.heads.attention);
  }
  if (format == "html") return as_html(record, flags);
  const std::string svg = as_svg(record, flags);
  return format == "png" ? svg_to_png(svg) : svg;
}

int show_records(const ViewFlags& flags, const std::string& format) {
  const TerminalStyle terminal = terminal_style(flags.output.empty() ? STDOUT_FILENO : -1);
  Output output(flags.output);
  std::string picture;  // written once it is known to be the only one
  int64_t count = 0;
  each_record(flags, [&](AttentionRecord& record) {
    ++count;
    if (format == "json") return output.write(to_json(record) + "\n");
    if (format == "pharaoh") {
      const bool empty = record.source.empty();
      return output.write((empty ? "" : to_pharaoh(align(record, flags.heads, flags.align), 0)) + "\n");
    }
    if (format == "terminal") return output.write((count > 1 ? "\n" : "") + as_text(record, flags, terminal));
    check(count == 1, "format {}: a file holds one picture and there are several records; choose one with --line",
          format);
    picture = drawn(record, flags, format);
  });
  check(count > 0, "view: the input has no line {}", flags.line);
  if (!picture.empty()) output.write(picture);
  output.commit();
  return kDone;
}

// ---- numbers

struct Diagnosed {
  int64_t line, rank;
  std::string source, target;
  Diagnostics numbers;
};

std::vector<Diagnosed> diagnose_all(const ViewFlags& flags) {
  std::vector<Diagnosed> all;
  each_record(flags, [&](const AttentionRecord& record) {
    if (record.source.empty()) return;
    all.push_back(
        {record.line, record.rank, record.source_text, record.target_text, diagnose(reduce(record, flags.heads))});
  });
  check(!all.empty(), "view: expected sentences, got empty lines only");
  if (flags.sort_by.empty()) return all;
  const bool higher = Diagnostics::higher_is_worse(flags.sort_by);
  std::stable_sort(all.begin(), all.end(), [&](const Diagnosed& a, const Diagnosed& b) {
    const double x = a.numbers.named(flags.sort_by), y = b.numbers.named(flags.sort_by);
    return higher ? x > y : x < y;
  });
  return all;
}

int show_diagnostics(const ViewFlags& flags, const std::string& format) {
  check(format == "terminal" || format == "json", "format {}: diagnostics are for the terminal or json", format);
  const std::vector<Diagnosed> all = diagnose_all(flags);
  const TerminalStyle terminal = terminal_style(flags.output.empty() ? STDOUT_FILENO : -1);
  const std::vector<std::string> names = Diagnostics::names();
  Output output(flags.output);
  std::string text;
  if (format == "terminal") {
    text = fmt::format("{:>6}", "line");
    for (const std::string& name : names) text += "  " + name;
    text += "  source → target\n";
  }
  const auto numbers = [&](const std::string& head, const auto& value) {
    std::string row = fmt::format("{:>6}", head);
    for (const std::string& name : names) row += fmt::format("  {:>{}.3f}", value(name), name.size());
    return row;
  };
  for (const Diagnosed& d : all) {
    if (format == "json") {
      Json json{{"line", d.line}, {"rank", d.rank}, {"source", d.source}, {"target", d.target}};
      for (const std::string& name : names) json[name] = d.numbers.named(name);
      text += json.dump() + "\n";
    } else {
      text += numbers(std::to_string(d.line), [&](const std::string& name) { return d.numbers.named(name); });
      text += fmt::format("  {} → {}\n", harmless(d.source, !terminal.unicode), harmless(d.target, !terminal.unicode));
    }
  }
  if (format == "terminal" && all.size() > 1) {
    text += numbers("mean", [&](const std::string& name) {
      double sum = 0;
      for (const Diagnosed& d : all) sum += d.numbers.named(name);
      return sum / static_cast<double>(all.size());
    });
    text += fmt::format("  of {} sentences\n", all.size());
  }
  output.write(text);
  output.commit();
  return kDone;
}

// ---- runs

int show_runs(const ViewFlags& flags, const std::string& format) {
  check(format == "terminal" || format == "svg" || format == "png",
        "format {}: the curves of a run are for the terminal, svg or png", format);
  std::vector<RunCurves> runs;
  for (const std::string& folder : flags.what) runs.push_back(read_run(folder));
  Output output(flags.output);
  if (format == "terminal") {
    output.write(curves_text(runs, terminal_style(flags.output.empty() ? STDOUT_FILENO : -1)));
  } else {
    const std::string svg = curves_svg(runs);
    output.write(format == "png" ? svg_to_png(svg) : svg);
  }
  output.commit();
  return kDone;
}

// What is no file, and does not look like the name of one.
bool is_sentence(const std::string& text) {
  std::error_code too_long;  // for the name of a file
  if (std::filesystem::exists(text, too_long)) return false;
  const bool words = text.find(' ') != std::string::npos;
  return words || (text.find('/') == std::string::npos && std::filesystem::path(text).extension().empty());
}

int view(ViewFlags flags) {
  const bool all_folders = std::all_of(flags.what.begin(), flags.what.end(), [](const std::string& path) {
    std::error_code too_long;  // for the name of a file
    return std::filesystem::is_directory(path, too_long);
  });
  if (flags.models.empty() && !all_folders) {
    if (const std::string wrong = model_among_texts("view", flags.what); !wrong.empty()) return misused(wrong);
  }
  warn_of_unused(flags.search);
  const std::string format = format_of(flags);
  const bool binary = format == "png" || format == "npy";
  check(!binary || !flags.output.empty() || isatty(STDOUT_FILENO) != 1,
        "format {}: expected --output, because a terminal cannot show it", format);
  check(!flags.what.empty() || !flags.input.empty(),
        "view: expected a sentence, as in fovea view 'I love you.', a record, or the folder of a run");
  if (flags.models.empty() && !flags.what.empty() && is_sentence(flags.what.front())) {
    flags.models = {model_for(flags.what.front())};
  }
  if (flags.models.empty()) {
    check(flags.target.empty() && flags.input.empty(), "view: --target and --input need --model");
    if (all_folders) return show_runs(flags, format);
  }
  const bool diagnostics = flags.as == "diagnostics" || !flags.sort_by.empty();
  return diagnostics ? show_diagnostics(flags, format) : show_records(flags, format);
}

}  // namespace

void add_view(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("view", "Visualise a model's attention, and plot training runs.");
  const auto flags = std::make_shared<ViewFlags>();
  command
      ->add_option("what", flags->what,
                   "A sentence, attention records (JSON, one per line), or folders of training runs.")
      ->type_name("TEXT|FILE|DIR");
  add_model_flags(*command, *flags);
  command
      ->add_option("-t,--target", flags->target,
                   "Target to force instead of decoding; with --input, a file of targets.")
      ->type_name("TEXT");
  command->add_option("-i,--input", flags->input, "File of sentences, one per line.")->type_name("FILE");
  command->add_option("-o,--output", flags->output, "File for the picture; standard output by default.")
      ->type_name("FILE");
  command->add_option("--as", flags->as, "Kind of picture.")->check(CLI::IsMember(kViews));
  command
      ->add_option("-f,--format", flags->format,
                   "Output format; by default the ending of --output, otherwise terminal.")
      ->check(CLI::IsMember(kFormats));
  command->add_option("--line", flags->line, "Show only this line of the input.")->check(at_least(1));
  command->add_option("--alternatives", flags->alternatives, "Number of most likely tokens to record for each step.")
      ->check(at_least(0));
  command->add_option("--sort-by", flags->sort_by, "Print diagnostics, sorted from worst to best by this number.")
      ->check(CLI::IsMember(Diagnostics::names()));
  add_flags(*command, flags->heads, "Heads");
  add_flags(*command, flags->style, "Picture");
  add_flags(*command, flags->align, "Alignment (pharaoh)");
  add_flags(*command, flags->search, "Search");
  command->footer(
      "A heat map in the terminal, an animation of decoding, the worst sentences of a file, and the curves of a run:\n"
      "  fovea view -m runs/dates 'the 3rd of may 1986'\n"
      "  fovea view -m runs/dates 'the 3rd of may 1986' --as steps -o steps.html\n"
      "  fovea view -m runs/dates --input dates.txt --sort-by entropy\n"
      "  fovea view runs/dates");
  command->callback([flags, &run] { run = [flags] { return view(*flags); }; });
}

}  // namespace fovea::app
