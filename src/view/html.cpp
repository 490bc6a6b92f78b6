#include "view/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "view/html_assembly.h"
#include "view/links.h"
#include "view/svg_text.h"
#include "view/svg_views.h"

namespace fovea {

namespace {

std::string json_tokens(const std::vector<Label>& labels) {
  return json_array(labels, [](const Label& label) { return json_string(shown(label)); });
}

std::string json_weights(const Grid& grid) {
  std::vector<int64_t> rows(grid.rows.size());
  std::iota(rows.begin(), rows.end(), 0);
  return json_array(rows, [&](int64_t r) {
    const auto row = std::span(grid.weights).subspan(static_cast<size_t>(r * grid.width()), grid.columns.size());
    return json_array(row, [](float w) { return is_absent(w) ? std::string("null") : fmt::format("{:.3g}", w); });
  });
}

// A sentence for each step, which the page's status line says while the step is shown.
std::string json_steps(const Grid& grid) {
  std::vector<size_t> rows(grid.rows.size());
  std::iota(rows.begin(), rows.end(), 0);
  return json_array(rows, [&](size_t r) {
    std::string line = isolated(shown(grid.rows[r]));
    if (!grid.notes.empty()) line += fmt::format(", probability {:.1f}%", 100 * grid.notes[r].probability);
    const int64_t c = heaviest(grid, static_cast<int64_t>(r));
    if (c >= 0) {
      line += fmt::format("; looks most at {} ({})", isolated(shown(grid.columns[static_cast<size_t>(c)])),
                          weight_text(grid.at(static_cast<int64_t>(r), c)));
    }
    return json_string(line);
  });
}

std::string data_of(const Grid& grid, const PictureStyle& style, std::string_view view) {
  return fmt::format(R"({{"view":{},"scale":{},"largest":{},"rows":{},"columns":{},"weights":{},"steps":{}}})",
                     json_string(view), json_string(style.scale), WeightScale(style, grid).largest(),
                     json_tokens(grid.rows), json_tokens(grid.columns), json_weights(grid),
                     view == "steps" ? json_steps(grid) : "[]");
}

// Both sentences, each word a button.
std::string sentence_pair(const Grid& grid) {
  Xml xml;
  const auto side = [&](std::string_view name, std::string_view what, std::span<const Label> labels) {
    xml.element("h2", what);
    // The direction "auto" ignores the text of buttons.
    xml.open("p").set("dir", is_right_to_left(labels) ? "rtl" : "ltr").set("lang", "");
    for (size_t i = 0; i < labels.size(); ++i) {
      if (labels[i].space_before && i > 0) xml.text(" ");
      xml.open("button").set("type", "button").set("dir", "auto").set("data-side", name);
      xml.set("data-index", static_cast<double>(i));
      if (labels[i].mark) xml.set("class", "mark");
      xml.text(shown(labels[i])).close();
    }
    xml.close();
  };
  xml.open("div").set("class", "pair").set("hidden", "hidden");
  side("column", grid.column_name, grid.columns);
  side("row", grid.row_name, grid.rows);
  xml.close();
  return xml.take();
}

std::string page_of(const Grid& grid, const PictureStyle& style, std::string_view view, Page page) {
  page.title = grid.title;
  page.data = data_of(grid, style, view);
  page.background = style.background;
  page.grids = std::span(&grid, 1);
  return assemble(page);
}

constexpr Medium kPage{.page = true};

}  // namespace

std::string heatmap_html(const Grid& grid, const PictureStyle& style) {
  return page_of(grid, style, "heatmap",
                 {.how = "Point at a cell, or focus the picture and use the arrow keys.",
                  .svg = draw_heatmap(grid, style, kPage)});
}

std::string highlight_html(const Grid& grid, const PictureStyle& style) {
  std::string svg = draw_highlight(grid, style, kPage);
  return page_of(grid, style, "highlight",
                 {.how = "Point at a word, or tab to it, to see what it looked at or who looked at it. "
                         "Press it to keep it; every word at once is below.",
                  .controls = sentence_pair(grid),
                  .svg = std::move(svg)});
}

std::string flow_html(const Grid& grid, const PictureStyle& style) {
  std::string svg = draw_flow(grid, style, kPage);
  const std::string how = fmt::format(
      "Ribbons are as thick as weights; the picture {}. Point at a word, or tab to it, to see only its links. Press it "
      "to keep it.",
      prune_links(grid, style.hide).statement());
  return page_of(grid, style, "flow", {.how = how, .svg = std::move(svg)});
}

std::string heads_html(std::span<const Grid> grids, const PictureStyle& style, int columns) {
  Page page{.how = "A small heat map for each; the tokens stand below them.",
            .svg = draw_heads(grids, style, columns, kPage),
            .data = R"({"view":"heads"})",
            .background = style.background,
            .grids = grids};
  page.title = common_title(grids).empty() ? "heads" : common_title(grids);
  return assemble(page);
}

std::string steps_html(const Grid& grid, const PictureStyle& style) {
  std::string svg = draw_steps(grid, style, kPage);
  return page_of(grid, style, "steps",
                 {.how = "Step by step: what was looked at, what was written, what else was likely. "
                         "The arrow keys step too.",
                  .controls = player(grid.height(), "All steps"),
                  .svg = std::move(svg)});
}

}  // namespace fovea
