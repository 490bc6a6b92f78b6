// Records as JSON: what is written is read back, and what is damaged is refused with its place.
#include "view/record_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "support.h"
#include "temporary_folder.h"

namespace fovea {
namespace {

AttentionRecord some_record() {
  AttentionRecord r;
  r.line = 3, r.rank = 2;
  r.architecture = "transformer", r.search = "beam 4";
  r.source_text = "a \"<b>\"", r.target_text = "爱";
  r.source = {{"a", 0, 1}, {"\"<b>\"", 2, 7}, {.text = "</s>", .begin = 7, .end = 7, .mark = true}};
  r.target = {{"爱", 0, 1}, {.text = "</s>", .begin = 1, .end = 1, .mark = true}};
  r.steps = {{-0.5, {{"爱", -0.5}, {"ai", -1.5}}}, {-0.25, {}}};
  r.score = -0.6, r.log_probability = -0.75, r.ended = false, r.cut = true;
  const float absent = std::numeric_limits<float>::quiet_NaN();
  RecordedAttention cross{.kind = "cross", .mechanism = "dot, local-p, soft", .scope = "local-p", .selection = "soft"};
  cross.rows = 2, cross.columns = 3, cross.window = 1;
  cross.weights = {0.1f, 0.9f, absent, absent, 1.0f / 3, 2.0f / 3};
  cross.centers = {0.25f, 1.75f};
  cross.best = {"mean", 1, 0};
  cross.scores = {1, 2, absent, absent, 0, -1.5f};
  cross.reduction = "cross attention, layer 2";
  r.attentions = {cross};
  return r;
}

TEST(RecordFile, IsReadBack) {
  const AttentionRecord r = some_record();
  const std::string text = to_json(r);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const AttentionRecord back = record_from_json(text, "here");
  EXPECT_EQ(to_json(back), text);
  EXPECT_EQ(back.attentions[0].weights[1], 0.9f);
  EXPECT_TRUE(std::isnan(back.attentions[0].weights[2]));
  EXPECT_EQ(back.attentions[0].weights[4], 1.0f / 3);  // to the bit
  EXPECT_EQ(back.attentions[0].centers, r.attentions[0].centers);
  EXPECT_EQ(back.attentions[0].scores[5], -1.5f);
  EXPECT_EQ(back.attentions[0].best.heads, "mean");
  EXPECT_EQ(back.target[0].text, "爱");
  EXPECT_TRUE(back.target[1].mark);
  EXPECT_EQ(back.steps[0].alternatives[1].text, "ai");
  EXPECT_FALSE(back.ended);
  EXPECT_TRUE(back.cut);
}

TEST(RecordFile, RefusesWhatIsNoRecord) {
  using nlohmann::json;
  const TemporaryFolder folder;
  const std::string good = to_json(some_record());
  const auto changed = [&](auto&& change) {
    json j = json::parse(good);
    change(j);
    return j.dump();
  };
  EXPECT_ERROR(record_from_json("{", "f:1"), "f:1: expected an attention record");
  EXPECT_ERROR(record_from_json("[1]", "f:1"), "f:1: expected an attention record, got other JSON");
  EXPECT_ERROR(record_from_json(changed([](json& j) { j["fovea_record"] = 2; }), "f:1"),
               "f:1: expected a record of version 1, got 2");
  EXPECT_ERROR(record_from_json(changed([](json& j) { j.erase("steps"); }), "f:1"), "steps");
  EXPECT_ERROR(record_from_json(changed([](json& j) { j["attentions"][0]["weights"][0][0][1].push_back(1); }), "f:1"),
               "f:1: expected lists of 3 weights, got one of 4");
  EXPECT_ERROR(record_from_json(changed([](json& j) { j["attentions"][0]["weights"][0][0][1][0] = "x"; }), "f:1"),
               "f:1: expected a weight or null, got \"x\"");
  EXPECT_ERROR(record_from_json(changed([](json& j) { j["target"]["tokens"].erase(0); }), "f:1"),
               "f:1: expected a step for each of 1 target tokens, got 2");
  EXPECT_ERROR(record_from_json(changed([](json& j) { j["source"]["tokens"].erase(0); }), "f:1"),
               "f:1: expected cross weights of 2 rows and 2 columns, got 2 and 3");
  EXPECT_ERROR(record_from_json(changed([](json& j) { j["source"]["text"] = 5; }), "f:1"), "f:1: expected");
  EXPECT_ERROR(read_records(folder.file("r.jsonl", good + "\n{}\n")), "r.jsonl:2: expected an attention record");
  EXPECT_ERROR(read_records(folder.file("empty", "")), "empty: expected attention records, one a line, got none");
  EXPECT_EQ(read_records(folder.file("two", good + "\n" + good + "\n")).size(), 2u);
}

}  // namespace
}  // namespace fovea
