#include "evaluate/pointing.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support.h"
#include "temporary_folder.h"

namespace fovea {
namespace {

const Box kTopLeft{0, 0, 0.5, 0.5}, kBottomRight{0.5, 0.5, 1, 1};

// "a dog runs" over 2 x 2 cells; the tokens are a, do, ##g, runs and the end.
TokenAttention dog() {
  return {.rows = 2, .columns = 2, .words = {0, 1, 1, 2, -1}, .weights = {0.25f, 0.25f, 0.25f, 0.25f,  // a
                                                                          0.7f,  0.1f,  0.1f,  0.1f,   // do
                                                                          0.3f,  0.2f,  0.1f,  0.4f,   // ##g
                                                                          0.1f,  0.1f,  0.1f,  0.7f,   // runs
                                                                          0.0f,  1.0f,  0.0f,  0.0f}};
}

TEST(Pointing, TheMaximumOfTheMeanOverTheTokensPoints) {
  EXPECT_EQ(point_at(dog(), {0, 2, "animals", {kTopLeft}}), 1) << "mean 0.42 at the top left";
  EXPECT_EQ(point_at(dog(), {0, 2, "animals", {kBottomRight}}), 0);
  EXPECT_EQ(point_at(dog(), {2, 3, "animals", {kBottomRight}}), 1);
  EXPECT_EQ(point_at(dog(), {2, 3, "animals", {kTopLeft, kBottomRight}}), 1) << "in any of the boxes";
  EXPECT_EQ(point_at(dog(), {3, 4, "animals", {kTopLeft}}), std::nullopt) << "no token of this word";
}

TEST(Pointing, TheSentinelIsIgnored) {
  const TokenAttention attention{
      .rows = 1, .columns = 2, .words = {0, 1}, .weights = {0.1f, 0.2f, 0.7f, 0.4f, 0.1f, 0.5f}};
  const Box left{0, 0, 0.5, 1}, right{0.5, 0, 1, 1};
  EXPECT_EQ(point_at(attention, {0, 1, "", {right}}), 1);
  EXPECT_EQ(point_at(attention, {1, 2, "", {left}}), 1);
}

TEST(Pointing, AMaximumIsAtTheCentreOfItsCell) {
  std::vector<float> weights(25, 0.01f);
  weights[7] = 0.5f;  // row 1, column 2 of 5: its centre is at x 0.5, y 0.3
  const TokenAttention attention{.rows = 5, .columns = 5, .words = {0}, .weights = weights};
  EXPECT_EQ(point_at(attention, {0, 1, "", {{0.48, 0.28, 0.52, 0.32}}}), 1);
  EXPECT_EQ(point_at(attention, {0, 1, "", {{0.4, 0.2, 0.48, 0.4}}}), 0) << "in the cell, but not at its centre";
}

TEST(Pointing, InterpolationMovesAMaximumTowardsTheHigherNeighbour) {
  // The points next to the centre of the second cell, at 0.375: the right one is higher because the third cell is.
  const TokenAttention attention{.rows = 1, .columns = 4, .words = {0}, .weights = {0.0f, 0.5f, 0.4f, 0.1f}};
  EXPECT_EQ(point_at(attention, {0, 1, "", {{0.375, 0, 0.4, 1}}}), 1);
  EXPECT_EQ(point_at(attention, {0, 1, "", {{0.35, 0, 0.375, 1}}}), 0);
}

TEST(Pointing, OfEqualMaximaTheShareInsideCounts) {
  const TokenAttention flat{.rows = 2, .columns = 2, .words = {0}, .weights = std::vector<float>(4, 0.25f)};
  EXPECT_EQ(point_at(flat, {0, 1, "", {kTopLeft}}), 0.25);
  EXPECT_EQ(point_at(flat, {0, 1, "", {kTopLeft, kBottomRight}}), 0.5);
  // From the centre of a cell at the edge of the picture to the edge, interpolation is constant.
  const TokenAttention edge{.rows = 1, .columns = 2, .words = {0}, .weights = {0.9f, 0.1f}};
  EXPECT_EQ(point_at(edge, {0, 1, "", {{0, 0, 0.125, 1}}}), 0.5);
  EXPECT_EQ(point_at(edge, {0, 1, "", {{0, 0, 0.25, 1}}}), 1);
}

TEST(Pointing, OverlappingBoxesAreCountedOnce) {
  EXPECT_DOUBLE_EQ(covered_area({{0, 0, 0.5, 0.5}, {0.25, 0.25, 0.75, 0.75}}), 0.4375);
  EXPECT_DOUBLE_EQ(covered_area({{0, 0, 1, 1}, {0.25, 0.25, 0.75, 0.75}}), 1);
  EXPECT_DOUBLE_EQ(covered_area({{0.1, 0.2, 0.3, 0.4}}), 0.04);
  EXPECT_DOUBLE_EQ(covered_area({{0.1, 0.2, 0.1, 0.4}}), 0) << "a box without width";
  EXPECT_DOUBLE_EQ(covered_area({}), 0);
}

TEST(Pointing, TotalsByTypeBesideTheBaselines) {
  BoxedCaption caption{"a dog runs", {}};
  caption.phrases.push_back({0, 2, "animals", {kTopLeft}});                       // a hit
  caption.phrases.push_back({2, 3, "animals", {{0.25, 0.25, 0.75, 0.75}}});       // the bottom right: none
  caption.phrases.push_back({2, 3, "vehicles/scene", {kTopLeft, kBottomRight}});  // a hit in two rows
  caption.phrases.push_back({2, 3, "other", {{0, 0, 0.1, 0.1}}});                 // none
  caption.phrases.push_back({7, 9, "people", {kTopLeft}});                        // no token
  PointingGame game;
  game.add(caption, dog());
  EXPECT_EQ(game.skipped(), 1);
  const std::vector<PointingRow> rows = game.rows();
  std::vector<std::string> types;
  for (const PointingRow& row : rows) types.push_back(row.type);
  EXPECT_EQ(types, (std::vector<std::string>{"animals", "vehicles", "other", "scene", "these five", "all"}));
  EXPECT_EQ(rows[0].phrases, 2);
  // The bottom right cell is highest from its centre at 0.75 to the corner, so one row of points is on the box's edge.
  EXPECT_DOUBLE_EQ(rows[0].accuracy(), 0.5);
  EXPECT_DOUBLE_EQ(rows[0].share(rows[0].random), 0.25);
  EXPECT_DOUBLE_EQ(rows[0].share(rows[0].centre), 1) << "both boxes have the centre at their edge or inside";
  EXPECT_DOUBLE_EQ(rows[0].share(rows[0].uniform), 0.25);
  EXPECT_DOUBLE_EQ(rows[0].best_baseline(), 1);
  EXPECT_DOUBLE_EQ(rows[1].accuracy(), 1);
  EXPECT_DOUBLE_EQ(rows[3].accuracy(), 1) << "of two types, it counts in both";
  EXPECT_EQ(rows[4].phrases, 3) << "and once in a total";
  EXPECT_DOUBLE_EQ(rows[4].hits, 2);
  EXPECT_EQ(rows[5].phrases, 4);
  EXPECT_NEAR(rows[5].random, 0.25 + 0.25 + 0.5 + 0.01, 1e-12);
  const std::string text = game.text();
  EXPECT_NE(text.find("animals             2      50.00   25.00  100.00    25.00        0.50\n"), std::string::npos)
      << text;
}

TEST(Pointing, AttentionOfTheWrongSizeIsRefused) {
  TokenAttention attention = dog();
  attention.weights.pop_back();
  EXPECT_ERROR(point_at(attention, {0, 1, "", {kTopLeft}}), "expected 5 tokens with 4 weights each, or one more");
  attention.rows = 0;
  EXPECT_ERROR(point_at(attention, {0, 1, "", {kTopLeft}}), "expected a grid of cells, got 0 x 2");
  attention = dog();
  for (float& weight : attention.weights) weight = std::nanf("");
  EXPECT_EQ(point_at(attention, {0, 1, "", {kTopLeft}}), 0) << "nothing is the maximum of what is not a number";
}

constexpr const char* kLine =
    R"({"image": "a.jpg", "sentences": [{"text": "A dog runs .", "phrases": [{"words": [0, 2], "type": "animals", )"
    R"("boxes": [[0.1, 0.2, 0.5, 0.9], [0, 0, 1, 1]]}]}]})";

TEST(Boxes, AreRead) {
  const TemporaryFolder folder;
  const std::vector<BoxedImage> images = read_boxes(folder.file("boxes.jsonl", std::string(kLine) + "\n"));
  ASSERT_EQ(images.size(), 1u);
  EXPECT_EQ(images[0].image, "a.jpg");
  ASSERT_EQ(images[0].captions.size(), 1u);
  EXPECT_EQ(images[0].captions[0].text, "A dog runs .");
  const BoxedPhrase& phrase = images[0].captions[0].phrases.at(0);
  EXPECT_EQ(phrase.from, 0);
  EXPECT_EQ(phrase.to, 2);
  EXPECT_EQ(phrase.type, "animals");
  ASSERT_EQ(phrase.boxes.size(), 2u);
  EXPECT_EQ(phrase.boxes[0].y1, 0.9);
}

TEST(Boxes, ErrorsNameTheLine) {
  const TemporaryFolder folder;
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string line = kLine;
    line.replace(line.find(from), from.size(), to);
    return folder.file("boxes.jsonl", std::string(kLine) + "\n" + line + "\n");
  };
  EXPECT_ERROR(read_boxes(with("[0, 2]", "[0, 5]")), "boxes.jsonl:2: words: expected 0 <= from < to <= 4");
  EXPECT_ERROR(read_boxes(with("[0, 2]", "[2, 2]")), ":2: words: expected 0 <= from < to <= 4");
  EXPECT_ERROR(read_boxes(with("[0, 2]", "[0]")), ":2: words: expected two integers");
  EXPECT_ERROR(read_boxes(with("[0, 2]", "[0, 1e300]")), ":2: words: expected two integers");
  EXPECT_ERROR(read_boxes(with("0.1, 0.2, 0.5", "0.6, 0.2, 0.5")), ":2: boxes: expected shares 0 <= x0 <= x1 <= 1");
  EXPECT_ERROR(read_boxes(with("0.9]", "1.9]")), ":2: boxes: expected shares");
  EXPECT_ERROR(read_boxes(with("0.9]", "\"x\"]")), ":2: boxes: expected four numbers [x0, y0, x1, y1]");
  EXPECT_ERROR(read_boxes(with("[[0.1, 0.2, 0.5, 0.9], [0, 0, 1, 1]]", "[]")), ":2: boxes: expected 1 to 1000, got 0");
  EXPECT_ERROR(read_boxes(with("\"animals\"", "3")), ":2: type: expected a text, got 3");
  EXPECT_ERROR(read_boxes(with("sentences", "sentence")), ":2: expected an object with sentences");
  EXPECT_ERROR(read_boxes(with("\"a.jpg\"", "null")), ":2: image: expected a text, got null");
  EXPECT_ERROR(read_boxes(with("{", "")), "boxes.jsonl:2: ");
  EXPECT_ERROR(read_boxes(folder.file("empty", "")), "expected a JSON object for each image, got an empty file");
}

}  // namespace
}  // namespace fovea
