#include "view/record_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "base/error.h"
#include "text/utf8.h"
#include "view/html.h"
#include "view/picture_frames.h"
#include "view/svg.h"
#include "view/terminal_text.h"

namespace fovea {

namespace {

constexpr std::string_view kOpen = "⟦", kClose = "⟧";  // around the answer in a passage

bool is_for_pictures(const std::string& name) { return name == "overlay" || name == "strip"; }

std::string attention_of(const AttentionRecord& record, const ReduceOptions& options) {
  return options.attention == "auto" ? default_attention(record) : options.attention;
}

// Whether the chosen attention is over the cells of a picture.
bool over_picture(const AttentionRecord& record, const ReduceOptions& options) {
  const AttentionKindEntry* kind = find_attention_kind(attention_of(record, options));
  return record.image && kind != nullptr && kind->columns == AttentionAxis::kSource;
}

// Whether the rows of the chosen attention are no tokens: a text with its shades shows them better than a matrix.
bool has_named_rows(const AttentionRecord& record, const ReduceOptions& options) {
  const std::string kind = attention_of(record, options);
  return !record.classes.empty() || std::any_of(record.attentions.begin(), record.attentions.end(),
                                                [&](const auto& a) { return a.kind == kind && !a.row_labels.empty(); });
}

// ROW,COLUMN, counted from 1, as the number of a cell of the picture.
int64_t cell_of(const std::string& text, const Grid& grid) {
  check(has_cells_as_rows(grid), "cell: expected attention between the cells of a picture, got {}", grid.title);
  int64_t row = 0, column = 0;
  const char* end = text.data() + text.size();
  const auto [comma, bad_row] = std::from_chars(text.data(), end, row);
  bool valid = bad_row == std::errc() && comma != end && *comma == ',';
  if (valid) {
    const auto [rest, bad_column] = std::from_chars(comma + 1, end, column);
    valid = bad_column == std::errc() && rest == end;
  }
  check(valid && row >= 1 && row <= grid.image->rows && column >= 1 && column <= grid.image->columns,
        "cell: expected a row from 1 to {}, a comma and a column from 1 to {}, got {}", grid.image->rows,
        grid.image->columns, text);
  return (row - 1) * grid.image->columns + column - 1;
}

// Marks the answer among the tokens of the passage with brackets.
void mark_answer(std::vector<Label>& labels, const AttentionRecord& record) {
  if (labels.size() != record.source.size()) return;  // subwords were merged into words
  const auto inside = [&](const RecordToken& token) {
    return token.begin < record.answer->end && token.end > record.answer->begin;
  };
  const auto first = std::find_if(record.source.begin(), record.source.end(), inside);
  if (first == record.source.end()) return;
  const auto last = std::find_if(record.source.rbegin(), record.source.rend(), inside);
  labels[static_cast<size_t>(first - record.source.begin())].text.insert(0, kOpen);
  labels[static_cast<size_t>(record.source.rend() - last) - 1].text += kClose;
}

// The grid of a record; of a classified text with its class in the title, of a passage with the answer marked.
Grid grid_of(const AttentionRecord& record, const RecordView& view) {
  Grid grid = reduce(record, view.heads);
  if (!record.classes.empty()) {
    const ClassProbability& best = record.classes.front();
    grid.title = fmt::format("{} {:.1f}%: {}", best.label, 100 * best.probability, grid.title);
  }
  if (record.answer) {
    grid.title = fmt::format("{} {:.1f}%: {}", record.answer->text, 100 * record.answer->probability, grid.title);
    if (grid.column_name == "passage") mark_answer(grid.columns, record);
    if (grid.row_name == "passage" && !grid.named_rows) mark_answer(grid.rows, record);
  }
  if (view.style.normalise && view.as == "heatmap") grid = normalise_rows(std::move(grid));
  if (!view.cell.empty()) grid.cell = cell_of(view.cell, grid);
  return grid;
}

std::vector<Grid> heads_to_draw(const AttentionRecord& record, const RecordView& view) {
  std::vector<Grid> grids = every_head(record, view.heads);
  if (!view.style.normalise || over_picture(record, view.heads)) return grids;
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

// The byte at which a character of the text begins.
size_t byte_of(const std::string& text, int64_t character) {
  size_t byte = 0;
  for (; character > 0 && byte < text.size(); --character) byte = code_point_at(text, byte).end;
  return byte;
}

// The question, the answer, and the passage with the answer marked, as text above a picture.
std::string answer_text(const AttentionRecord& record, const TerminalStyle& terminal) {
  const std::string& passage = record.source_text;
  const size_t begin = byte_of(passage, record.answer->begin), end = byte_of(passage, record.answer->end);
  const bool colour = terminal.colour != TerminalStyle::Colour::kNone;
  const std::string open = colour ? "\x1b[1;7m" : terminal.unicode ? std::string(kOpen) : "[[";
  const std::string close = colour ? "\x1b[0m" : terminal.unicode ? std::string(kClose) : "]]";
  const auto shown = [&](const std::string& text) { return harmless(text, !terminal.unicode); };
  return fmt::format("question: {}\nanswer: {} ({:.1f}%)\npassage: {}{}{}{}{}\n", shown(record.target_text),
                     shown(record.answer->text), 100 * record.answer->probability, shown(passage.substr(0, begin)),
                     open, shown(passage.substr(begin, end - begin)), close, shown(passage.substr(end)));
}

// What is known of the output of a model that writes text, or of tokens that came with their weights.
std::string output_text(const AttentionRecord& record, const TerminalStyle& terminal) {
  std::string text = source_line(record, "source", terminal);
  if (!record.target.empty() || !record.search.empty()) {
    text +=
        fmt::format("{}: {}\n", record.image ? "caption" : "target", harmless(record.target_text, !terminal.unicode));
  }
  return text;
}

// A view that is drawn from one grid.
struct Drawing {
  std::string_view name;
  std::string (*svg)(const Grid&, const PictureStyle&);
  std::string (*html)(const Grid&, const PictureStyle&);
  std::string (*text)(const Grid&, const PictureStyle&, const TerminalStyle&);
};
constexpr Drawing kDrawings[] = {
    {"heatmap", heatmap_svg, heatmap_html, heatmap_text},
    {"highlight", highlight_svg, highlight_html, highlight_text},
    {"flow", flow_svg, flow_html, flow_text},
    {"steps", steps_svg, steps_html, steps_text},
    {"overlay", overlay_svg, overlay_html, overlay_text},
    {"strip", strip_svg, strip_html, strip_text},
};

const Drawing& drawing_named(const std::string& name) {
  return *std::find_if(std::begin(kDrawings), std::end(kDrawings), [&](const Drawing& d) { return d.name == name; });
}

int columns_of(const AttentionRecord& record, const RecordView& view) {
  return static_cast<int>(heads_of(record, view.heads));
}

void check_drawable(const AttentionRecord& record) {
  check(!record.is_empty(), "line {}: expected text, got an empty line", record.line);
}

}  // namespace

const std::vector<std::string>& record_views() {
  static const std::vector<std::string> names = {"heatmap", "highlight", "flow", "heads", "steps", "overlay", "strip"};
  return names;
}

RecordView suitable_view(const AttentionRecord& record, RecordView view) {
  const std::vector<std::string>& names = record_views();
  if (!view.as.empty() && std::find(names.begin(), names.end(), view.as) == names.end()) {
    const std::string near = nearest_spelling(view.as, names);
    fail("view {}: expected heatmap, highlight, flow, heads, steps, overlay or strip{}", view.as,
         near.empty() ? "" : fmt::format("; did you mean {}?", near));
  }
  // Pictures are lit word by word, because the light of a piece of a word is hard to read.
  if (over_picture(record, view.heads)) {
    if (view.as.empty()) view.as = "strip";
    check(is_for_pictures(view.as) || view.as == "heads",
          "view {}: expected overlay, strip or heads, because the source of line {} is a picture", view.as,
          record.line);
    const AttentionKindEntry* kind = find_attention_kind(attention_of(record, view.heads));
    view.heads.words = !has_named_rows(record, view.heads) && kind->rows == AttentionAxis::kTarget;
    return view;
  }
  if (view.as.empty()) view.as = has_named_rows(record, view.heads) ? "highlight" : "heatmap";
  check(!is_for_pictures(view.as), "view {}: expected attention over a picture, got {} of a text", view.as,
        attention_of(record, view.heads));
  return view;
}

std::string record_text(const AttentionRecord& record, const RecordView& given, const TerminalStyle& terminal) {
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
    text = output_text(record, terminal);
    if (record.is_empty()) return text + "(an empty line: nothing was attended to)\n";
    if (!record.search.empty()) {
      text += fmt::format("{}, {}, log p {:.2f}\n", record.architecture, record.search, record.log_probability);
    } else if (!record.architecture.empty()) {
      text += record.architecture + "\n";
    }
    text += "\n";
  }
  const RecordView view = suitable_view(record, given);
  if (view.as != "heads") return text + drawing_named(view.as).text(grid_of(record, view), view.style, terminal);
  const std::vector<Grid> grids = heads_to_draw(record, view);
  if (over_picture(record, view.heads)) return text + picture_heads_text(grids, view.style, terminal);
  return text + heads_text(grids, columns_of(record, view), view.style, terminal);
}

std::string record_svg(const AttentionRecord& record, const RecordView& given) {
  check_drawable(record);
  const RecordView view = suitable_view(record, given);
  if (view.as != "heads") return drawing_named(view.as).svg(grid_of(record, view), view.style);
  const std::vector<Grid> grids = heads_to_draw(record, view);
  if (over_picture(record, view.heads)) return picture_heads_svg(grids, view.style);
  return heads_svg(grids, view.style, columns_of(record, view));
}

std::string record_html(const AttentionRecord& record, const RecordView& given) {
  check_drawable(record);
  const RecordView view = suitable_view(record, given);
  if (view.as != "heads") return drawing_named(view.as).html(grid_of(record, view), view.style);
  const std::vector<Grid> grids = heads_to_draw(record, view);
  if (over_picture(record, view.heads)) return picture_heads_html(grids, view.style);
  return heads_html(grids, view.style, columns_of(record, view));
}

}  // namespace fovea
