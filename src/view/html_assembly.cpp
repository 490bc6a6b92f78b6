#include "view/html_assembly.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "text/utf8.h"
#include "view/html_page.h"
#include "view/svg_cells.h"
#include "view/svg_text.h"
#include "view/xml.h"

namespace fovea {

namespace {

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

}  // namespace

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

std::string player(int64_t steps, std::string_view all) {
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
  xml.set("max", static_cast<double>(steps)).leaf();
  xml.open("span").set("id", "where").close();
  button("whole", all, all);
  xml.close();
  return xml.take();
}

}  // namespace fovea
