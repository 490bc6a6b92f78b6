// Builds a page of terminal text: colours, lines within a width, and cells for weights. The pictures of view/terminal.h
// share it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "view/colour_scale.h"
#include "view/grid.h"
#include "view/terminal.h"

namespace fovea {

struct Ink {
  std::optional<Rgb> text, ground;
  bool faint = false, bold = false;
};

class TerminalPage {
 public:
  explicit TerminalPage(const TerminalStyle& terminal) : terminal_(terminal) {}

  const TerminalStyle& terminal() const { return terminal_; }
  bool coloured() const { return terminal_.colour != TerminalStyle::Colour::kNone; }
  int64_t width() const { return terminal_.width; }
  int64_t column() const { return column_; }
  std::string safe(std::string_view text) const;  // harmless(text), in ASCII if the terminal has no Unicode
  const char* glyph(const char* unicode, const char* ascii) const { return terminal_.unicode ? unicode : ascii; }

  // The text must be harmless: either a constant or safe(text).
  void write(std::string_view text, const Ink& ink = {});
  void move_to(int64_t column);  // writes spaces up to the column
  void end_line();               // also resets colours
  // Writes a text on this line if it fits, else on the next one from column `indent`; breaks a text that fits on none.
  void flow(std::string_view text, const Ink& ink = {}, int64_t indent = 0);
  // Like flow, with a space before the word unless it starts a line.
  void flow_word(std::string_view word, const Ink& ink = {}, int64_t indent = 0);
  // Writes prose, broken at its spaces, and ends the line.
  void prose(std::string_view text, const Ink& ink = {}, int64_t indent = 0);
  // The text between the two calls is one sentence: it is isolated from its surroundings for the bidi algorithm, on
  // each of its lines.
  void begin_sentence(bool right_to_left, bool has_rtl);
  void end_sentence();

  std::string take();

 private:
  void set_ink(const Ink& ink);
  void begin_next(int64_t indent);

  TerminalStyle terminal_;
  std::string text_;
  std::string sentence_;  // the isolate that is open, or empty
  std::string active_;    // the escape sequence of the present ink
  int64_t column_ = 0;
};

// Throws an Error unless the grid has cells and as many weights and notes as its labels need.
void check_grid(std::string_view picture, const Grid& grid, const TerminalStyle& terminal);

// A label as it is printed: harmless, with visible spaces, and visible even if empty.
std::string label_text(const TerminalPage& page, const Label& label);
std::vector<std::string> label_texts(const TerminalPage& page, const std::vector<Label>& labels);
// A label in a table: truncated to the width, padded left, isolated from its neighbours.
std::string table_label(const TerminalPage& page, std::string_view text, int64_t width);

// A weight in running text: ".83", "1.00".
std::string short_weight(double weight);

// Prints one weight, `columns` wide, in a map with one row a line.
void draw_cell(TerminalPage& page, const WeightScale& scale, float weight, bool chosen, int64_t columns);
// Prints two weights, one above the other; needs colours and Unicode. A masked half has a warm tint, which is not on
// the scale.
void draw_halves(TerminalPage& page, const WeightScale& scale, float above, std::optional<float> below,
                 int64_t columns);
constexpr const char* kTintMasked = "masked";  // for draw_scale: shows the tint of draw_halves
// The ink of a word that has a weight.
Ink word_ink(const TerminalPage& page, const WeightScale& scale, float weight);
// The colour of a weight on the terminal's background.
Rgb weight_colour(const TerminalPage& page, const WeightScale& scale, double weight);
// Prints the legend: colours with their weights and, if `absent` is not empty, the sign of masked cells.
void draw_scale(TerminalPage& page, const WeightScale& scale, std::string_view absent);

}  // namespace fovea
