// fovea view: attention as pictures in the terminal and in files; records, alignments and diagnostics of whole texts;
// the curves of training runs.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/error.h"
#include "fovea/commands.h"
#include "fovea/console.h"
#include "fovea/mistakes.h"
#include "fovea/output.h"
#include "fovea/view_answers.h"
#include "fovea/view_records.h"
#include "store/folder_config.h"
#include "store/shipped.h"
#include "store/task_names.h"
#include "view/curves.h"
#include "view/diagnostics.h"
#include "view/svg_render.h"
#include "view/terminal.h"
#include "vision/image.h"

namespace fovea::app {

namespace {

std::vector<std::string> views() {
  std::vector<std::string> names = record_views();
  names.emplace_back("diagnostics");
  return names;
}
const std::vector<std::string> kFormats = {"terminal", "svg", "png", "pdf",         "html",
                                           "json",     "npy", "npz", "safetensors", "pharaoh"};
const std::vector<std::string> kData = {"json", "npy", "npz", "safetensors"};

bool is_one_of(const std::string& format, const std::vector<std::string>& formats) {
  return std::find(formats.begin(), formats.end(), format) != formats.end();
}

// The format of --format, or else of the output file's extension.
std::string format_of(const ViewFlags& flags) {
  if (!flags.format.empty()) return flags.format;
  std::string extension = std::filesystem::path(flags.output).extension().string();
  if (extension.empty()) return "terminal";
  extension.erase(0, 1);
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (extension == "jsonl") return "json";
  if (extension == "txt") return "terminal";
  check(is_one_of(extension, kFormats),
        "{}: expected the ending txt, svg, png, pdf, html, json, npy, npz, safetensors or pharaoh, or --format",
        flags.output);
  return extension;
}

// ---- output of a record

// Converts an SVG to the format. PNG and PDF use this machine's fonts and show boxes for missing glyphs.
std::string rendered(const std::string& svg, const std::string& format) {
  if (format == "svg") return svg;
  Console console(stderr);
  for (const MissingGlyphs& missing : missing_glyphs(svg)) console.line("warning: " + missing.statement());
  return format == "png" ? svg_to_png(svg) : svg_to_pdf(svg);
}

int show_records(const ViewFlags& given, const std::string& format) {
  const TerminalStyle terminal = terminal_style(given.output.empty() ? STDOUT_FILENO : -1);
  Output output(given.output);
  std::string picture;  // written at the end, when it is known that there is only one
  int64_t count = 0;
  each_record(given, [&](AttentionRecord& record) {
    ++count;
    if (format == "pharaoh") {
      if (record.image) fail("format pharaoh: expected a source text to align, got the picture {}", record.image->name);
      const bool empty = record.source.empty();
      return output.write((empty ? "" : to_pharaoh(align(record, given.heads, given.align), 0)) + "\n");
    }
    if (format == "terminal") return output.write((count > 1 ? "\n" : "") + record_text(record, given, terminal));
    check(count == 1, "format {}: a file holds one picture and there are several records; choose one with --line",
          format);
    picture = format == "html" ? record_html(record, given) : rendered(record_svg(record, given), format);
  });
  check(count > 0, "view: the input has no line {}", given.line);
  if (!picture.empty()) output.write(picture);
  output.commit();
  return kDone;
}

// ---- runs

int show_runs(const ViewFlags& flags, const std::string& format) {
  check(is_one_of(format, {"terminal", "svg", "png", "pdf"}),
        "format {}: the curves of a run are for the terminal, svg, png or pdf", format);
  std::vector<RunCurves> runs;
  for (const std::string& folder : flags.what) runs.push_back(read_run(folder));
  Output output(flags.output);
  if (format == "terminal") {
    output.write(curves_text(runs, terminal_style(flags.output.empty() ? STDOUT_FILENO : -1)));
  } else {
    output.write(rendered(curves_svg(runs), format));
  }
  output.commit();
  return kDone;
}

// An argument that is neither a file nor looks like the name of one.
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
  const std::string format = format_of(flags);
  const bool binary = is_one_of(format, {"png", "pdf", "npy", "npz"});
  check(!binary || !flags.output.empty() || isatty(STDOUT_FILENO) != 1,
        "format {}: expected --output, because a terminal cannot show it", format);
  check(!flags.what.empty() || !flags.input.empty(),
        "view: expected a sentence, as in fovea view 'I love you.', a picture, a record, or the folder of a run");
  check_output_is_no_input(flags.output, flags.what);
  if (flags.models.empty() && flags.passage.empty() && !flags.what.empty()) {
    const std::string& first = flags.what.front();
    if (is_picture_file(first)) flags.models = {model_of_task("caption", "")};
    if (is_sentence(first)) flags.models = {model_for(first)};
  }
  const std::string task = flags.models.empty() ? "" : task_of_model(find_model(flags.models.front()));
  const bool decodes = is_text_to_text(task) || task == "caption";
  flags.search = decodes ? flags.search_flags.checked_for_model(read_folder_config(find_model(flags.models.front())))
                         : flags.search_flags.checked_for_task(task);
  if (flags.models.empty()) {
    check(flags.target.empty() && flags.input.empty(), "view: --target and --input need --model");
    if (all_folders) return show_runs(flags, format);
  }
  check(flags.passage.empty() || !flags.models.empty(), "--passage: expected --model with a model of the task answer");
  check(!flags.scores || is_one_of(format, kData), "--scores: expected --format json, npy, npz or safetensors");
  check(!flags.scores || !flags.combined || flags.heads.heads == "one",
        "--scores: expected no --heads {}, which combines weights; --layer and --head select scores",
        flags.heads.heads);
  const bool diagnostics = flags.as == "diagnostics" || !flags.sort_by.empty();
  if (diagnostics) return show_diagnostics(flags, format);
  return is_one_of(format, kData) ? write_data(flags, format) : show_records(flags, format);
}

}  // namespace

void add_view(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("view", "Visualise a model's attention, and plot training runs.");
  const auto flags = std::make_shared<ViewFlags>();
  command
      ->add_option("what", flags->what,
                   "A sentence, a picture, attention records (JSON, one per line), or folders of training runs.")
      ->type_name("TEXT|FILE|DIR");
  add_model_flags(*command, *flags);
  command
      ->add_option("-t,--target", flags->target,
                   "Target to force instead of decoding; with --input, a file of targets.")
      ->type_name("TEXT");
  command->add_option("-i,--input", flags->input, "File of sentences, one per line.")->type_name("FILE");
  command
      ->add_option("-p,--passage", flags->passage,
                   "Task answer: file with the passage that the questions are about; - for standard input.")
      ->type_name("FILE");
  command->add_option("-o,--output", flags->output, "File for the picture; standard output by default.")
      ->type_name("FILE");
  command
      ->add_option("--as", flags->as,
                   "Kind of picture; by default strip for photographs, highlight for classifiers and readers, heatmap "
                   "otherwise.")
      ->check(CLI::IsMember(views()));
  command
      ->add_option("-f,--format", flags->format,
                   "Output format; by default the ending of --output, otherwise terminal.")
      ->check(CLI::IsMember(kFormats));
  command
      ->add_option("--cell", flags->cell,
                   "Attention between the cells of a picture: show that of this cell, counted from 1 at the upper left "
                   "corner; by default of cells that look far.")
      ->type_name("ROW,COLUMN");
  command->add_option("--line", flags->line, "Show only this line of the input.")->check(at_least(1));
  command->add_option("--alternatives", flags->alternatives, "Number of most likely tokens to record for each step.")
      ->check(at_least(0));
  command->add_flag("--scores", flags->scores,
                    "With json, npy, npz and safetensors: also write the attention scores, before softmax; npy holds "
                    "them instead of the weights.");
  command->add_option("--sort-by", flags->sort_by, "Print diagnostics, sorted from worst to best by this number.")
      ->check(CLI::IsMember(Diagnostics::names()));
  add_flags(*command, flags->heads, "Heads");
  add_flags(*command, flags->style, "Picture");
  add_flags(*command, flags->align, "Alignment (pharaoh)");
  flags->search_flags.add_to(*command, search_group("Search"));
  command->footer(
      "A heat map in the terminal, an animation of decoding, the worst sentences of a file, and the curves of a run:\n"
      "  fovea view -m runs/dates 'the 3rd of may 1986'\n"
      "  fovea view -m runs/dates 'the 3rd of may 1986' --as steps -o steps.html\n"
      "  fovea view -m runs/dates --input dates.txt --sort-by entropy\n"
      "  fovea view -m runs/dates --input dates.txt --attention cross -o dates.npz\n"
      "  fovea view -m runs/answer --passage article.txt 'Who founded the town?'\n"
      "  fovea view photo.jpg -o photo.html\n"
      "  fovea view runs/dates");
  command->callback([flags, &run, command] {
    flags->one_attention = command->count("--attention") > 0;
    flags->combined = command->count("--heads") > 0;
    run = [flags] { return view(*flags); };
  });
}

}  // namespace fovea::app
