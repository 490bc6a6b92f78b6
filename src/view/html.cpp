#include "view/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "text/utf8.h"
#include "view/html_page.h"
#include "view/links.h"
#include "view/svg_cells.h"
#include "view/svg_text.h"
#include "view/svg_views.h"

namespace fovea {

namespace {

// A JSON string that contains no character that could end an element of HTML or XML.
std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const CodePoint& c : code_points(text)) {
    const bool plain = c.value >= 0x20 && c.value != 0x7F && !(c.value >= 0xFFFE && c.value <= 0xFFFF);
    constexpr std::string_view kEscaped = "\"\\<>&'";
    if (c.value < 0x80 && (!plain || kEscaped.find(static_cast<char>(c.value)) != kEscaped.npos)) {
      out += fmt::format("\\u{:04x}", static_cast<uint32_t>(c.value));
    } else {
      append_code_point(out, plain ? c.value : kReplacement);
    }
  }
  return out + '"';
}

template <class Items, class Each> std::string json_array(const Items& items, Each&& each) {
  std::string out = "[";
  for (const auto& item : items) {
    if (out.size() > 1) out += ',';
    out += each(item);
  }
  return out + "]";
}

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

void token_header(Xml& xml, const Label& label, std::string_view scope) {
  xml.open("th").set("scope", scope).set("dir", "auto").set("lang", "").text(shown(label)).close();
}

// A table of every weight, or of the three largest of each row if there are too many.
void table(Xml& xml, const Grid& grid) {
  const bool few = grid.height() * grid.width() <= kMaxRectangles;
  xml.open("div").set("class", "numbers").set("tabindex", "0").set("role", "region").set("aria-label", "the numbers");
  xml.open("table").open("caption").text(grid.title);
  xml.text(few ? fmt::format("; rows: {}, columns: {}", grid.row_name, grid.column_name)
               : fmt::format("; the three largest weights of each row ({})", grid.row_name));
  xml.close();
  if (few) {
    xml.open("tr").open("td").close();
    for (const Label& label : grid.columns) token_header(xml, label, "col");
    xml.close();
  }
  for (int64_t r = 0; r < grid.height(); ++r) {
    xml.open("tr");
    token_header(xml, grid.rows[static_cast<size_t>(r)], "row");
    std::vector<int64_t> columns(grid.columns.size());
    std::iota(columns.begin(), columns.end(), 0);
    if (!few) {
      const auto heavier = [&](int64_t a, int64_t b) {
        const float x = grid.at(r, a), y = grid.at(r, b);
        return (is_absent(x) ? -1.0F : x) > (is_absent(y) ? -1.0F : y);
      };
      std::stable_sort(columns.begin(), columns.end(), heavier);
      columns.resize(std::min<size_t>(columns.size(), 3));
    }
    for (const int64_t c : columns) {
      xml.open("td");
      if (is_absent(grid.at(r, c))) xml.set("class", "absent");
      if (!few) xml.open("bdi").text(shown(grid.columns[static_cast<size_t>(c)])).close().text(" ");
      xml.text(is_absent(grid.at(r, c)) ? "masked" : fmt::format("{:.4f}", grid.at(r, c))).close();
    }
    xml.close();
  }
  xml.close().close();
}

struct Page {
  std::string title, how;  // how: instructions for use
  std::string controls;    // XML above the picture
  std::string svg, data;
  std::string background;
  std::span<const Grid> grids;
};

std::string assemble(const Page& page) {
  Xml xml;
  xml.open("html").set("lang", "en").open("head");
  xml.open("meta").set("charset", "utf-8").leaf();
  xml.open("meta").set("name", "viewport").set("content", "width=device-width, initial-scale=1").leaf();
  xml.open("meta").set("http-equiv", "Content-Security-Policy");
  xml.set("content",
          fmt::format("default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src '{}'", kPageScriptHash))
      .leaf();
  xml.element("title", page.title);
  xml.open("style").raw(page.background == "dark" ? kDarkColours : kLightColours);
  if (page.background == "auto") xml.raw(fmt::format("@media (prefers-color-scheme:dark){{{}}}", kDarkColours));
  xml.raw(kPageStyle).close();
  xml.close().open("body").open("main");
  xml.open("h1").set("dir", "auto").text(page.title).close();
  xml.open("p").set("class", "how").text(page.how).close();
  xml.raw(page.controls);
  xml.open("p").set("id", "status").set("role", "status").set("aria-live", "polite").close();
  xml.open("div").set("class", "picture").set("tabindex", "0").set("role", "region").set("aria-label", "the picture");
  xml.raw(page.svg).close();
  xml.open("details").element("summary", "the numbers");
  for (const Grid& grid : page.grids) table(xml, grid);
  xml.close().close();
  xml.open("script").set("type", "application/json").set("id", "data").raw(page.data).close();
  xml.open("script").raw(kPageScript).close();
  xml.close().close();
  return "<!DOCTYPE html>\n" + xml.take() + "\n";
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

std::string player(const Grid& grid) {
  Xml xml;
  const auto button = [&](std::string_view id, std::string_view name, std::string_view shown_as) {
    xml.open("button").set("type", "button").set("id", id);
    if (name != shown_as) xml.set("aria-label", name);
    xml.text(shown_as).close();
  };
  xml.open("div").set("class", "player").set("hidden", "hidden").set("role", "group").set("aria-label", "player");
  button("back", "step back", "‹");
  button("play", "Play", "Play");
  button("next", "next step", "›");
  xml.open("input").set("type", "range").set("id", "step").set("min", "1").set("value", "1").set("aria-label", "step");
  xml.set("max", static_cast<double>(grid.height())).leaf();
  xml.open("span").set("id", "where").close();
  button("whole", "All steps", "All steps");
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
                  .controls = player(grid),
                  .svg = std::move(svg)});
}

}  // namespace fovea
