// Draws decoding step by step: a frame for each output token, from top to bottom.
#include <fmt/format.h>

#include <algorithm>

#include "view/svg.h"
#include "view/svg_sentence.h"
#include "view/svg_text.h"
#include "view/svg_views.h"

namespace fovea {

namespace {

constexpr double kMaxWidth = 520;  // of a sentence
constexpr size_t kMaxOutput = 40;  // tokens of the output shown before the one of the step
constexpr size_t kMaxAlternatives = 5;
constexpr double kLine = 18, kName = 92, kBar = 100;  // of the bars of probabilities

struct Bar {
  std::string text;
  double probability;
  bool taken;
};

// The likeliest tokens of a step. The token that was chosen is always among them.
std::vector<Bar> bars_of(const Grid& grid, size_t row) {
  std::vector<Bar> bars;
  if (grid.notes.empty()) return bars;
  const StepNote& note = grid.notes[row];
  bool found = false;
  for (const auto& [text, probability] : note.alternatives) {
    if (bars.size() == kMaxAlternatives) break;
    const bool taken = !found && text == grid.rows[row].text;
    found = found || taken;
    bars.push_back({text, probability, taken});
  }
  if (!found) {
    if (bars.size() == kMaxAlternatives) bars.pop_back();
    bars.push_back({grid.rows[row].text, note.probability, true});
  }
  std::stable_sort(bars.begin(), bars.end(), [](const Bar& a, const Bar& b) { return a.probability > b.probability; });
  return bars;
}

void draw_bars(Canvas& canvas, double x, double y, const std::vector<Bar>& bars) {
  for (const Bar& bar : bars) {
    const double baseline = y + kLine / 2 + 4;
    canvas.label({bar.text},
                 {.x = x + kName - 8,
                  .y = baseline,
                  .size = 12,
                  .css_class = bar.taken ? "ink" : "faint",
                  .anchor = Anchor::kRight,
                  .bold = bar.taken},
                 (kName - 8) / 12);
    const double length = std::max(1.0, kBar * std::clamp(bar.probability, 0.0, 1.0));
    canvas.xml().open("rect").set("class", bar.taken ? "taken" : "bar").set("x", x + kName).set("y", y + 4);
    canvas.xml().set("width", length).set("height", kLine - 8).set("rx", 1.5).leaf();
    canvas.text(fmt::format("{:.1f}%", 100 * bar.probability),
                {.x = x + kName + length + 6, .y = baseline, .size = 11, .css_class = bar.taken ? "ink" : "faint"});
    y += kLine;
  }
}

// Draws the output up to a step, in bold the token of the step; `first` tokens before it are left out.
void draw_output(Canvas& canvas, double x, double y, const Sentence& output, size_t first) {
  if (first > 0) canvas.text("…", {.x = x - 12, .y = y + output.size * 1.1, .css_class = "faint"});
  const size_t last = output.words.size() - 1;
  for (size_t i = 0; i < last; ++i) draw_word(canvas, output, i, {.x = x, .y = y});
  draw_word(canvas, output, last, {.x = x, .y = y, .bold = true});
  const Word& word = output.words[last];
  canvas.xml().open("rect").set("class", "taken").set("x", x + word.x + 2).set("y", y + word.y + output.line() - 1);
  canvas.xml().set("width", word.width - 4).set("height", 2).leaf();
}

}  // namespace

std::string draw_steps(const Grid& grid, const PictureStyle& style, Medium medium) {
  check_grid(grid, "steps");
  Canvas canvas(WeightScale(style, grid), medium);
  const Sentence source = lay_out(grid.columns, {.max_width = kMaxWidth});
  const auto output_at = [&](size_t row) {
    const size_t first = row > kMaxOutput ? row - kMaxOutput : 0;
    return std::pair(lay_out(std::span(grid.rows).subspan(first, row + 1 - first), {.max_width = kMaxWidth}), first);
  };
  double output_width = 0, output_height = 0;
  size_t bars = 0;
  for (size_t row = 0; row < grid.rows.size(); ++row) {
    const Sentence sentence = output_at(row).first;
    output_width = std::max(output_width, sentence.width);
    output_height = std::max(output_height, sentence.height);
    bars = std::max(bars, bars_of(grid, row).size());
  }
  // All frames have the same height, so that a player that shows one after the other does not jump.
  const double left = kMargin + 40, right = left + std::max({source.width, output_width, 200.0}) + 28;
  const double height = std::max(source.height + 8 + output_height, static_cast<double>(bars) * kLine) + 32;

  double y = canvas.legend(canvas.title(grid.title) + 4, {.pen = true, .absent = has_absent(grid)});
  const ShadedSentence shaded(canvas, source, "source");
  for (size_t row = 0; row < grid.rows.size(); ++row, y += height) {
    Xml& xml = canvas.xml();
    xml.open("g").set("class", "frame").set("data-y", y).set("data-height", height);
    xml.open("path").set("class", "rule");
    const double end = bars > 0 ? right + kName + kBar + 50 : right;
    xml.set("d", fmt::format("M{} {}H{}", kMargin, to_hundredths(y + 0.5), to_hundredths(end))).leaf();
    canvas.text(fmt::format("{}", row + 1),
                {.x = kMargin + 14, .y = y + 16 + 15, .size = 12, .css_class = "faint", .anchor = Anchor::kMiddle});
    shaded.draw(canvas, left, y + 16,
                [&](size_t c) { return grid.at(static_cast<int64_t>(row), static_cast<int64_t>(c)); });
    const auto [sentence, first] = output_at(row);
    draw_output(canvas, left, y + 16 + source.height + 8, sentence, first);
    draw_bars(canvas, right, y + 16, bars_of(grid, row));
    xml.close();
    canvas.reach(end, y + height);
  }
  return canvas.finish(grid.title);
}

std::string steps_svg(const Grid& grid, const PictureStyle& style) { return draw_steps(grid, style, {}); }

}  // namespace fovea
