// Draws highlighted sentences: for each word of one sentence the other one, shaded by weight as with a marker pen.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "view/svg.h"
#include "view/svg_sentence.h"
#include "view/svg_text.h"
#include "view/svg_views.h"

namespace fovea {

namespace {

constexpr double kMaxWidth = 640;  // of a shaded sentence
constexpr double kMaxEms = 12;     // of the word before it

struct Block {
  std::span<const Label> words, sentence;
  std::string id;
  std::function<float(size_t word, size_t place)> weight;
};

// Returns the y at which the next block starts.
double draw_block(Canvas& canvas, double y, const Block& block) {
  constexpr double kBold = 1.12;  // bold letters are wider than the estimate
  double names = 0;
  for (const Label& word : block.words) names = std::max(names, std::min(ems(shown(word)), kMaxEms) * 14 * kBold);
  const Sentence sentence = lay_out(block.sentence, {.max_width = kMaxWidth});
  const ShadedSentence shaded(canvas, sentence, block.id);
  const double left = kMargin + names + 20;
  for (size_t i = 0; i < block.words.size(); ++i) {
    const double baseline = y + sentence.line() / 2 + 14 * 0.35;
    canvas.label(block.words[i], {.x = left - 20, .y = baseline, .size = 14, .anchor = Anchor::kRight, .bold = true},
                 kMaxEms);
    const double middle = left - 10;
    canvas.xml().open("path").set("class", "rule");
    canvas.xml().set("d", fmt::format("M{} {}v{}", to_hundredths(middle), to_hundredths(y), sentence.height)).leaf();
    shaded.draw(canvas, left, y, [&](size_t place) { return block.weight(i, place); });
    y += sentence.height + (sentence.height > sentence.line() ? 14 : 5);
  }
  canvas.reach(left + sentence.width, y);
  return y + 22;
}

}  // namespace

std::string draw_highlight(const Grid& grid, const PictureStyle& style, Medium medium) {
  check_grid(grid, "highlight");
  Canvas canvas(WeightScale(style, grid), medium);
  const auto at = [&](size_t r, size_t c) { return grid.at(static_cast<int64_t>(r), static_cast<int64_t>(c)); };
  double y = canvas.legend(canvas.title(grid.title) + 4, {.pen = true, .absent = has_absent(grid)});
  if (grid.named_rows) {
    y = canvas.heading(
        y, fmt::format("What was read of the {}", grid.column_name),
        fmt::format("the {} shaded by the weights of the {} at the left", grid.column_name, grid.row_name));
  } else {
    y = canvas.heading(y, fmt::format("What each {} token looked at", grid.row_name),
                       fmt::format("the {} shaded by the weights of the token at the left", grid.column_name));
  }
  y = draw_block(canvas, y, {grid.rows, grid.columns, "columns", at});
  if (grid.named_rows) return canvas.finish(grid.title);
  y = canvas.heading(y, fmt::format("Who looked at each {} token", grid.column_name),
                     fmt::format("the {} shaded by the weight each of its tokens gave", grid.row_name));
  draw_block(canvas, y, {grid.columns, grid.rows, "rows", [&](size_t c, size_t r) { return at(r, c); }});
  return canvas.finish(grid.title);
}

std::string highlight_svg(const Grid& grid, const PictureStyle& style) { return draw_highlight(grid, style, {}); }

}  // namespace fovea
