// What the program and the page both compute, by cases that both read: tests/view/cases. The page's side of this test
// is web/tests/unit/shared_cases.test.ts.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "support.h"
#include "view/colour_scale.h"
#include "view/compact_weights.h"
#include "view/diagnostics.h"
#include "view/links.h"
#include "view/record_file.h"
#include "view/reduce.h"
#include "view/svg_canvas.h"
#include "view/svg_text.h"

namespace fovea {
namespace {

using Json = nlohmann::json;

constexpr double kTolerance = 1e-6;  // of sums of a few floats up to 1

Json read_cases(const std::string& name) {
  std::ifstream file(std::string(FOVEA_VIEW_CASES) + "/" + name);
  return Json::parse(file);
}

float weight_from(const Json& json) { return json.is_null() ? kAbsent : json.get<float>(); }

Grid grid_from(const Json& rows) {
  Grid grid;
  grid.rows.resize(rows.size());
  grid.columns.resize(rows.at(0).size());
  for (const Json& row : rows) {
    for (const Json& weight : row) grid.weights.push_back(weight_from(weight));
  }
  return grid;
}

void expect_weights(const std::vector<float>& actual, const std::vector<float>& expected, const Json& c) {
  ASSERT_EQ(actual.size(), expected.size()) << c;
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(is_absent(actual[i]), is_absent(expected[i])) << "cell " << i << " of " << c;
    if (is_absent(expected[i])) continue;
    EXPECT_NEAR(actual[i], expected[i], kTolerance) << "cell " << i << " of " << c;
  }
}

void expect_labels(const std::vector<Label>& actual, const Json& expected, const Json& c) {
  ASSERT_EQ(actual.size(), expected.size()) << c;
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_EQ(actual[i].text, expected[i].at("text").get<std::string>()) << c;
    EXPECT_EQ(actual[i].space_before, expected[i].value("space_before", false)) << actual[i].text << " of " << c;
    EXPECT_EQ(actual[i].mark, expected[i].value("mark", false)) << actual[i].text << " of " << c;
  }
}

void expect_notes(const std::vector<StepNote>& actual, const Json& expected, const Json& c) {
  ASSERT_EQ(actual.size(), expected.size()) << c;
  for (size_t i = 0; i < actual.size(); ++i) {
    const Json& alternatives = expected[i].at("alternatives");
    EXPECT_NEAR(actual[i].probability, expected[i].at("probability").get<double>(), kTolerance) << c;
    ASSERT_EQ(actual[i].alternatives.size(), alternatives.size()) << c;
    for (size_t k = 0; k < alternatives.size(); ++k) {
      EXPECT_EQ(actual[i].alternatives[k].first, alternatives[k].at("text").get<std::string>()) << c;
      EXPECT_NEAR(actual[i].alternatives[k].second, alternatives[k].at("probability").get<double>(), kTolerance) << c;
    }
  }
}

TEST(SharedCases, Reductions) {
  const Json file = read_cases("reductions.json");
  for (const Json& c : file.at("cases")) {
    const std::string name = c.at("record");
    const AttentionRecord record = record_from_json(file.at("records").at(name).dump(), name);
    const Grid grid = reduce(record, {.attention = c.at("attention"),
                                      .heads = c.at("heads"),
                                      .layer = c.value("layer", 0),
                                      .head = c.value("head", 0),
                                      .words = c.value("words", false)});
    expect_weights(grid.weights, grid_from(c.at("weights")).weights, c);
    EXPECT_EQ(grid.hard, c.value("hard", false)) << c;
    if (c.contains("rows")) expect_labels(grid.rows, c["rows"], c);
    if (c.contains("columns")) expect_labels(grid.columns, c["columns"], c);
    if (c.contains("notes")) expect_notes(grid.notes, c["notes"], c);
  }
}

TEST(SharedCases, NormalisedRows) {
  for (const Json& c : read_cases("reductions.json").at("normalised")) {
    const Grid grid = normalise_rows(grid_from(c.at("weights")));
    expect_weights(grid.weights, grid_from(c.at("normalised")).weights, c);
  }
}

TEST(SharedCases, Diagnostics) {
  for (const Json& c : read_cases("diagnostics.json").at("cases")) {
    const Diagnostics d = diagnose(grid_from(c.at("weights")));
    EXPECT_NEAR(d.entropy, c.at("entropy").get<double>(), kTolerance) << c;
    EXPECT_NEAR(d.peak, c.at("peak").get<double>(), kTolerance) << c;
    EXPECT_NEAR(d.coverage_deviation, c.at("coverage_deviation").get<double>(), kTolerance) << c;
    EXPECT_NEAR(d.absent_out, c.at("absent_out").get<double>(), kTolerance) << c;
    EXPECT_NEAR(d.absent_in, c.at("absent_in").get<double>(), kTolerance) << c;
    EXPECT_NEAR(d.confidence, c.at("confidence").get<double>(), kTolerance) << c;
  }
}

TEST(SharedCases, Links) {
  for (const Json& c : read_cases("links.json").at("links")) {
    const Grid grid = grid_from(c.at("weights"));
    const PrunedLinks pruned = prune_links(grid, c.at("hide"), c.at("most"));
    Json drawn = Json::array();
    for (const DrawnLink& link : pruned.drawn) {
      drawn.push_back({link.row, link.column});
      EXPECT_EQ(static_cast<float>(link.weight), grid.at(link.row, link.column)) << c;
    }
    EXPECT_EQ(drawn, c.at("drawn")) << c;
    EXPECT_EQ(pruned.links, c.at("links").get<int64_t>()) << c;
    EXPECT_NEAR(pruned.hidden_share(), c.at("hidden").get<double>(), kTolerance) << c;
  }
}

TEST(SharedCases, MovesBetweenRows) {
  for (const Json& c : read_cases("links.json").at("moves")) {
    const Grid grid = grid_from(c.at("weights"));
    const std::vector<Move> moves = grid.height() > 1 ? transport(grid, 0, 1) : std::vector<Move>{};
    ASSERT_EQ(moves.size(), c.at("moves").size()) << c;
    for (size_t i = 0; i < moves.size(); ++i) {
      const Json& expected = c["moves"][i];
      EXPECT_EQ(moves[i].from, expected[0].get<int64_t>()) << c;
      EXPECT_EQ(moves[i].to, expected[1].get<int64_t>()) << c;
      EXPECT_NEAR(moves[i].mass, expected[2].get<double>(), kTolerance) << c;
    }
    EXPECT_NEAR(mean_move(grid), c.at("mean_move").get<double>(), kTolerance) << c;
  }
}

TEST(SharedCases, CompactWeights) {
  for (const Json& c : read_cases("compact.json").at("cases")) {
    const std::vector<int64_t> shape = c.at("shape");
    RecordedAttention a{.layers = shape.at(0), .heads = shape.at(1), .rows = shape.at(2), .columns = shape.at(3)};
    unpack_weights(c.at("packed").get<std::string>(), a);
    std::vector<float> expected;
    for (const Json& weight : c.at("weights")) expected.push_back(weight_from(weight));
    expect_weights(a.weights, expected, c);
    const auto columns = static_cast<size_t>(a.columns);
    for (size_t row = 0; row < c.at("bytes").size(); ++row) {
      std::string bytes;
      for (const Json& byte : c["bytes"][row]) bytes += static_cast<char>(byte.get<int>());
      EXPECT_EQ(quantised_row(std::span(expected).subspan(row * columns, columns)), bytes) << c;
    }
  }
}

TEST(SharedCases, Colours) {
  for (const Json& c : read_cases("colours.json").at("cases")) {
    const PictureStyle style{.scale = c["scale"], .palette = c["palette"], .max_weight = c["largest"]};
    const WeightScale scale(style, Grid{});
    EXPECT_EQ(hex(scale.colour(c["weight"], Paper::kLight)), c["light"]) << c;
    EXPECT_EQ(hex(scale.colour(c["weight"], Paper::kDark)), c["dark"]) << c;
  }
}

TEST(SharedCases, TicksOfALegend) {
  for (const Json& c : read_cases("colours.json").at("ticks")) {
    std::vector<std::string> names;
    for (const Tick& tick : WeightScale({.scale = c["scale"], .max_weight = c["largest"]}, Grid{}).ticks(0.14)) {
      names.push_back(tick.name);
    }
    EXPECT_EQ(Json(names), c.at("names")) << c;
  }
}

TEST(SharedCases, InkOnAColour) {
  for (const Json& c : read_cases("colours.json").at("ink")) {
    const auto value = static_cast<uint32_t>(std::stoul(c.at("colour").get<std::string>().substr(1), nullptr, 16));
    const auto part = [value](int shift) { return static_cast<uint8_t>(value >> shift); };
    EXPECT_EQ(hex(ink_on({part(16), part(8), part(0)})), c.at("ink")) << c;
  }
}

TEST(SharedCases, TextDirectionAndBlankTokens) {
  const Json file = read_cases("text.json");
  for (const Json& c : file.at("right_to_left")) {
    std::vector<Label> labels;
    for (const Json& text : c.at("tokens")) labels.push_back({.text = text});
    for (const Json& i : c.value("marks", Json::array())) labels[i.get<size_t>()].mark = true;
    EXPECT_EQ(is_right_to_left(labels), c.at("expected").get<bool>()) << c;
  }
  for (const Json& c : file.at("shown")) EXPECT_EQ(shown({.text = c.at("text")}), c.at("expected")) << c;
}

TEST(SharedCases, HeaviestColumn) {
  for (const Json& c : read_cases("text.json").at("heaviest")) {
    EXPECT_EQ(heaviest(grid_from(Json::array({c.at("weights")})), 0), c.at("expected").get<int64_t>()) << c;
  }
}

TEST(SharedCases, DamagedRecordsAreRefused) {
  const Json file = read_cases("damaged_records.json");
  const Json records = read_cases("reductions.json").at("records");
  for (const Json& c : file.at("cases")) {
    const std::string name = c.value("record", file.at("record").get<std::string>());
    Json damaged = records.at(name);
    EXPECT_NO_THROW(record_from_json(damaged.dump(), name));
    damaged.at(Json::json_pointer(c.at("at").get<std::string>())) = c.at("value");
    EXPECT_THROW(record_from_json(damaged.dump(), name), Error) << c;
  }
}

}  // namespace
}  // namespace fovea
