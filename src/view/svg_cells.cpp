#include "view/svg_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/base64.h"
#include "view/png.h"
#include "view/svg_text.h"

namespace fovea {

namespace {

Rgb colour_of(const PictureStyle& style, float weight) { return colour_at(style, on_scale(style, weight)); }

// Absent cells are not painted: the hatching below them shows.
void hatch(Canvas& canvas, const Grid& grid, const CellBox& box) {
  if (!has_absent(grid)) return;
  canvas.xml().open("rect").set("x", box.x).set("y", box.y).set("width", box.width * static_cast<double>(grid.width()));
  canvas.xml().set("height", box.height * static_cast<double>(grid.height())).set("fill", "url(#absent)").leaf();
}

std::string in_cell(float weight) {
  if (weight >= 0.995F) return "1";
  return weight < 0.05F ? "" : fmt::format("{:.2f}", weight).substr(1);  // ".83"
}

// Readers that know no `pixelated` blur an image where it is enlarged, so a cell has a few pixels already.
Pixels pixels_of(const Grid& grid, const PictureStyle& style) {
  const int64_t most = std::max(grid.width(), grid.height()), times = std::clamp<int64_t>(2048 / most, 1, 8);
  Pixels pixels{grid.width() * times, grid.height() * times, has_absent(grid) ? 4 : 3, {}};
  pixels.bytes.reserve(static_cast<size_t>(pixels.width * pixels.height * pixels.channels));
  std::vector<uint8_t> line;
  for (int64_t r = 0; r < grid.height(); ++r) {
    line.clear();
    for (int64_t c = 0; c < grid.width(); ++c) {
      const float weight = grid.at(r, c);
      const Rgb colour = colour_of(style, is_absent(weight) ? 0.0F : weight);
      const std::array<uint8_t, 4> rgba{colour.red, colour.green, colour.blue,
                                        is_absent(weight) ? uint8_t{0} : uint8_t{255}};
      for (int64_t i = 0; i < times; ++i) line.insert(line.end(), rgba.begin(), rgba.begin() + pixels.channels);
    }
    for (int64_t i = 0; i < times; ++i) pixels.bytes.insert(pixels.bytes.end(), line.begin(), line.end());
  }
  return pixels;
}

}  // namespace

void draw_cells(Canvas& canvas, const Grid& grid, const CellBox& box) {
  hatch(canvas, grid, box);
  Xml& xml = canvas.xml();
  const bool numbers = box.width >= 28 && box.height >= 16;
  for (int64_t r = 0; r < grid.height(); ++r) {
    for (int64_t c = 0; c < grid.width(); ++c) {
      const float weight = grid.at(r, c);
      if (is_absent(weight)) continue;
      const Rgb colour = colour_of(canvas.style(), weight);
      const double x = box.x + box.width * static_cast<double>(c), y = box.y + box.height * static_cast<double>(r);
      xml.open("rect").set("x", x).set("y", y).set("width", box.width).set("height", box.height);
      xml.set("fill", hex(colour));
      const std::string &row = grid.rows[static_cast<size_t>(r)].text,
                        &column = grid.columns[static_cast<size_t>(c)].text;
      xml.element("title", fmt::format("{} → {}: {}", isolated(row), isolated(column), of_weight(weight))).close();
      if (!numbers || in_cell(weight).empty()) continue;
      xml.open("text").set("x", x + box.width / 2).set("y", y + box.height / 2 + 4).set("font-size", 11);
      xml.set("text-anchor", "middle").set("fill", hex(ink_on(colour))).set("pointer-events", "none");
      xml.text(in_cell(weight)).close();
    }
  }
}

void draw_cells_as_image(Canvas& canvas, const Grid& grid, const CellBox& box) {
  hatch(canvas, grid, box);
  Xml& xml = canvas.xml();
  xml.open("image").set("x", box.x).set("y", box.y).set("width", box.width * static_cast<double>(grid.width()));
  xml.set("height", box.height * static_cast<double>(grid.height())).set("preserveAspectRatio", "none");
  xml.set("style", "image-rendering:pixelated");
  xml.set("href", "data:image/png;base64," + to_base64(encode_png(pixels_of(grid, canvas.style())))).leaf();
}

void mark_chosen(Canvas& canvas, const Grid& grid, const CellBox& box) {
  const double thick = std::clamp(std::min(box.width, box.height) / 14, 0.6, 2.0);
  for (int64_t r = 0; r < grid.height(); ++r) {
    const int64_t c = heaviest(grid, r);
    if (c < 0) continue;
    canvas.xml().open("rect").set("class", "chosen").set("x", box.x + box.width * static_cast<double>(c) + thick);
    canvas.xml().set("y", box.y + box.height * static_cast<double>(r) + thick).set("width", box.width - 2 * thick);
    canvas.xml().set("height", box.height - 2 * thick).set("fill", "none").set("stroke-width", thick);
    canvas.xml().set("stroke", hex(ink_on(colour_of(canvas.style(), grid.at(r, c))))).set("pointer-events", "none");
    canvas.xml().leaf();
  }
}

}  // namespace fovea
