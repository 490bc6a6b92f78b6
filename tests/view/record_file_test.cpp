// Records as JSON: they are read back as written, and damaged ones are refused with their place.
#include "view/record_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "base/base64.h"
#include "base/error.h"
#include "support.h"
#include "temporary_folder.h"

namespace fovea {
namespace {

AttentionRecord some_record() {
  AttentionRecord r;
  r.line = 3, r.rank = 2;
  r.architecture = "transformer", r.search = "beam 4";
  r.source_text = "a \"<b>\"", r.target_text = "爱";
  r.source = {{"a", 0, 1},
              {.text = "\"<b>\"", .begin = 2, .end = 7, .unknown = true},
              {.text = "</s>", .begin = 7, .end = 7, .mark = true}};
  r.target = {{"爱", 0, 1}, {.text = "</s>", .begin = 1, .end = 1, .mark = true}};
  r.steps = {{-0.5, {{"爱", -0.5}, {"ai", -1.5}}}, {-0.25, {}}};
  r.score = -0.6, r.log_probability = -0.75, r.ended = false, r.truncated = true;
  const float absent = std::numeric_limits<float>::quiet_NaN();
  RecordedAttention cross{.kind = "cross", .mechanism = "dot, local-p, soft", .scope = "local-p", .selection = "soft"};
  cross.rows = 2, cross.columns = 3, cross.window = 1;
  cross.weights = {0.1f, 0.9f, absent, absent, 1.0f / 3, 2.0f / 3};
  cross.centers = {0.25f, 1.75f};
  cross.best = {"one", 1, 1};
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
  EXPECT_EQ(text.find("\"scores\""), text.rfind("\"scores\""));  // once
  EXPECT_EQ(to_compact_json(r).find("\"scores\""), std::string::npos);
  EXPECT_EQ(back.attentions[0].best.heads, "one");
  AttentionRecord mean = r;
  mean.attentions[0].best = {"mean", 0, 0};
  EXPECT_EQ(record_from_json(to_json(mean), "here").attentions[0].best.heads, "mean");
  EXPECT_EQ(back.target[0].text, "爱");
  EXPECT_TRUE(back.target[1].mark);
  EXPECT_TRUE(back.source[1].unknown && !back.source[0].unknown);
  EXPECT_EQ(back.steps[0].alternatives[1].text, "ai");
  EXPECT_FALSE(back.ended);
  EXPECT_TRUE(back.truncated);
}

// A candidate of a beam: the rows of both attentions depend only on the tokens before them.
AttentionRecord candidate(int64_t rank, const std::vector<std::string>& tokens) {
  AttentionRecord r;
  r.rank = rank, r.architecture = "transformer", r.search = "beam 4", r.source_text = "a b";
  r.source = {{"a", 0, 1}, {"b", 2, 3}, {.text = "</s>", .begin = 3, .end = 3, .mark = true}};
  const auto T = std::ssize(tokens);
  RecordedAttention encoder{.kind = "encoder-self", .mechanism = "dot", .scope = "global", .selection = "soft"};
  RecordedAttention cross = encoder, decoder = encoder;
  cross.kind = "cross", decoder.kind = "decoder-self";
  encoder.rows = encoder.columns = cross.columns = 3;
  cross.rows = decoder.rows = decoder.columns = T;
  encoder.weights.assign(9, 1.0f / 3);
  std::string written;
  for (int64_t t = 0; t < T; ++t) {
    const std::string& token = tokens[static_cast<size_t>(t)];
    const float w = static_cast<float>(std::hash<std::string>()(written) % 1000) / 1000;
    cross.weights.insert(cross.weights.end(), {w, 1 - w, 0});
    for (int64_t c = 0; c < T; ++c) decoder.weights.push_back(c <= t ? 1 / static_cast<float>(t + 1) : NAN);
    r.target.push_back({token, std::ssize(written), std::ssize(written + token)});
    written += token;
    r.steps.push_back({-static_cast<double>(token.size()) / 3, {{"x", -1.23456789}}});
  }
  r.target_text = written;
  r.attentions = {encoder, decoder, cross};
  return r;
}

TEST(RecordFile, CompactWeightsAreWithinTheirBound) {
  AttentionRecord r = candidate(1, {"c", "dd", "e"});
  r.attentions[2].weights = {1, 0, 0, 0.0001f, 0.00002f, 0.9f, 1e-6f, 0, 0};
  const AttentionRecord back = record_from_json(to_compact_json(r), "here");
  EXPECT_EQ(back.steps[1].log_probability, -0.6667);
  ASSERT_EQ(back.attentions.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const RecordedAttention &a = r.attentions[i], &b = back.attentions[i];
    ASSERT_EQ(a.weights.size(), b.weights.size());
    for (int64_t t = 0; t < a.rows; ++t) {
      float largest = 0;
      for (int64_t c = 0; c < a.columns; ++c) largest = std::max(largest, a.row(0, 0, t)[c]);
      for (int64_t c = 0; c < a.columns; ++c) {
        const float w = a.row(0, 0, t)[c], got = b.row(0, 0, t)[c];
        EXPECT_EQ(std::isnan(w), std::isnan(got));
        if (std::isnan(w)) continue;
        EXPECT_NEAR(w, got, largest / 508 + 1.0 / 131070 + 1e-7);
      }
    }
  }
}

TEST(RecordFile, CompactCandidatesLeaveOutWhatTheyShare) {
  const std::vector<AttentionRecord> all = {candidate(1, {"c", "d", "e"}), candidate(2, {"f", "g"}),
                                            candidate(3, {"f", "h", "i", "j"}), candidate(4, {"c", "d", "e", "k"})};
  const auto shared = [&](size_t n) { return shared_with_earlier(std::span(all).first(n)); };
  const auto expect_shared = [&](size_t n, int64_t rank, int64_t tokens, int64_t rows) {
    EXPECT_EQ(shared(n).rank, rank);
    EXPECT_EQ(shared(n).tokens, tokens);
    EXPECT_EQ(shared(n).rows, rows);
  };
  expect_shared(1, 0, 0, 0);
  // Nothing written yet: the first rows are the same, whatever is written then.
  expect_shared(2, 1, 0, 1);
  expect_shared(3, 2, 1, 2);
  expect_shared(4, 1, 3, 3);
  const auto json = nlohmann::json::parse(to_compact_json(all[3], shared(4)));
  EXPECT_FALSE(json.contains("source"));
  EXPECT_EQ(json["steps"].size(), 1u);
  EXPECT_EQ(json["target"]["tokens"].size(), 1u);
  EXPECT_EQ(json["target"]["text"], "cdek");
  EXPECT_EQ(json["attentions"][0]["packed"], to_base64(std::string("\x78\x9c\x03\0\0\0\0\1", 8)));  // no bytes at all
  EXPECT_ERROR(record_from_json(json.dump(), "f:1"), "f:1: expected a record on its own");
  // Another source, or self-attention that was edited, shares nothing.
  std::vector<AttentionRecord> other = {all[0], all[3]};
  other[1].attentions[0].weights[4] = 0.25f;
  EXPECT_EQ(shared_with_earlier(other).rank, 0);
  other = {all[0], all[3]};
  other[1].source_text = "z";
  EXPECT_EQ(shared_with_earlier(other).rank, 0);
}

TEST(RecordFile, RefusesHostileRecords) {
  using nlohmann::json;
  const auto refused = [&](const std::string& good, auto&& change, const char* says) {
    json j = json::parse(good);
    change(j);
    EXPECT_ERROR(record_from_json(j.dump(), "f:1"), says);
  };
  const std::string plain = to_json(some_record()), compact = to_compact_json(candidate(1, {"c", "d"}));
  const auto packed = [](const std::string& text) { return [text](json& j) { j["attentions"][2]["packed"] = text; }; };
  const auto shaped = [](const json& shape) { return [shape](json& j) { j["attentions"][2]["shape"] = shape; }; };
  EXPECT_ERROR(record_from_json(std::string(100'000, '['), "f:1"), "f:1: expected JSON nested at most 64 levels deep");
  EXPECT_ERROR(record_from_json(R"({"fovea_record":1e400})", "f:1"), "f:1: expected numbers");
  refused(
      plain, [](json& j) { j["fovea_record"] = std::string(100'000, 'x'); }, "got \"xxx");
  refused(
      plain, [](json& j) { j["attentions"][0]["weights"][0][0][0][0] = 1e300; }, "expected weights from 0 to 1");
  refused(
      plain, [](json& j) { j["attentions"][0]["weights"][0][0][0][0] = -1; }, "expected weights from 0 to 1");
  refused(
      plain, [](json& j) { j["attentions"][0]["kind"] = "other"; }, "expected an attention of kind");
  refused(
      plain, [](json& j) { j["attentions"][0]["window"] = 1e30; }, "window");
  refused(
      plain, [](json& j) { j["attentions"][0]["best_head"]["head"] = 7; }, "to 1, got 7");
  refused(
      plain, [](json& j) { j["attentions"][0]["centers"][0][0][1] = nullptr; }, "centers");
  refused(
      plain, [](json& j) { j["source"]["tokens"][0]["end"] = 1000; }, "expected end to be a whole number");
  refused(
      plain, [](json& j) { j["source"]["tokens"][0]["begin"] = -1; }, "expected begin to be a whole number");
  refused(
      plain, [](json& j) { j["line"] = 18446744073709551615u; }, "expected line to be a whole number");
  refused(compact, shaped({1, 1, 2, 4}), "expected cross weights of 2 rows and 3 columns, got 2 and 4");
  refused(compact, shaped({10'000, 10'000, 2, 3}), "expected 1000000000 bytes of packed weights, got 10");
  refused(compact, shaped({10'001, 1, 2, 3}), "expected shape to be a whole number");
  refused(compact, shaped({1, 1, 2}), "expected a shape");
  refused(compact, packed("not base64"), "base64");
  refused(compact, packed("AAAA"), "damaged data");
  refused(compact, packed(""), "damaged data");
  refused(
      compact, [](json& j) { j["attentions"][2]["packed"] = j["attentions"][0]["packed"]; }, "got 15");
}

// Puts another value in a random place.
void damage(nlohmann::json& value, std::minstd_rand& random) {
  static const auto odd =
      nlohmann::json::parse(R"([null, true, -1, 0, 1.5, 1e308, 18446744073709551615, "", "x", [], {}, [[]]])");
  if (!value.is_structured() || value.empty() || random() % 8 == 0) {
    value = odd[random() % odd.size()];
    return;
  }
  const auto at = std::next(value.begin(), static_cast<std::ptrdiff_t>(random() % value.size()));
  if (random() % 10 == 0) {
    value.erase(at);
  } else {
    damage(*at, random);
  }
}

TEST(RecordFile, DamagedRecordsAreReadOrRefused) {
  const std::string good[] = {to_json(some_record()), to_json(candidate(1, {"c", "d"})),
                              to_compact_json(candidate(1, {"c", "d"}))};
  int read = 0;
  for (unsigned seed = 1; seed < 6000; ++seed) {
    std::minstd_rand random(seed);
    auto json = nlohmann::json::parse(good[seed % 3]);
    damage(json, random);
    try {
      const AttentionRecord record = record_from_json(json.dump(), "f:1");
      EXPECT_EQ(record_from_json(to_json(record), "f:2").target.size(), record.target.size());
      ++read;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).substr(0, 5), "f:1: ") << json.dump();
    }
  }
  EXPECT_GT(read, 100);
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
  EXPECT_ERROR(record_from_json("{", "f:1"), "f:1: expected JSON in UTF-8");
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
