// Draws attention as text for a terminal: heat maps, shaded sentences, links, thumbnails of heads and decoding steps.
//
// Nothing is left out silently: a part that does not fit beside another is printed below it, and a truncated label is
// spelt out under the picture. Tokens are made harmless before they are printed; view/terminal_text.h says how, and how
// right-to-left text is printed.
#pragma once

#include <span>
#include <string>

#include "view/grid.h"
#include "view/picture_style.h"

namespace fovea {

struct TerminalStyle {
  enum class Colour { kTrue, k256, kNone };
  Colour colour = Colour::kNone;
  int width = 80;       // in columns; at least kMinWidth
  bool unicode = true;  // if false, only ASCII is printed: other characters of tokens as \u4e2d
  bool dark = true;     // the background is dark

  static constexpr int kMinWidth = 20;
};

// What the terminal and the environment say about the terminal.
struct TerminalFacts {
  bool is_terminal = false;
  int columns = 0;  // 0 if unknown
  std::string no_color, colorterm, term, columns_wanted /* COLUMNS */, lc_all, lc_ctype, lang, colorfgbg;
};

// There is no colour with NO_COLOR, in a file or a pipe, and if TERM is dumb or unknown; COLORTERM or the terminal's
// name tells true colour. COLUMNS overrides the width, which is 80 if unknown. Unicode is used unless the locale names
// another encoding: without a locale, as in most containers, terminals expect UTF-8. COLORFGBG tells whether the
// background is dark; without it, it is.
TerminalStyle terminal_style(const TerminalFacts& facts);
// The same for a file descriptor and the present environment.
TerminalStyle terminal_style(int descriptor);

// Each of these prints complete lines within the width and throws an Error for a grid without cells.
//
// One row a line where there is room; two rows a line, in half blocks, for large grids.
std::string heatmap_text(const Grid& grid, const PictureStyle& picture, const TerminalStyle& terminal);
// For each row the sentence of the columns, shaded by weight; then for each column the sentence of the rows.
std::string highlight_text(const Grid& grid, const PictureStyle& picture, const TerminalStyle& terminal);
// The links of each row, strongest first, without those that picture.hide hides. The last line says how much is hidden.
std::string flow_text(const Grid& grid, const PictureStyle& picture, const TerminalStyle& terminal);
// Small maps side by side, `columns` in a line where they fit (the heads of a layer). The common part of the titles is
// above them. A map of more than 24 rows or columns is reduced by the largest weight of each square.
std::string heads_text(std::span<const Grid> grids, int columns, const PictureStyle& picture,
                       const TerminalStyle& terminal);
// For each row: the output so far, the shaded source, the probability of the token and its alternatives.
std::string steps_text(const Grid& grid, const PictureStyle& picture, const TerminalStyle& terminal);

// Pictures, for grids whose columns are the cells of one: the picture for each row, lit by its weights, large or small
// side by side; and for each head, lit by the mean of its rows. Without colours only the light is printed, as shades.
std::string overlay_text(const Grid& grid, const PictureStyle& picture, const TerminalStyle& terminal);
std::string strip_text(const Grid& grid, const PictureStyle& picture, const TerminalStyle& terminal);
std::string picture_heads_text(std::span<const Grid> grids, const PictureStyle& picture, const TerminalStyle& terminal);

}  // namespace fovea
