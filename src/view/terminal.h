// Attention as text for a terminal: heat maps, shaded sentences, links, thumbnails of heads and the steps of a decode.
//
// Nothing is left out silently: what does not fit beside another stands below it, and what is cut short is spelt out
// under the picture. Tokens are made harmless before they are printed (view/text_width.h, which also says what happens
// to text written from right to left).
#pragma once

#include <span>
#include <string>

#include "view/grid.h"
#include "view/style.h"

namespace fovea {

struct TerminalStyle {
  enum class Colour { kTrue, k256, kNone };
  Colour colour = Colour::kNone;
  int width = 80;       // columns; at least kLeastWidth
  bool unicode = true;  // without it only ASCII is printed: other characters of tokens as \u4e2d
  bool dark = true;     // the background

  static constexpr int kLeastWidth = 20;
};

// What a terminal says of itself.
struct TerminalFacts {
  bool is_terminal = false;
  int columns = 0;  // 0: it does not say
  std::string no_color, colorterm, term, columns_wanted /* COLUMNS */, lc_all, lc_ctype, lang, colorfgbg;
};

// No colour with NO_COLOR, in a file or a pipe, and where TERM is dumb or unknown; COLORTERM or the terminal's name
// for true colour. COLUMNS overrides the width; 80 where nothing says. Unicode unless the locale names another
// encoding: where it names nothing, as in most containers, UTF-8 is what terminals expect. COLORFGBG says whether the
// background is dark; most are.
TerminalStyle terminal_style(const TerminalFacts& facts);
// Of a file descriptor, with the environment as it is.
TerminalStyle terminal_style(int descriptor);

// Each of these ends its lines, keeps them within the width and throws an Error for a grid without cells.
//
// A row a line where there is room; two rows a line, in half blocks, for large grids.
std::string heatmap_text(const Grid& grid, const PictureStyle& picture, const TerminalStyle& terminal);
// For each row the sentence of the columns, shaded; then for each column that of the rows.
std::string highlight_text(const Grid& grid, const PictureStyle& picture, const TerminalStyle& terminal);
// Each row's links, strongest first, down to what picture.hide leaves out. The last line says how much that is.
std::string flow_text(const Grid& grid, const PictureStyle& picture, const TerminalStyle& terminal);
// Small maps beside one another, `columns` a line where they fit (the heads of a layer). What all titles share stands
// above all. A map of more than 24 rows or columns is drawn smaller, by the largest weight of each square.
std::string heads_text(std::span<const Grid> grids, int columns, const PictureStyle& picture,
                       const TerminalStyle& terminal);
// For each row: what had been written, what was looked at, how likely the choice was and what else might have been.
std::string steps_text(const Grid& grid, const PictureStyle& picture, const TerminalStyle& terminal);

}  // namespace fovea
