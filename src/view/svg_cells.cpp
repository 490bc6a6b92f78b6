#include "view/svg_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/base64.h"
#include "view/svg_text.h"
#include "vision/png.h"

namespace fovea {

namespace {

// Absent cells are not painted, so that the hatching below them is visible.
void hatch(Canvas& canvas, const Grid& grid, const CellBox& box) {
  if (!has_absent(grid)) return;
  canvas.xml().open("rect").set("x", box.x).set("y", box.y).set("width", box.width * static_cast<double>(grid.width()));
  canvas.xml().set("height", box.height * static_cast<double>(grid.height())).set("fill", "url(#absent)").leaf();
}

// The number in a cell; empty for weights that can hardly be told from the paper.
std::string in_cell(float weight, double largest) {
  if (weight >= 0.995F) return "1";
  const bool little = weight < 0.005F || static_cast<double>(weight) < 0.05 * largest;
  return little ? "" : fmt::format("{:.2f}", weight).substr(1);  // ".83"
}

// Readers that do not know `pixelated` blur an enlarged image, so each cell already has a few pixels.
Pixels pixels_of(const Grid& grid, const WeightScale& scale, Paper paper) {
  const int64_t most = std::max(grid.width(), grid.height()), times = std::clamp<int64_t>(2048 / most, 1, 8);
  Pixels pixels{grid.width() * times, grid.height() * times, has_absent(grid) ? 4 : 3, {}};
  pixels.bytes.reserve(static_cast<size_t>(pixels.width * pixels.height * pixels.channels));
  std::vector<uint8_t> line;
  for (int64_t r = 0; r < grid.height(); ++r) {
    line.clear();
    for (int64_t c = 0; c < grid.width(); ++c) {
      const float weight = grid.at(r, c);
      const Rgb colour = scale.colour(is_absent(weight) ? 0.0 : weight, paper);
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
      const double x = box.x + box.width * static_cast<double>(c), y = box.y + box.height * static_cast<double>(r);
      xml.open("rect").set("x", x).set("y", y).set("width", box.width).set("height", box.height);
      canvas.paint_weight(weight);
      const std::string &row = grid.rows[static_cast<size_t>(r)].text,
                        &column = grid.columns[static_cast<size_t>(c)].text;
      xml.element("title", fmt::format("{} → {}: {}", isolated(row), isolated(column), weight_text(weight))).close();
      const std::string number = in_cell(weight, canvas.scale().largest());
      if (!numbers || number.empty()) continue;
      xml.open("text").set("x", x + box.width / 2).set("y", y + box.height / 2 + 4).set("font-size", 11);
      canvas.paint_ink("fill", weight);
      xml.set("text-anchor", "middle").set("pointer-events", "none").text(number).close();
    }
  }
}

void draw_cells_as_image(Canvas& canvas, const Grid& grid, const CellBox& box) {
  hatch(canvas, grid, box);
  Xml& xml = canvas.xml();
  const auto image = [&](Paper paper, std::string_view shown_in) {
    xml.open("image").set("x", box.x).set("y", box.y).set("width", box.width * static_cast<double>(grid.width()));
    xml.set("height", box.height * static_cast<double>(grid.height())).set("preserveAspectRatio", "none");
    xml.set("style", "image-rendering:pixelated");
    if (!shown_in.empty()) xml.set("class", shown_in);
    xml.set("href", "data:image/png;base64," + to_base64(encode_png(pixels_of(grid, canvas.scale(), paper)))).leaf();
  };
  if (!canvas.adaptive()) return image(canvas.paper(), "");
  image(Paper::kLight, "day");
  image(Paper::kDark, "night");
}

void draw_cell_lines(Canvas& canvas, const Grid& grid, const CellBox& box) {
  const double width = box.width * static_cast<double>(grid.width());
  const double height = box.height * static_cast<double>(grid.height());
  std::string lines;
  for (int64_t r = 1; r < grid.height(); ++r) {
    const double y = box.y + box.height * static_cast<double>(r);
    lines += fmt::format("M{} {}h{}", to_hundredths(box.x), to_hundredths(y), to_hundredths(width));
  }
  for (int64_t c = 1; c < grid.width(); ++c) {
    const double x = box.x + box.width * static_cast<double>(c);
    lines += fmt::format("M{} {}v{}", to_hundredths(x), to_hundredths(box.y), to_hundredths(height));
  }
  if (lines.empty()) return;
  canvas.xml().open("path").set("class", "rule").set("stroke-width", 0.5).set("stroke-opacity", 0.6);
  canvas.xml().set("pointer-events", "none").set("d", lines).leaf();
}

void mark_chosen(Canvas& canvas, const Grid& grid, const CellBox& box) {
  const double thick = std::clamp(std::min(box.width, box.height) / 14, 0.6, 2.0);
  for (int64_t r = 0; r < grid.height(); ++r) {
    const int64_t c = heaviest(grid, r);
    if (c < 0) continue;
    canvas.xml().open("rect").set("x", box.x + box.width * static_cast<double>(c) + thick);
    canvas.xml().set("y", box.y + box.height * static_cast<double>(r) + thick).set("width", box.width - 2 * thick);
    canvas.xml().set("height", box.height - 2 * thick).set("fill", "none").set("stroke-width", thick);
    canvas.paint_ink("stroke", grid.at(r, c), "chosen");
    canvas.xml().set("pointer-events", "none").leaf();
  }
}

}  // namespace fovea
