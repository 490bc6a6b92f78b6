// SVG, HTML and PNG of grids, read back by parsers that are not ours (check_picture.py).
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>

#include "base/error.h"
#include "view/colour_scale.h"
#include "view/html.h"
#include "view/links.h"
#include "view/picture_checks.h"
#include "view/svg.h"
#include "view/svg_render.h"
#include "view/svg_sentence.h"
#include "view/svg_text.h"
#include "vision/png.h"

namespace fovea {
namespace {

std::vector<Label> labels(const std::vector<std::string>& tokens) {
  std::vector<Label> result;
  for (const std::string& token : tokens) result.push_back({token, !result.empty()});
  return result;
}

Grid grid_of(const std::vector<std::string>& rows, const std::vector<std::string>& columns,
             const std::vector<float>& weights) {
  return {.title = "cross attention, layer 1, head 1",
          .row_name = "target",
          .column_name = "source",
          .rows = labels(rows),
          .columns = labels(columns),
          .weights = weights};
}

Grid evenly(const std::vector<std::string>& rows, const std::vector<std::string>& columns) {
  return grid_of(rows, columns,
                 std::vector<float>(rows.size() * columns.size(), 1.0F / static_cast<float>(columns.size())));
}

struct View {
  const char* name;
  std::function<std::string(const Grid&)> draw;
};

std::vector<View> views() {
  const PictureStyle style;
  return {{"heatmap.svg", [=](const Grid& g) { return heatmap_svg(g, style); }},
          {"highlight.svg", [=](const Grid& g) { return highlight_svg(g, style); }},
          {"flow.svg", [=](const Grid& g) { return flow_svg(g, style); }},
          {"heads.svg",
           [=](const Grid& g) {
             return heads_svg(std::array{g, g, g}, style, 2);
           }},
          {"steps.svg", [=](const Grid& g) { return steps_svg(g, style); }},
          {"heatmap.html", [=](const Grid& g) { return heatmap_html(g, style); }},
          {"highlight.html", [=](const Grid& g) { return highlight_html(g, style); }},
          {"flow.html", [=](const Grid& g) { return flow_html(g, style); }},
          {"heads.html",
           [=](const Grid& g) {
             return heads_html(std::array{g, g, g}, style, 2);
           }},
          {"steps.html", [=](const Grid& g) { return steps_html(g, style); }}};
}

class Pictures : public PictureChecks {
 protected:
  using PictureChecks::wrong;
  // Of a grid in every view.
  std::string wrong(const Grid& grid, const std::vector<std::string>& tokens) const {
    std::map<std::string, std::string> pictures;
    for (const View& view : views()) pictures[view.name] = view.draw(grid);
    return wrong(pictures, tokens);
  }
};

TEST_F(Pictures, TheCheckFindsWhatIsWrong) {
  const std::string head = R"(<svg xmlns="http://www.w3.org/2000/svg">)";
  EXPECT_EQ(wrong(head + "<text>a</text></svg>", {"a"}), "");
  EXPECT_NE(wrong(head + "<text>a</svg>", {}), "");
  EXPECT_NE(wrong(head + "<text>a</text></svg>", {"b"}), "");
  EXPECT_NE(wrong(head + "<text>\x01</text></svg>", {}), "");
  EXPECT_NE(wrong(head + "<script>alert(1)</script></svg>", {}), "");
  EXPECT_NE(wrong(head + R"(<image href="http://example.org/a.png"/></svg>)", {}), "");
  EXPECT_NE(wrong(head + R"(<image href="a.png"/></svg>)", {}), "");
  EXPECT_NE(wrong("<html><head></head><body><script>alert(1)</script></body></html>", {}), "");
}

TEST_F(Pictures, AreXmlWithEveryTokenAndNothingFromOutside) {
  Grid grid = evenly({"2", "015", "–", "م", "</s>"}, {"25.", "März", "2015", "中文字", "اليوم"});
  grid.rows.back().mark = true;
  grid.at(1, 2) = kAbsent;
  for (int64_t c = 0; c < grid.width(); ++c) grid.at(3, c) = kAbsent;
  for (size_t i = 0; i < grid.rows.size(); ++i) grid.notes.push_back({0.5, {{"other", 0.3}, {grid.rows[i].text, 0.5}}});
  for (const bool hard : {false, true}) {
    grid.hard = hard;
    EXPECT_EQ(wrong(grid, {"2", "015", "–", "م", "</s>", "25.", "März", "2015", "中文字", "اليوم"}), "");
  }
}

TEST_F(Pictures, TokensCannotBreakOut) {
  const std::string script = "<script>alert(1)</script>", quotes = R"("&'>]]>)", ends = "</script><b>";
  Grid grid = evenly({script, quotes, "a\x01\x1F\x7F"}, {ends, "\xFF\xC0", "x\u202Ey"});
  grid.title = "title " + script + quotes;
  grid.row_name = grid.column_name = script;
  for (size_t i = 0; i < 3; ++i) grid.notes.push_back({0.5, {{quotes, 0.3}, {script, 0.2}}});
  EXPECT_EQ(wrong(grid, {script, quotes, ends, "a␁␟␡", "\uFFFD\uFFFD"}), "");
  for (const View& view : views()) {
    const std::string picture = view.draw(grid);
    EXPECT_EQ(picture.find("<script>alert"), std::string::npos) << view.name;
    EXPECT_EQ(picture.find("</script><b>"), std::string::npos) << view.name;
  }
}

TEST_F(Pictures, SmallestAndStrangest) {
  const std::string lengthy(300, 'w');
  Grid absent = evenly({"a", "b"}, {"c"});
  absent.weights = {kAbsent, kAbsent};
  EXPECT_EQ(wrong(evenly({"a"}, {"b"}), {"a", "b"}), "");
  EXPECT_EQ(wrong(absent, {"a", "b", "c"}), "");
  EXPECT_EQ(wrong(evenly({lengthy, ""}, {" ", "\t"}), {lengthy, "␣"}), "");
}

TEST_F(Pictures, AnEmptyOrUnevenGridIsAnError) {
  for (const View& view : views()) {
    EXPECT_THROW(view.draw(evenly({}, {"a"})), Error) << view.name;
    EXPECT_THROW(view.draw(evenly({"a"}, {})), Error) << view.name;
    EXPECT_THROW(view.draw(grid_of({"a"}, {"b"}, {0.5F, 0.5F})), Error) << view.name;
  }
  EXPECT_THROW(heads_svg({}, {}, 2), Error);
  EXPECT_THROW(heads_svg(std::array{evenly({"a"}, {"b"})}, {}, 0), Error);
}

TEST_F(Pictures, AbsentAndChosenCellsAreInTheLegend) {
  Grid grid = evenly({"a", "b"}, {"c", "d"});
  const std::string plain = heatmap_svg(grid, {});
  EXPECT_EQ(plain.find("masked"), std::string::npos);
  EXPECT_EQ(plain.find("class=\"chosen"), std::string::npos);
  grid.at(0, 1) = kAbsent;
  grid.hard = true;
  const std::string both = heatmap_svg(grid, {});
  EXPECT_NE(both.find("masked"), std::string::npos);
  EXPECT_NE(both.find("class=\"chosen"), std::string::npos);
}

TEST_F(Pictures, StepsShowWhatElseWasLikely) {
  Grid grid = evenly({"a", "b"}, {"c", "d"});
  grid.notes = {{0.25, {{"other", 0.625}}}, {0.5, {{"b", 0.5}}}};
  for (const std::string& picture : {steps_svg(grid, {}), steps_html(grid, {})}) {
    for (const char* part : {">other</text>", ">62.5%</text>", ">25.0%</text>", ">50.0%</text>"}) {
      EXPECT_NE(picture.find(part), std::string::npos) << part;
    }
  }
  EXPECT_NE(steps_html(grid, {}).find("type=\"range\""), std::string::npos);
  grid.notes.pop_back();
  EXPECT_THROW(steps_svg(grid, {}), Error);
}

TEST_F(Pictures, HeadsNameWhatIsTheirOwn) {
  std::array grids{evenly({"a"}, {"b"}), evenly({"a"}, {"b"})};
  grids[1].title = "cross attention, layer 1, head 12";
  const std::string svg = heads_svg(grids, {}, 2);
  EXPECT_NE(svg.find(">cross attention, layer 1</text>"), std::string::npos);
  EXPECT_NE(svg.find(">head 1</text>"), std::string::npos);
  EXPECT_NE(svg.find(">head 12</text>"), std::string::npos);
}

// The smallest font of a picture's text.
double smallest_text(const std::string& svg) {
  double smallest = 13;
  for (size_t at = svg.find("<text"); at != std::string::npos; at = svg.find("<text", at + 1)) {
    const size_t size = svg.find("font-size=\"", at);
    if (size < svg.find('>', at)) smallest = std::min(smallest, std::stod(svg.substr(size + 11)));
  }
  return smallest;
}

TEST_F(Pictures, EveryTokenHasALabelThatCanBeRead) {
  for (const int count : {4, 60, 300}) {
    std::vector<std::string> rows, columns;
    for (int i = 0; i < count; ++i) {
      rows.push_back("Wort" + std::to_string(i));
      columns.push_back("word" + std::to_string(i));
    }
    const std::string svg = heatmap_svg(evenly(rows, columns), {});
    for (const auto& side : {rows, columns}) {
      for (const std::string& word : side) EXPECT_NE(svg.find(">" + word + "</text>"), std::string::npos) << word;
    }
    EXPECT_GE(smallest_text(svg), 11) << count;
  }
}

TEST_F(Pictures, DarkPaperHasColoursOfItsOwn) {
  Grid grid = evenly({"a"}, {"b", "c"});
  grid.weights = {0.5F, 0.0F};
  const std::string light = hex(colour_at("blues", 1, Paper::kLight)), dark = hex(colour_at("blues", 1, Paper::kDark));
  const auto has = [&](const std::string& background, const std::string& part) {
    return heatmap_svg(grid, {.background = background}).find(part) != std::string::npos;
  };
  EXPECT_TRUE(has("auto", "fill=\"" + light + "\" class=\"f" + dark.substr(1)));
  EXPECT_TRUE(has("auto", ".f" + dark.substr(1) + "{fill:" + dark + "}"));
  EXPECT_TRUE(has("light", "fill=\"" + light));
  EXPECT_FALSE(has("light", "prefers-color-scheme"));
  EXPECT_TRUE(has("dark", "fill=\"" + dark));
  EXPECT_FALSE(has("dark", "prefers-color-scheme"));
  const std::string heads = heads_svg(std::array{grid, grid}, {}, 2);
  EXPECT_NE(heads.find("class=\"day\""), std::string::npos);
  EXPECT_NE(heads.find("class=\"night\""), std::string::npos);
}

TEST_F(Pictures, HeadsShareOneScale) {
  std::array grids{evenly({"a"}, {"b", "c"}), evenly({"a"}, {"b", "c"})};
  grids[1].weights = {0.25F, 0.75F};
  EXPECT_NE(heads_svg(grids, {}, 2).find(">0.75</text>"), std::string::npos);
}

TEST_F(Pictures, TicksFollowTheScale) {
  const Grid grid = evenly({"a"}, {"b"});
  const auto has = [&](const char* scale, const char* tick) {
    return heatmap_svg(grid, {.scale = scale}).find(std::string(">") + tick + "</text>") != std::string::npos;
  };
  EXPECT_TRUE(has("linear", "0.8"));
  EXPECT_TRUE(has("sqrt", "0.05"));
  EXPECT_TRUE(has("log", "0.01"));
  EXPECT_FALSE(has("linear", "0.01"));
}

TEST(Links, StateWhatIsHidden) {
  // 0.1 of the first row and 0.05 of the second are hidden; with 0.45 the second would lose half.
  const Grid grid = grid_of({"x", "y"}, {"a", "b", "c"}, {0.7F, 0.2F, 0.1F, 0.5F, 0.45F, 0.05F});
  EXPECT_EQ(prune_links(grid, 0.1).statement(), "hides 7.5% of the attention, in 2 of 6 links");
  EXPECT_EQ(prune_links(grid, 0).statement(), "shows all of the attention, in 6 links");
  EXPECT_EQ(prune_links(grid, 0.3).statement(), "hides 17.5% of the attention, in 3 of 6 links");
  EXPECT_NE(flow_svg(grid, {.hide = 0.1}).find("hides 7.5% of the attention, in 2 of 6 links"), std::string::npos);
  EXPECT_EQ(prune_links(grid, 0, 2).statement(), "hides 40.0% of the attention, in 4 of 6 links");
}

TEST(Links, AnAbsentCellIsNoLink) {
  const Grid grid = grid_of({"x", "y"}, {"a", "b"}, {0.95F, 0.05F, 1.0F, kAbsent});
  EXPECT_EQ(prune_links(grid, 0.1).statement(), "hides 2.5% of the attention, in 1 of 3 links");
}

TEST(Links, MassMovesInOrderAndAllOfIt) {
  const Grid grid =
      grid_of({"x", "y", "z"}, {"a", "b", "c"}, {0.5F, 0.5F, 0.0F, 0.0F, 0.25F, 0.75F, kAbsent, kAbsent, kAbsent});
  const std::vector<Move> moves = transport(grid, 0, 1);
  ASSERT_EQ(moves.size(), 3u);
  EXPECT_EQ(moves[0].from, 0);
  EXPECT_EQ(moves[0].to, 1);
  EXPECT_NEAR(moves[0].mass, 0.25, 1e-7);
  EXPECT_EQ(moves[1].to, 2);
  EXPECT_NEAR(moves[1].mass, 0.25, 1e-7);
  EXPECT_EQ(moves[2].from, 1);
  EXPECT_NEAR(moves[2].mass, 0.5, 1e-7);
  EXPECT_TRUE(transport(grid, 1, 2).empty());
  // Half of the mass moves one column, half two.
  const Grid two = grid_of({"x", "y"}, {"a", "b", "c"}, {1.0F, 0.0F, 0.0F, 0.0F, 0.5F, 0.5F});
  EXPECT_NE(flow_svg(two, {}).find("1.5 places a step"), std::string::npos);
}

TEST(SvgText, SentencesBeginWhereTheirScriptDoes) {
  const std::vector<Label> arabic = labels({"قرأت", "الكتاب"}), english = labels({"read", "it"});
  EXPECT_GT(lay_out(arabic, {}).words[0].x, lay_out(arabic, {}).words[1].x);
  EXPECT_LT(lay_out(english, {}).words[0].x, lay_out(english, {}).words[1].x);
  EXPECT_GT(lay_out(english, {.max_width = 40}).words[1].y, 0);
}

TEST(SvgText, WidthsAndDirections) {
  EXPECT_NEAR(ems("中文"), 2.0, 1e-9);
  EXPECT_NEAR(ems("e\u0301"), ems("e"), 1e-9);
  EXPECT_EQ(shorten("short", 10), "short");
  EXPECT_LE(ems(shorten(std::string(100, 'w'), 10)), 10.0);
  EXPECT_TRUE(is_right_to_left("اليوم!"));
  EXPECT_FALSE(is_right_to_left("2015"));
  EXPECT_TRUE(is_right_to_left(labels({"قرأت", "A", "الكتاب"})));
  EXPECT_FALSE(is_right_to_left(labels({"what", "is", "الكتاب"})));
}

int64_t big_endian(const std::string& bytes, size_t at) {
  int64_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

void expect_png(const std::string& file, int64_t width, int64_t height) {
  ASSERT_GT(file.size(), 24u);
  EXPECT_EQ(file.substr(0, 8), "\x89PNG\r\n\x1A\n");
  EXPECT_EQ(big_endian(file, 16), width);
  EXPECT_EQ(big_endian(file, 20), height);
}

TEST(Png, HasItsSizeAndRefusesOthers) {
  expect_png(encode_png({3, 2, 3, std::vector<uint8_t>(18)}), 3, 2);
  expect_png(encode_png({1, 1, 4, {1, 2, 3, 4}}), 1, 1);
  EXPECT_THROW(encode_png({3, 2, 3, std::vector<uint8_t>(17)}), Error);
  EXPECT_THROW(encode_png({0, 2, 3, {}}), Error);
}

bool has_librsvg() {
  try {
    svg_to_png(R"(<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>)");
    return true;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("librsvg2-dev"), std::string::npos);
    return false;
  }
}

TEST(Png, OfAnSvg) {
  if (!has_librsvg()) GTEST_SKIP() << "built without librsvg";
  const std::string head = R"(<svg xmlns="http://www.w3.org/2000/svg" )";
  expect_png(svg_to_png(head + R"(width="30" height="20"/>)"), 60, 40);
  expect_png(svg_to_png(head + R"(width="30" height="20"/>)", 1), 30, 20);
  expect_png(svg_to_png(head + R"(width="32768" height="10"/>)", 1), 16384, 5);
  EXPECT_THROW(svg_to_png("no picture"), Error);
  EXPECT_THROW(svg_to_png(head + R"(width="30" height="20"/>)", 0), Error);
}

TEST(Pdf, OfAnSvg) {
  if (!has_librsvg()) GTEST_SKIP() << "built without librsvg";
  const std::string pdf = svg_to_pdf(
      R"(<svg xmlns="http://www.w3.org/2000/svg" width="400" height="200"><text x="10" y="50">word</text></svg>)");
  EXPECT_EQ(pdf.substr(0, 5), "%PDF-");
  EXPECT_NE(pdf.find("/MediaBox [ 0 0 300 150 ]"), std::string::npos);  // points, 72 an inch
  EXPECT_NE(pdf.find("/Font"), std::string::npos);
  EXPECT_THROW(svg_to_pdf("no picture"), Error);
}

TEST(Fonts, CharactersThatNoFontHasAreMissing) {
  if (!has_librsvg()) GTEST_SKIP() << "built without librsvg";
  const auto missing = [](const std::string& text) {
    return missing_glyphs("<svg><style>.\U000F0000{}</style><text class=\"\U000F0000\">" + text + "</text></svg>");
  };
  // No font has private characters of plane 15; spaces and marks of direction need no font.
  EXPECT_TRUE(missing("").empty());
  EXPECT_TRUE(missing(" \u2068\u2069\u3000\n").empty());
  const std::vector<MissingGlyphs> found = missing("\U000F0001\U000F0002\U000F0001");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].characters, "\U000F0001\U000F0002");
  EXPECT_EQ(found[0].statement(),
            "no installed font covers the other characters \U000F0001\U000F0002; the picture shows boxes instead "
            "(Debian has a font for them in the package fonts-noto-core)");
}

TEST_F(Pictures, ManyCellsAreOneImage) {
  std::vector<std::string> tokens;
  for (int i = 0; i < 512; ++i) tokens.push_back("token" + std::to_string(i));
  Grid grid = evenly(tokens, tokens);
  for (size_t i = 0; i < grid.weights.size(); ++i) grid.weights[i] = static_cast<float>(i * 7919 % 1000) / 1000.0F;
  const std::string svg = heatmap_svg(grid, {});
  EXPECT_LT(svg.size(), 5u << 20);
  EXPECT_EQ(wrong(svg, tokens), "");
  EXPECT_EQ(svg.find("<title>"), std::string::npos);
  if (!has_librsvg()) return;
  EXPECT_LT(svg_to_png(svg).size(), 16u << 20);  // 64 million pixels of noise
}

}  // namespace
}  // namespace fovea
