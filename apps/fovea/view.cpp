// fovea view: attention as pictures in the terminal and in files; records, alignments and diagnostics of whole texts;
// the curves of training runs.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
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
#include "store/shipped.h"
#include "view/curves.h"
#include "view/diagnostics.h"
#include "view/html.h"
#include "view/picture_frames.h"
#include "view/svg.h"
#include "view/svg_render.h"
#include "view/terminal.h"
#include "view/terminal_text.h"

namespace fovea::app {

namespace {

const std::vector<std::string> kViews = {"heatmap", "highlight", "flow",  "heads",
                                         "steps",   "overlay",   "strip", "diagnostics"};
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

const AttentionKindEntry* kind_of(const AttentionRecord& record, const ReduceOptions& options) {
  return find_attention_kind(options.attention == "auto" ? default_attention(record) : options.attention);
}

// Whether the chosen attention is over the cells of a picture.
bool over_picture(const AttentionRecord& record, const ReduceOptions& options) {
  const AttentionKindEntry* kind = kind_of(record, options);
  return record.image && kind != nullptr && kind->columns == AttentionAxis::kSource;
}

// --cell ROW,COLUMN, counted from 1, as the number of a cell of the picture.
int64_t cell_of(const std::string& text, const Grid& grid) {
  check(has_cells_as_rows(grid), "--cell: expected attention between the cells of a picture, got {}", grid.title);
  int64_t row = 0, column = 0;
  const char* end = text.data() + text.size();
  const auto [comma, bad_row] = std::from_chars(text.data(), end, row);
  bool valid = bad_row == std::errc() && comma != end && *comma == ',';
  if (valid) {
    const auto [rest, bad_column] = std::from_chars(comma + 1, end, column);
    valid = bad_column == std::errc() && rest == end;
  }
  check(valid && row >= 1 && row <= grid.image->rows && column >= 1 && column <= grid.image->columns,
        "--cell: expected a row from 1 to {}, a comma and a column from 1 to {}, got {}", grid.image->rows,
        grid.image->columns, text);
  return (row - 1) * grid.image->columns + column - 1;
}

// The grid of a record; of a classified text with its class in the title, of a passage with the answer marked.
Grid grid_of(const AttentionRecord& record, const ViewFlags& flags) {
  Grid grid = reduce(record, flags.heads);
  if (!record.classes.empty()) {
    const ClassProbability& best = record.classes.front();
    grid.title = fmt::format("{} {:.1f}%: {}", best.label, 100 * best.probability, grid.title);
  }
  if (record.answer) mark_answer(grid, record);
  if (flags.style.normalise && flags.as == "heatmap") grid = normalise_rows(std::move(grid));
  if (!flags.cell.empty()) grid.cell = cell_of(flags.cell, grid);
  return grid;
}

std::vector<Grid> heads_to_draw(const AttentionRecord& record, const ViewFlags& flags) {
  std::vector<Grid> grids = every_head(record, flags.heads);
  if (!flags.style.normalise) return grids;
  for (Grid& grid : grids) grid = normalise_rows(std::move(grid));
  return grids;
}

// The source of a record as a line of text: the picture with its size, or the text.
std::string source_line(const AttentionRecord& record, std::string_view name, const TerminalStyle& terminal) {
  if (!record.image) return fmt::format("{}: {}\n", name, harmless(record.source_text, !terminal.unicode));
  return fmt::format("picture: {} ({} x {})\n", harmless(record.image->name, !terminal.unicode), record.image->width,
                     record.image->height);
}

// A classifier's output, as text above its picture.
std::string classes_text(const AttentionRecord& record, const TerminalStyle& terminal) {
  constexpr size_t kMost = 5;
  std::string text = source_line(record, "text", terminal);
  for (size_t i = 0; i < std::min(kMost, record.classes.size()); ++i) {
    const auto& [label, probability] = record.classes[i];
    text += fmt::format("{}{} {:.1f}%", i == 0 ? "" : ", ", harmless(label, !terminal.unicode), 100 * probability);
  }
  return text + (record.classes.size() > kMost ? ", ...\n" : "\n");
}

std::string as_text(const AttentionRecord& record, const ViewFlags& flags, const TerminalStyle& terminal) {
  std::string text;
  if (!record.classes.empty()) {
    text = classes_text(record, terminal);
    if (record.attentions.empty()) {
      return text + fmt::format("{}: every {} has the same weight, so there is nothing to see\n", record.architecture,
                                record.image ? "cell" : "token");
    }
    text += record.architecture + "\n\n";
  } else if (record.answer) {
    text = answer_text(record, terminal);
    if (record.attentions.empty()) return text + "the encoder has no attention to see\n";
    text += record.architecture + "\n\n";
  } else {
    text = source_line(record, "source", terminal) + fmt::format("{}: {}\n", record.image ? "caption" : "target",
                                                                 harmless(record.target_text, !terminal.unicode));
    if (record.is_empty()) return text + "(an empty line: nothing was attended to)\n";
    text += fmt::format("{}, {}, log p {:.2f}\n\n", record.architecture, record.search, record.log_probability);
  }
  if (flags.as == "heads") {
    if (over_picture(record, flags.heads))
      return text + picture_heads_text(every_head(record, flags.heads), flags.style, terminal);
    return text + heads_text(heads_to_draw(record, flags), static_cast<int>(heads_of(record, flags.heads)), flags.style,
                             terminal);
  }
  const Grid grid = grid_of(record, flags);
  if (flags.as == "highlight") return text + highlight_text(grid, flags.style, terminal);
  if (flags.as == "flow") return text + flow_text(grid, flags.style, terminal);
  if (flags.as == "steps") return text + steps_text(grid, flags.style, terminal);
  if (flags.as == "overlay") return text + overlay_text(grid, flags.style, terminal);
  if (flags.as == "strip") return text + strip_text(grid, flags.style, terminal);
  return text + heatmap_text(grid, flags.style, terminal);
}

std::string as_svg(const AttentionRecord& record, const ViewFlags& flags) {
  if (flags.as == "heads") {
    if (over_picture(record, flags.heads)) return picture_heads_svg(every_head(record, flags.heads), flags.style);
    return heads_svg(heads_to_draw(record, flags), flags.style, static_cast<int>(heads_of(record, flags.heads)));
  }
  const Grid grid = grid_of(record, flags);
  if (flags.as == "highlight") return highlight_svg(grid, flags.style);
  if (flags.as == "flow") return flow_svg(grid, flags.style);
  if (flags.as == "steps") return steps_svg(grid, flags.style);
  if (flags.as == "overlay") return overlay_svg(grid, flags.style);
  if (flags.as == "strip") return strip_svg(grid, flags.style);
  return heatmap_svg(grid, flags.style);
}

std::string as_html(const AttentionRecord& record, const ViewFlags& flags) {
  if (flags.as == "heads") {
    if (over_picture(record, flags.heads)) return picture_heads_html(every_head(record, flags.heads), flags.style);
    return heads_html(heads_to_draw(record, flags), flags.style, static_cast<int>(heads_of(record, flags.heads)));
  }
  const Grid grid = grid_of(record, flags);
  if (flags.as == "highlight") return highlight_html(grid, flags.style);
  if (flags.as == "flow") return flow_html(grid, flags.style);
  if (flags.as == "steps") return steps_html(grid, flags.style);
  if (flags.as == "overlay") return overlay_html(grid, flags.style);
  if (flags.as == "strip") return strip_html(grid, flags.style);
  return heatmap_html(grid, flags.style);
}

// Converts an SVG to the format. PNG and PDF use this machine's fonts and show boxes for missing glyphs.
std::string rendered(const std::string& svg, const std::string& format) {
  if (format == "svg") return svg;
  Console console(stderr);
  for (const MissingGlyphs& missing : missing_glyphs(svg)) console.line("warning: " + missing.statement());
  return format == "png" ? svg_to_png(svg) : svg_to_pdf(svg);
}

std::string drawn(const AttentionRecord& record, const ViewFlags& flags, const std::string& format) {
  check(!record.is_empty(), "line {}: expected text, got an empty line", record.line);
  if (format == "html") return as_html(record, flags);
  return rendered(as_svg(record, flags), format);
}

// Whether the rows of the chosen attention are no tokens: a text with its shades shows them better than a matrix.
bool has_named_rows(const AttentionRecord& record, const ReduceOptions& options) {
  const std::string kind = options.attention == "auto" ? default_attention(record) : options.attention;
  return !record.classes.empty() || std::any_of(record.attentions.begin(), record.attentions.end(),
                                                [&](const auto& a) { return a.kind == kind && !a.row_labels.empty(); });
}

// Chooses the kind of picture that suits the record, or checks that the one asked for does. Pictures are lit word by
// word, because the light of a piece of a word is hard to read.
void choose_view(ViewFlags& flags, const AttentionRecord& record) {
  if (over_picture(record, flags.heads)) {
    if (flags.as.empty()) flags.as = "strip";
    check(is_one_of(flags.as, {"overlay", "strip", "heads"}),
          "--as {}: expected overlay, strip or heads, because the source of line {} is a picture", flags.as,
          record.line);
    flags.heads.words =
        !has_named_rows(record, flags.heads) && kind_of(record, flags.heads)->rows == AttentionAxis::kTarget;
    return;
  }
  if (flags.as.empty()) flags.as = has_named_rows(record, flags.heads) ? "highlight" : "heatmap";
  check(!is_one_of(flags.as, {"overlay", "strip"}), "--as {}: expected attention over a picture, got {} of a text",
        flags.as, flags.heads.attention == "auto" ? default_attention(record) : flags.heads.attention);
}

int show_records(const ViewFlags& given, const std::string& format) {
  const TerminalStyle terminal = terminal_style(given.output.empty() ? STDOUT_FILENO : -1);
  Output output(given.output);
  std::string picture;  // written at the end, when it is known that there is only one
  int64_t count = 0;
  each_record(given, [&](AttentionRecord& record) {
    ++count;
    ViewFlags flags = given;
    if (format == "pharaoh") {
      if (record.image) fail("format pharaoh: expected a source text to align, got the picture {}", record.image->name);
      const bool empty = record.source.empty();
      return output.write((empty ? "" : to_pharaoh(align(record, flags.heads, flags.align), 0)) + "\n");
    }
    choose_view(flags, record);
    if (format == "terminal") return output.write((count > 1 ? "\n" : "") + as_text(record, flags, terminal));
    check(count == 1, "format {}: a file holds one picture and there are several records; choose one with --line",
          format);
    picture = drawn(record, flags, format);
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
        "view: expected a sentence, as in fovea view 'I love you.', a record, or the folder of a run");
  if (flags.models.empty() && flags.passage.empty() && !flags.what.empty() && is_sentence(flags.what.front())) {
    flags.models = {model_for(flags.what.front())};
  }
  const std::string task = flags.models.empty() ? "" : task_of_model(find_model(flags.models.front()));
  flags.search = flags.search_flags.checked_for_task(task);
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
                   "A sentence, attention records (JSON, one per line), or folders of training runs.")
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
      ->check(CLI::IsMember(kViews));
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
      "  fovea view runs/dates");
  command->callback([flags, &run, command] {
    flags->one_attention = command->count("--attention") > 0;
    flags->combined = command->count("--heads") > 0;
    run = [flags] { return view(*flags); };
  });
}

}  // namespace fovea::app
