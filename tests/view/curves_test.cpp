#include "view/curves.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "support.h"
#include "temporary_folder.h"
#include "view/terminal_text.h"

namespace fovea {
namespace {

using Colour = TerminalStyle::Colour;

constexpr const char* kTwoLines =
    "{\"event\":\"train\",\"step\":100,\"epoch\":0.5,\"loss\":4.0,\"learning_rate\":0.002,\"grad_norm\":0.1,"
    "\"tokens_per_second\":1000,\"minutes\":0.1}\n"
    "{\"event\":\"validation\",\"step\":200,\"loss\":2.5,\"bleu\":12.5,\"best\":12.5,\"minutes\":0.2}\n";

RunCurves read(const std::string& text) {
  const TemporaryFolder folder;
  folder.file("metrics.jsonl", text);
  return read_run(folder.path());
}

TEST(Curves, ReadsWhatTrainingWrites) {
  const RunCurves run = read(kTwoLines);
  EXPECT_TRUE(run.name.starts_with("fovea-test-")) << run.name;
  ASSERT_EQ(run.train_loss.size(), 1U);
  EXPECT_EQ(run.train_loss[0].step, 100);
  EXPECT_EQ(run.train_loss[0].value, 4.0);
  EXPECT_EQ(run.learning_rate[0].value, 0.002);
  ASSERT_EQ(run.validation_loss.size(), 1U);
  EXPECT_EQ(run.validation_loss[0].step, 200);
  EXPECT_EQ(run.validation_loss[0].value, 2.5);
  ASSERT_EQ(run.metrics.size(), 1U);  // "best" and "minutes" are none
  EXPECT_EQ(run.metrics.at("bleu")[0].value, 12.5);
}

TEST(Curves, TheNameIsThatOfTheFolderAlsoWithASlash) {
  const TemporaryFolder folder;
  folder.file("metrics.jsonl", kTwoLines);
  EXPECT_EQ(read_run(folder.path() + "/").name, read_run(folder.path()).name);
}

TEST(Curves, ALastLineThatIsBeingWrittenIsNotRead) {
  EXPECT_EQ(read(std::string(kTwoLines) + "{\"event\":\"train\",\"st").train_loss.size(), 1U);
  // ... but it is when only its newline is missing.
  EXPECT_EQ(
      read(std::string(kTwoLines) + R"({"event":"train","step":300,"loss":1,"learning_rate":1})").train_loss.size(),
      2U);
}

TEST(Curves, ErrorsNameTheFileAndTheLine) {
  const std::string two = kTwoLines;
  EXPECT_ERROR(read(two + "{\"event\":\"tra\n" + two),
               "metrics.jsonl:3: expected JSON in UTF-8, got a syntax error at line 1, column 14");
  EXPECT_ERROR(read(two + "\n"), "metrics.jsonl:3: expected JSON");
  EXPECT_ERROR(read("[1]\n"), "metrics.jsonl:1: expected a JSON object");
  EXPECT_ERROR(read("{\"step\":1}\n"), "metrics.jsonl:1: expected a text \"event\"");
  EXPECT_ERROR(read("{\"event\":\"train\",\"step\":1,\"loss\":\"x\",\"learning_rate\":1}\n"),
               "metrics.jsonl:1: expected a number \"loss\"");
  EXPECT_ERROR(read("{\"event\":\"train\",\"loss\":1,\"learning_rate\":1}\n"), "expected a number \"step\"");
  EXPECT_ERROR(read_run("/nowhere/at all"), "/nowhere/at all/metrics.jsonl");
}

TEST(Curves, ALossThatIsNoNumberIsAGap) {
  const RunCurves run = read(
      "{\"event\":\"train\",\"step\":1,\"loss\":2,\"learning_rate\":1}\n"
      "{\"event\":\"train\",\"step\":2,\"loss\":null,\"learning_rate\":1}\n"
      "{\"event\":\"train\",\"step\":3,\"loss\":1,\"learning_rate\":1}\n");
  ASSERT_EQ(run.train_loss.size(), 3U);
  EXPECT_TRUE(std::isnan(run.train_loss[1].value));
  const std::string svg = curves_svg(std::vector<RunCurves>{run});
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(curves_text(std::vector<RunCurves>{run}, {}).find("nan"), std::string::npos);
}

TEST(Curves, NothingMeasuredIsAnError) {
  EXPECT_ERROR(curves_text(std::vector<RunCurves>{{.name = "young"}}, {}), "nothing has been measured yet in young");
  EXPECT_ERROR(curves_svg({}), "at least one run");
}

RunCurves falling(const std::string& name, double from, double to) {
  RunCurves run{.name = name};
  for (int i = 0; i <= 20; ++i) {
    const double value = from + (to - from) * i / 20;
    run.train_loss.push_back({100.0 * i, value});
    run.learning_rate.push_back({100.0 * i, 0.001});
    if (i % 5 == 0) run.validation_loss.push_back({100.0 * i, value + 0.5});
    if (i % 5 == 0) run.metrics["bleu"].push_back({100.0 * i, 2.0 * i});
  }
  return run;
}

TEST(Curves, AxesFitAllRuns) {
  const std::vector<RunCurves> runs = {falling("a", 4, 1), falling("b", 3, 0.5)};
  const auto panels = curve_panels(runs);
  ASSERT_EQ(panels.size(), 3U);
  EXPECT_EQ(panels[0].title, "loss");
  EXPECT_EQ(panels[1].title, "validation bleu");
  EXPECT_EQ(panels[2].title, "learning rate");
  EXPECT_EQ(panels[0].low, 0.5);
  EXPECT_EQ(panels[0].high, 4.5);
  EXPECT_FALSE(panels[0].logarithmic);
  EXPECT_EQ(panels[0].up(0.5), 0);
  EXPECT_EQ(panels[0].up(4.5), 1);
  EXPECT_EQ(panels[0].across(1000), 0.5);
  EXPECT_EQ(panels[0].value_ticks(6), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(panels[0].step_ticks(5), (std::vector<double>{0, 500, 1000, 1500, 2000}));
}

TEST(Curves, RunsOfOneNameAreToldApartByTheirFolders) {
  std::vector<RunCurves> runs = {falling("run", 4, 1), falling("run", 3, 0.5), falling("other", 3, 0.5)};
  runs[0].folder = "one/run";
  runs[1].folder = "two/run";
  runs[2].folder = "two/other";
  const CurvePanel panel = curve_panels(runs)[0];
  EXPECT_EQ(panel.curves[0].name, "one/run, training");
  EXPECT_EQ(panel.curves[3].name, "two/run, validation");
  EXPECT_EQ(panel.curves[4].name, "other, training");
}

TEST(Curves, ALossThatFallsFarIsLogarithmic) {
  const std::vector<RunCurves> runs = {falling("a", 10, 0.01)};
  const CurvePanel panel = curve_panels(runs)[0];
  EXPECT_TRUE(panel.logarithmic);
  EXPECT_NEAR(panel.up(std::sqrt(0.01 * panel.high)), 0.5, 1e-12);
}

// The first point is at the upper left, the last at the lower right.
TEST(Curves, TheCurveRunsFromTheFirstPointToTheLast) {
  RunCurves run{.name = "r"};
  run.train_loss = {{0, 2}, {100, 1}};
  std::vector<std::string> rows;
  const std::string text = curves_text(std::vector<RunCurves>{run}, {Colour::kNone, 40, false});
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    rows.push_back(text.substr(begin, end - begin));
  ASSERT_EQ(rows.size(), 2U + 12 + 2) << text;
  EXPECT_EQ(rows[1], "  ** r, training: 1 at step 100");
  EXPECT_EQ(rows[2].substr(8, 2), "+*") << text;
  EXPECT_EQ(rows[13].back(), '*') << text;
  EXPECT_EQ(rows[13].size(), 40U) << text;
  EXPECT_EQ(rows[7].find('*'), 9U + 13U) << text;  // the sixth of twelve lines, from 4.5 / 11 of 30 on
}

TEST(Curves, LinesKeepWithinTheWidth) {
  const std::vector<RunCurves> runs = {falling("a\033[2J", 4, 1), falling(std::string(300, 'b'), 3, 0.5)};
  for (const Colour colour : {Colour::kNone, Colour::kTrue}) {
    for (const bool unicode : {true, false}) {
      for (const int width : {20, 80, 200}) {
        const std::string text = curves_text(runs, {colour, width, unicode});
        EXPECT_EQ(text.find("\033[2J"), std::string::npos);
        if (colour == Colour::kNone) {
          EXPECT_EQ(text.find('\033'), std::string::npos);
        }
        for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
          std::string line = text.substr(begin, end - begin);
          for (size_t at; (at = line.find('\033')) != std::string::npos;) line.erase(at, line.find('m', at) - at + 1);
          EXPECT_LE(display_width(line), width) << line;
        }
      }
    }
  }
}

// Every tag that opens closes, in order.
std::string count_tags(const std::string& xml) {
  std::vector<std::string> open;
  for (size_t at = xml.find('<'); at != std::string::npos; at = xml.find('<', at + 1)) {
    const size_t end = xml.find('>', at);
    if (end == std::string::npos) return "a tag without an end";
    const std::string tag = xml.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(0, tag.find(' '));
    if (tag.ends_with('/')) continue;
    if (!tag.starts_with('/')) {
      open.push_back(name);
    } else if (open.empty() || open.back() != name.substr(1)) {
      return "an end without its tag: " + name;
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : "never closed: " + open.back();
}

TEST(Curves, SvgIsXmlWithTextAndBothColourSchemes) {
  const std::vector<RunCurves> runs = {falling("a<b>&\"\x01\xff", 4, 1), falling("second", 3, 0.5)};
  const std::string svg = curves_svg(runs);
  EXPECT_EQ(count_tags(svg), "");
  EXPECT_NE(svg.find(">a&lt;b&gt;&amp;&quot;\u2401\uFFFD, training</text>"), std::string::npos) << svg;
  EXPECT_NE(svg.find(">second, validation</text>"), std::string::npos);
  EXPECT_NE(svg.find("prefers-color-scheme: dark"), std::string::npos);
  EXPECT_EQ(svg.find("href"), std::string::npos);
  EXPECT_EQ(svg.find("url("), std::string::npos);
  EXPECT_NE(svg.find(">validation bleu</text>"), std::string::npos);
}

// Where the names of the legend stand: "x=... y=..." of each.
std::vector<std::string> legend_places(const std::string& svg) {
  std::vector<std::string> places;
  const std::string mark = "<text class=\"name\" ";
  for (size_t at = svg.find(mark); at != std::string::npos; at = svg.find(mark, at + 1)) {
    const size_t begin = at + mark.size();
    places.push_back(svg.substr(begin, svg.find(" text-anchor", begin) - begin));
  }
  return places;
}

TEST(Curves, EightRunsHaveColoursOfTheirOwnAndShareLegendLines) {
  std::vector<RunCurves> runs;
  for (int i = 0; i < 8; ++i) runs.push_back(falling("run " + std::to_string(i), 4.0 - 0.1 * i, 1));
  const std::string svg = curves_svg(runs);
  for (int i = 0; i < 8; ++i) {
    const std::string colour = "c" + std::to_string(i);
    EXPECT_NE(svg.find("circle class=\"" + colour + "\""), std::string::npos) << colour;
    EXPECT_NE(svg.find("." + colour + " { stroke"), std::string::npos) << colour;
  }
  const std::vector<std::string> places = legend_places(svg);
  ASSERT_GE(places.size(), 16U);
  EXPECT_EQ(std::set(places.begin(), places.end()).size(), places.size());  // none over another
  std::set<std::string> lines;
  for (size_t i = 0; i < 16; ++i) lines.insert(places[i].substr(places[i].find("y=")));
  EXPECT_LT(lines.size(), 8U);
}

}  // namespace
}  // namespace fovea
