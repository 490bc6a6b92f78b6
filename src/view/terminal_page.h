// A page of terminal text under construction: inks, lines within a width, and how a weight is drawn. Shared by the
// pictures of view/terminal.h.
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
  std::string safe(std::string_view text) const;  // harmless, and ASCII where nothing else may be printed
  const char* glyph(const char* unicode, const char* ascii) const { return terminal_.unicode ? unicode : ascii; }

  // Text that is ours or safe.
  void write(std::string_view text, const Ink& ink = {});
  void move_to(int64_t column);  // with spaces
  void end_line();               // colours end with the line
  // Writes on the next line, from column `indent`, when it does not fit on this one; breaks what fits on no line.
  void flow(std::string_view text, const Ink& ink = {}, int64_t indent = 0);
  // With a space before it, where it does not begin a line.
  void flow_word(std::string_view word, const Ink& ink = {}, int64_t indent = 0);
  // Prose, broken at its spaces; ends the line.
  void prose(std::string_view text, const Ink& ink = {}, int64_t indent = 0);
  // Between the two, text reads as one sentence; bidi moves nothing into it or out of it, also over several lines.
  void begin_sentence(bool right_to_left, bool has_rtl);
  void end_sentence();

  std::string take();

 private:
  void set_ink(const Ink& ink);
  void begin_next(int64_t indent);

  TerminalStyle terminal_;
  std::string text_;
  std::string sentence_;  // what opens the sentence that is being written
  std::string active_;    // the escape sequence of the ink in use
  int64_t column_ = 0;
};

// Error without cells, or when the numbers of weights and notes are not those of the labels.
void check_grid(std::string_view picture, const Grid& grid, const TerminalStyle& terminal);

// A label as it is shown: harmless, spaces and nothing at all visible.
std::string label_text(const TerminalPage& page, const Label& label);
std::vector<std::string> label_texts(const TerminalPage& page, const std::vector<Label>& labels);
// In a table: cut to the width, padded left, fenced off from its neighbours.
std::string table_label(const TerminalPage& page, std::string_view text, int64_t width);

// A weight in running text: ".83", "1.00".
std::string short_weight(double weight);

// One weight, `columns` wide, on a line of its own row.
void draw_cell(TerminalPage& page, const WeightScale& scale, float weight, bool chosen, int64_t columns);
// Two weights, one above the other; needs colours and Unicode. A masked half has a warm tint, no colour of the scale.
void draw_halves(TerminalPage& page, const WeightScale& scale, float above, std::optional<float> below,
                 int64_t columns);
constexpr const char* kTintMasked = "masked";  // for draw_scale: shows that tint
// The ink of a word that has a weight.
Ink word_ink(const TerminalPage& page, const WeightScale& scale, float weight);
// Of a weight, on the terminal's background.
Rgb weight_colour(const TerminalPage& page, const WeightScale& scale, double weight);
// Colours and the weights they stand for; and what masked cells look like, if there are any.
void draw_scale(TerminalPage& page, const WeightScale& scale, std::string_view absent);

}  // namespace fovea
