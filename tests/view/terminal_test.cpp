#include "view/terminal.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support.h"
#include "view/terminal_text.h"

namespace fovea {
namespace {

using Colour = TerminalStyle::Colour;

std::vector<Label> labels(const std::vector<std::string>& texts) {
  std::vector<Label> all;
  for (const std::string& text : texts) all.push_back({.text = text, .space_before = !all.empty()});
  return all;
}

// Each row attends to the column of the same number, and a little to all others.
Grid make_grid(const std::vector<std::string>& rows, const std::vector<std::string>& columns) {
  Grid grid{.title = "cross attention, head 1",
            .row_name = "target",
            .column_name = "source",
            .rows = labels(rows),
            .columns = labels(columns)};
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < columns.size(); ++j) {
      const float rest = 0.2F / static_cast<float>(columns.size());
      grid.weights.push_back(i % columns.size() == j ? 0.8F + rest : rest);
    }
  }
  return grid;
}

std::vector<std::string> numbered(const std::string& word, int count) {
  std::vector<std::string> all;
  for (int i = 1; i <= count; ++i) all.push_back(word + std::to_string(i));
  return all;
}

std::string without_escapes(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033')
      i = text.find('m', i);
    else
      out += text[i];
  }
  return out;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    all.push_back(text.substr(begin, end - begin));
  EXPECT_EQ(begin, text.size()) << "the last line has no end";
  return all;
}

std::vector<std::string> all_pictures(const Grid& grid, const TerminalStyle& terminal) {
  const PictureStyle picture;
  const std::vector<Grid> heads(5, grid);
  return {heatmap_text(grid, picture, terminal), highlight_text(grid, picture, terminal),
          flow_text(grid, picture, terminal), steps_text(grid, picture, terminal),
          heads_text(heads, 4, picture, terminal)};
}

const std::vector<TerminalStyle>& styles() {
  static const std::vector<TerminalStyle> all = [] {
    std::vector<TerminalStyle> made;
    for (const Colour colour : {Colour::kTrue, Colour::k256, Colour::kNone}) {
      for (const int width : {20, 33, 80, 200}) {
        for (const bool unicode : {true, false}) made.push_back({colour, width, unicode});
      }
    }
    return made;
  }();
  return all;
}

std::vector<Grid> odd_grids() {
  std::vector<Grid> grids = {
      make_grid({"a"}, {"b"}),
      make_grid({"Eine", "Krankenschwester", "spricht", "."}, {"A", "nurse", "is", "talking", "."}),
      make_grid({"我们", "在", "北京"}, {"We", "are", "in", "Peking"}),
      make_grid({"I", "live"}, {"أنا", "أعيش", "بَيْتٍ"}),
      make_grid({"e\u0301", "🙂", ""}, {"🙂🙂", " ", "Donaudampfschifffahrtsgesellschaftskapitänsmütze"}),
      make_grid(numbered("row", 60), numbered("column", 70)),
      make_grid(numbered("列", 45), numbered("列", 70))};
  for (Grid& grid : grids) {
    grid.notes.assign(grid.rows.size(), {.probability = 0.5, .alternatives = {{"eins", 0.5}, {"بيت", 0.25}}});
    for (int64_t column = 0; column < grid.width(); ++column) grid.at(grid.height() - 1, column) = kAbsent;
  }
  return grids;
}

TEST(Terminal, LinesKeepWithinTheWidthAndEndTheirColours) {
  for (const Grid& grid : odd_grids()) {
    for (const TerminalStyle& terminal : styles()) {
      for (const std::string& picture : all_pictures(grid, terminal)) {
        for (const std::string& line : lines(picture)) {
          EXPECT_LE(display_width(without_escapes(line)), terminal.width) << line;
          const size_t last = line.rfind('\033');
          if (last != std::string::npos) {
            EXPECT_EQ(line.substr(last, 4), "\033[0m") << line;
          }
        }
      }
    }
  }
}

TEST(Terminal, WithoutColourThereAreNoEscapesAndWithoutUnicodeOnlyAscii) {
  for (const Grid& grid : odd_grids()) {
    for (const TerminalStyle& terminal : styles()) {
      for (const std::string& picture : all_pictures(grid, terminal)) {
        EXPECT_EQ(picture.find('\033') == std::string::npos, terminal.colour == Colour::kNone);
        const bool ascii = std::all_of(picture.begin(), picture.end(), [](char c) { return c > 0; });
        if (!terminal.unicode) {
          EXPECT_TRUE(ascii) << picture;
        }
      }
    }
  }
}

TEST(Terminal, EveryTokenAppears) {
  const std::vector<std::string> rows = {"Eine", "Schwester", "北京", "بيت", "🙂"},
                                 columns = {"A", "nurse", "é", "您好"};
  const Grid grid = make_grid(rows, columns);
  for (const Colour colour : {Colour::kTrue, Colour::k256, Colour::kNone}) {
    const std::vector<std::string> pictures = all_pictures(grid, {colour, 80, true});
    for (size_t i = 0; i < 4; ++i) {  // not the thumbnails
      const std::string text = without_escapes(pictures[i]);
      for (const std::string& token : rows) EXPECT_NE(text.find(token), std::string::npos) << token << "\n" << text;
      if (i == 2) continue;  // flow hides weak links
      for (const std::string& token : columns) EXPECT_NE(text.find(token), std::string::npos) << token << "\n" << text;
    }
  }
}

TEST(Terminal, TruncatedLabelsAreSpeltOut) {
  const std::string word = "Donaudampfschifffahrtsgesellschaft";
  const std::string text = heatmap_text(make_grid({word, "b"}, {"c", "d"}), {}, {Colour::kNone, 60, true});
  EXPECT_NE(text.find("Donaudampfschi… = " + word), std::string::npos) << text;
}

TEST(Terminal, HeatmapByHand) {
  Grid grid{.title = "title", .row_name = "target", .column_name = "source", .rows = labels({"x", "北"})};
  grid.columns = labels({"a", "京", "c"});
  grid.weights = {1.0F, 0.5F, 0.0F, kAbsent, 0.25F, 0.75F};
  EXPECT_EQ(heatmap_text(grid, {}, {Colour::kNone, 40, true}),
            "title\n"
            "target in rows, source in columns\n"
            "\n"
            "   a 京c\n"
            " x│██▄▄  │\n"
            "北│· ▂▂▆▆│\n"
            "\n"
            "  ▁▁▁▂▂▂▃▃▃▄▄▄▅▅▅▆▆▆▇▇▇██   ·: masked\n"
            "0     .25   .5    .75   1   weight\n");
  EXPECT_NE(heatmap_text(grid, {}, {Colour::kNone, 40, false}).find("|@@++  |\n"), std::string::npos);
  EXPECT_NE(heatmap_text(grid, {}, {Colour::kNone, 40, false}).find("|. --##|\n"), std::string::npos);
}

TEST(Terminal, ColoursAreThoseOfThePalette) {
  Grid grid = make_grid({"x"}, {"a", "b"});
  grid.weights = {1, 0};
  const std::string white = "\033[48;2;255;255;255m  ", dark = "\033[48;2;17;18;19m  ", end = "\033[0m";
  const auto text = [&](const PictureStyle& picture, Colour colour, bool on_dark) {
    return heatmap_text(grid, picture, {colour, 40, true, on_dark});
  };
  EXPECT_NE(text({}, Colour::kTrue, true).find(white + end + dark), std::string::npos);
  EXPECT_NE(text({}, Colour::kTrue, false).find(dark + end + white), std::string::npos);
  EXPECT_NE(text({.background = "light"}, Colour::kTrue, true).find(dark + end + white), std::string::npos);
  EXPECT_NE(text({.background = "dark"}, Colour::kTrue, false).find(white + end + dark), std::string::npos);
  // White of the cube and the darkest but one of the greys.
  EXPECT_NE(text({}, Colour::k256, true).find("\033[48;5;231m  \033[0m\033[48;5;233m  "), std::string::npos);
}

TEST(Terminal, TheScaleEndsAtTheLargestWeight) {
  Grid grid = make_grid({"x"}, {"a", "b", "c"});
  grid.weights = {0.3F, 0.15F, 0};
  const std::string text = heatmap_text(grid, {}, {Colour::kNone, 40, true});
  EXPECT_NE(text.find("x│██▄▄  │\n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("0       .1      .2      .3   weight\n")) << text;
  EXPECT_NE(heatmap_text(grid, {.max_weight = 1}, {Colour::kNone, 40, true}).find("x│▂▂▁▁  │\n"), std::string::npos);
}

// In half blocks a masked cell is neither blank nor a colour of the scale.
TEST(Terminal, MaskedHalvesAreNotZero) {
  Grid grid = make_grid(numbered("r", 60), numbered("c", 70));
  std::fill(grid.weights.begin(), grid.weights.end(), 0.0F);
  grid.at(0, 0) = 1;
  const std::string plain = heatmap_text(grid, {}, {Colour::kTrue, 90, true});
  EXPECT_EQ(plain.find("masked"), std::string::npos);
  grid.at(1, 1) = kAbsent;
  const std::string text = heatmap_text(grid, {}, {Colour::kTrue, 90, true});
  EXPECT_NE(text.find("\033[38;2;17;18;19;48;2;95;71;43m▀"), std::string::npos);
  EXPECT_NE(without_escapes(text).find("masked"), std::string::npos);
}

TEST(Terminal, ChosenCellsAreMarked) {
  Grid grid = make_grid({"x", "y"}, {"a", "b"});
  grid.weights = {0, 1, 1, 0};
  EXPECT_EQ(heatmap_text(grid, {}, {Colour::kNone, 40, true}).find("[]"), std::string::npos);
  grid.hard = true;
  const std::string text = heatmap_text(grid, {}, {Colour::kNone, 40, true});
  EXPECT_NE(text.find("x│  []│\ny│[]  │\n"), std::string::npos) << text;
}

// The first cell is at the same column in every row, whatever the label before it.
TEST(Terminal, ColumnsAreAligned) {
  const Grid grid = make_grid({"a", "北京", "بَيْتٍ", "e\u0301e\u0301", "🙂", "long"}, {"x", "y", "z"});
  const std::string text = heatmap_text(grid, {}, {Colour::kNone, 60, true});
  int rows = 0;
  for (const std::string& line : lines(text)) {
    const size_t edge = line.find("│");
    if (edge == std::string::npos) continue;
    EXPECT_EQ(display_width(line.substr(0, edge)), 4) << line;
    EXPECT_EQ(display_width(line), 4 + 1 + 6 + 1) << line;
    ++rows;
  }
  EXPECT_EQ(rows, 6);
  EXPECT_NE(text.find("\u2068بَيْتٍ\u2069│"), std::string::npos);  // bidi must not move the cells
}

TEST(Terminal, WideGridsAreSplitAndSaySo) {
  const Grid grid = make_grid(numbered("r", 3), numbered("列", 50));
  const std::string text = heatmap_text(grid, {}, {Colour::kTrue, 60, true});
  EXPECT_NE(text.find("columns 1 to 25 of 50"), std::string::npos) << text;
  EXPECT_NE(text.find("columns 26 to 50 of 50"), std::string::npos) << text;
}

TEST(Terminal, LargeGridsHaveTwoRowsALine) {
  const Grid grid = make_grid(numbered("r", 60), numbered("c", 70));
  const std::string text = heatmap_text(grid, {}, {Colour::kTrue, 90, true});
  EXPECT_NE(text.find("▀"), std::string::npos);
  const auto all = lines(without_escapes(text));
  const auto pair = std::find_if(all.begin(), all.end(), [](const auto& line) { return line.starts_with(" r1 "); });
  ASSERT_NE(pair, all.end());
  EXPECT_TRUE(pair->ends_with(" r2")) << *pair;
}

TEST(Terminal, HostileTokensDoNothing) {
  const std::string attack = "\033]0;owned\007\033[2J\n\u009b\x9b\u202e";
  Grid grid = make_grid({attack, "b"}, {attack, "d"});
  grid.title = grid.row_name = grid.column_name = attack;
  grid.notes.assign(2, {.probability = 1, .alternatives = {{attack, 1.0}}});
  for (const bool unicode : {true, false}) {
    const Grid tame = make_grid({"a", "b"}, {"c", "d"});
    for (const std::string& picture : all_pictures(grid, {Colour::kNone, 80, unicode})) {
      for (const char c : picture) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
      for (const char* bad : {"\u009b", "\u202e"}) EXPECT_EQ(picture.find(bad), std::string::npos);
    }
    // In colour the only escapes are colours.
    for (const std::string& picture : all_pictures(grid, {Colour::kTrue, 80, unicode}))
      EXPECT_EQ(without_escapes(picture).find("\033"), std::string::npos);
    for (const std::string& picture : all_pictures(grid, {Colour::kTrue, 80, unicode})) {
      for (size_t at = picture.find('\033'); at != std::string::npos; at = picture.find('\033', at + 1)) {
        const size_t end = picture.find_first_not_of("[0123456789;", at + 1);
        EXPECT_EQ(picture[end], 'm');
      }
    }
  }
}

TEST(Terminal, HighlightNamesTheStrongest) {
  Grid grid = make_grid({"Haus"}, {"a", "big", "house", "."});
  grid.weights = {0.05F, 0.15F, 0.8F, kAbsent};
  grid.columns[3].space_before = false;
  const std::string text = highlight_text(grid, {}, {Colour::kNone, 80, true});
  EXPECT_NE(text.find("Haus  a [big .15] [house .80](.)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  big  [Haus .15]\n"), std::string::npos) << text;
}

// Of row 1, 0.6 + 0.3 are drawn and 0.07 + 0.03 hidden, which is the share of 0.1; of row 2 only 0.05 may go.
TEST(Terminal, FlowSaysWhatItHides) {
  Grid grid = make_grid({"x", "y"}, {"a", "b", "c", "d"});
  grid.weights = {0.3F, 0.6F, 0.03F, 0.07F, 0.5F, 0.45F, 0.05F, kAbsent};
  const std::string text = flow_text(grid, {}, {Colour::kNone, 80, true});
  EXPECT_NE(text.find("x → b ██████ 60%  a ███ 30%\n"), std::string::npos) << text;
  EXPECT_NE(text.find("y → a █████ 50%  b ████▌ 45%\n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\nhides 7.5% of the attention, in 3 of 7 links\n")) << text;
  PictureStyle all;
  all.hide = 0;
  EXPECT_TRUE(flow_text(grid, all, {Colour::kNone, 80, true}).ends_with("shows all of the attention, in 7 links\n"));
}

TEST(Terminal, FlowOfARowWithoutCells) {
  Grid grid = make_grid({"x"}, {"a"});
  grid.weights = {kAbsent};
  const std::string text = flow_text(grid, {}, {Colour::kNone, 80, true});
  EXPECT_NE(text.find("x →  nothing"), std::string::npos) << text;
}

TEST(Terminal, StepsShowTheOutputSoFar) {
  Grid grid = make_grid({"ein", "Haus"}, {"a", "house"});
  grid.notes = {{.probability = 0.75, .alternatives = {{"ein", 0.75}, {"das", 0.125}}}, {.probability = 0.5}};
  const std::string text = steps_text(grid, {}, {Colour::kNone, 80, true});
  EXPECT_NE(text.find("step 1 of 2\n  output    [ein]\n  looked at [a .90] [house .10]\n  likely    75.0%\n"
                      "  choices   ein 75.0%, das 12.5%\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("step 2 of 2\n  output    ein [Haus]\n"), std::string::npos) << text;
}

TEST(Terminal, HeadsShareTheirTitle) {
  std::vector<Grid> grids;
  for (int i = 0; i < 4; ++i) {
    grids.push_back(make_grid({"a", "b"}, {"c", "d"}));
    grids.back().title = "cross attention, layer " + std::to_string(i / 2 + 1) + ", head " + std::to_string(i % 2 + 1);
  }
  const std::string text = heads_text(grids, 2, {}, {Colour::kNone, 80, true});
  EXPECT_TRUE(text.starts_with("cross attention\n\nlayer 1\nhead 1  head 2\n█▁")) << text;
  EXPECT_NE(text.find("\nlayer 2\nhead 1  head 2\n"), std::string::npos) << text;
}

TEST(Terminal, LargeHeadsAreShrunkAndSaySo) {
  Grid grid = make_grid(numbered("r", 40), numbered("c", 40));
  std::fill(grid.weights.begin(), grid.weights.end(), 0.0F);
  grid.at(39, 1) = 1;  // the largest of its square
  const std::string text = heads_text(std::vector<Grid>{grid}, 1, {}, {Colour::kNone, 80, true});
  EXPECT_NE(text.find("drawn 2 times smaller: each cell is the largest of 2 by 2 weights"), std::string::npos) << text;
  EXPECT_NE(text.find("\n█\n"), std::string::npos) << text;
}

TEST(Terminal, RefusesGridsWithoutCells) {
  const TerminalStyle terminal;
  EXPECT_ERROR(heatmap_text(Grid{}, {}, terminal), "heat map: expected a grid with cells");
  EXPECT_ERROR(highlight_text(Grid{}, {}, terminal), "highlight: expected a grid with cells");
  EXPECT_ERROR(flow_text(make_grid({"a"}, {}), {}, terminal), "flow: expected a grid with cells");
  EXPECT_ERROR(steps_text(make_grid({}, {"a"}), {}, terminal), "steps: expected a grid with cells");
  EXPECT_ERROR(heads_text({}, 1, {}, terminal), "heads: expected at least one grid");
  Grid wrong = make_grid({"a"}, {"b"});
  wrong.weights.push_back(0);
  EXPECT_ERROR(heatmap_text(wrong, {}, terminal), "expected 1 weights, got 2");
  EXPECT_ERROR(heatmap_text(make_grid({"a"}, {"b"}), {}, {Colour::kNone, 5, true}), "at least 20 columns");
}

TEST(TerminalStyle, ColourIsWhatTheTerminalSays) {
  const auto colour = [](const TerminalFacts& facts) { return terminal_style(facts).colour; };
  EXPECT_EQ(colour({.is_terminal = true, .colorterm = "truecolor", .term = "xterm-256color"}), Colour::kTrue);
  EXPECT_EQ(colour({.is_terminal = true, .colorterm = "24bit", .term = "xterm"}), Colour::kTrue);
  EXPECT_EQ(colour({.is_terminal = true, .term = "xterm-kitty"}), Colour::kTrue);
  EXPECT_EQ(colour({.is_terminal = true, .term = "xterm-256color"}), Colour::k256);
  EXPECT_EQ(colour({.is_terminal = true, .term = "vt100"}), Colour::kNone);
  EXPECT_EQ(colour({.is_terminal = true, .colorterm = "truecolor", .term = "dumb"}), Colour::kNone);
  EXPECT_EQ(colour({.is_terminal = true, .colorterm = "truecolor"}), Colour::kNone);
  EXPECT_EQ(colour({.is_terminal = false, .colorterm = "truecolor", .term = "xterm"}), Colour::kNone);
  EXPECT_EQ(colour({.is_terminal = true, .no_color = "1", .colorterm = "truecolor", .term = "xterm"}), Colour::kNone);
}

TEST(TerminalStyle, WidthIsWantedOrKnownOrUsual) {
  const auto width = [](const TerminalFacts& facts) { return terminal_style(facts).width; };
  EXPECT_EQ(width({}), 80);
  EXPECT_EQ(width({.columns = 132}), 132);
  EXPECT_EQ(width({.columns = 132, .columns_wanted = "100"}), 100);
  EXPECT_EQ(width({.columns = 132, .columns_wanted = "wide"}), 132);
  EXPECT_EQ(width({.columns = 132, .columns_wanted = "-5"}), 132);
  EXPECT_EQ(width({.columns = 3}), TerminalStyle::kMinWidth);
}

TEST(TerminalStyle, TheBackgroundIsDarkUnlessTheTerminalSaysLight) {
  const auto dark = [](const char* colours) { return terminal_style({.colorfgbg = colours}).dark; };
  EXPECT_TRUE(dark(""));
  EXPECT_TRUE(dark("15;0"));
  EXPECT_TRUE(dark("15;default;8"));
  EXPECT_TRUE(dark("default;default"));
  EXPECT_FALSE(dark("0;15"));
  EXPECT_FALSE(dark("0;default;7"));
}

TEST(TerminalStyle, UnicodeUnlessTheLocaleSaysOtherwise) {
  const auto unicode = [](const TerminalFacts& facts) { return terminal_style(facts).unicode; };
  EXPECT_TRUE(unicode({}));
  EXPECT_TRUE(unicode({.lang = "de_DE.UTF-8"}));
  EXPECT_TRUE(unicode({.lang = "C.utf8"}));
  EXPECT_FALSE(unicode({.lang = "C"}));
  EXPECT_FALSE(unicode({.lang = "de_DE.ISO-8859-1"}));
  EXPECT_FALSE(unicode({.lc_all = "POSIX", .lang = "de_DE.UTF-8"}));
  EXPECT_TRUE(unicode({.lc_ctype = "en_US.UTF-8", .lang = "C"}));
}

}  // namespace
}  // namespace fovea
