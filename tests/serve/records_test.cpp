// What the server reads and writes as JSON, asked of a shipped model.
#include <gtest/gtest.h>

#include <cmath>

#include "serve/server.h"
#include "view/record_file.h"

namespace fovea {
namespace {

class ServeRecords : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { server = new Server({"-m", FOVEA_MODELS "/en-zh", "--threads", "2"}); }
  static void TearDownTestSuite() { delete server; }

  static Json asked(const Json& body) {
    const Reply reply = server->post("/v1/translate", body);
    EXPECT_EQ(reply.status, 200) << reply.body.substr(0, 300);
    const Json json = reply.json(), document = server->get("/openapi.json").json();
    const Json& schemas = document["components"]["schemas"];
    EXPECT_EQ(mismatch(document, schemas["TranslateRequest"], body), "");
    EXPECT_EQ(mismatch(document, schemas["Translations"], json), "");
    return json["translations"][0]["candidates"];
  }

  static inline Server* server = nullptr;
};

TEST_F(ServeRecords, MarkWhatTheModelDoesNotKnow) {
  for (const bool compact : {false, true}) {
    const Json attention = compact ? Json("compact") : Json(true);
    const Json candidates = asked({{"text", "I love 🎉."}, {"attention", attention}});
    std::string unknown;
    for (const Json& token : candidates[0]["record"]["source"]["tokens"]) {
      if (token.value("unknown", false)) unknown += token["text"];
    }
    EXPECT_EQ(unknown, "🎉");
  }
}

// The search that the model's folder stores is that of requests that name none.
TEST_F(ServeRecords, AreOfTheSearchThatTheFolderStores) {
  const int beam = server->get("/v1/models").json()["models"][0]["beam"];
  EXPECT_EQ(beam, 5);
  const char* text = "He was brave.";
  const Json unnamed = asked({{"text", text}, {"nbest", beam}});
  EXPECT_EQ(std::ssize(unnamed), beam);
  EXPECT_EQ(unnamed, asked({{"text", text}, {"nbest", beam}, {"beam", beam}, {"length_penalty", 2.0}}));
}

// 62 words.
constexpr const char* kText =
    "When I was a very young child, my grandmother told me many stories about the sea. She had lived near the coast "
    "for "
    "most of her life, and she loved to walk on the beach in the evening. One day she found a small boat that nobody "
    "wanted. She repaired it with her own hands, painted it blue, and sailed around the island.";

// A compact record whole again: what it shares is taken from the candidate of that rank, which is whole already.
Json completed(Json record, const std::vector<AttentionRecord>& earlier) {
  if (!record.contains("shares")) return record;
  const Json shares = record["shares"];
  record.erase("shares");
  const AttentionRecord& other = earlier[shares["rank"].get<size_t>() - 1];
  const Json from = Json::parse(to_json(other));
  record["source"] = from["source"];
  const auto prepend = [&](Json& list, const Json& all) {
    list.insert(list.begin(), all.begin(), all.begin() + shares["tokens"].get<int>());
  };
  prepend(record["target"]["tokens"], from["target"]["tokens"]);
  prepend(record["steps"], from["steps"]);
  return record;
}

TEST_F(ServeRecords, CompactRecordsSayWhatWholeOnesDo) {
  const Json options{{"text", "I love you, and the old man walked along the river."}, {"beam", 4}, {"nbest", 4}};
  Json body = options;
  body["attention"] = true;
  const Json whole = asked(body);
  body["attention"] = "compact";
  const Json compact = asked(body);
  ASSERT_EQ(whole.size(), 4u);
  ASSERT_EQ(compact.size(), 4u);
  std::vector<AttentionRecord> records;
  for (const Json& candidate : whole) records.push_back(record_from_json(candidate["record"].dump(), "whole"));
  for (size_t n = 0; n < 4; ++n) {
    EXPECT_EQ(compact[n]["text"], whole[n]["text"]);
    const Json& shares = compact[n]["record"].value("shares", Json());
    EXPECT_EQ(shares.is_object(), n > 0);
    const Json json = completed(compact[n]["record"], records);
    EXPECT_EQ(json["target"], whole[n]["record"]["target"]);
    EXPECT_EQ(json["source"], whole[n]["record"]["source"]);
    ASSERT_EQ(json["steps"].size(), records[n].steps.size());
    for (size_t t = 0; t < records[n].steps.size(); ++t) {
      EXPECT_NEAR(json["steps"][t]["log_probability"], records[n].steps[t].log_probability, 5.1e-5);
    }
    if (n > 0) {
      // The rows that are left out are those of the other candidate.
      const AttentionRecord& other = records[shares["rank"].get<size_t>() - 1];
      const RecordedAttention &a = records[n].attentions.back(), &b = other.attentions.back();
      ASSERT_EQ(a.kind, "cross");
      EXPECT_GE(shares["rows"], 1);
      for (int64_t t = 0; t < shares["rows"].get<int64_t>(); ++t) {
        for (int64_t s = 0; s < a.columns; ++s) EXPECT_EQ(a.row(1, 1, t)[s], b.row(1, 1, t)[s]);
      }
      continue;
    }
    const AttentionRecord read = record_from_json(json.dump(), "compact");
    for (size_t i = 0; i < read.attentions.size(); ++i) {
      const std::vector<float>&x = records[0].attentions[i].weights, &y = read.attentions[i].weights;
      ASSERT_EQ(x.size(), y.size());
      for (size_t k = 0; k < x.size(); ++k) {
        ASSERT_EQ(std::isnan(x[k]), std::isnan(y[k]));
        if (!std::isnan(x[k])) {
          ASSERT_NEAR(x[k], y[k], 0.002);
        }
      }
    }
  }
  EXPECT_EQ(server->post("/v1/translate", Json{{"text", "a"}, {"attention", "small"}}).status, 400);
  const Reply one = server->post("/v1/attention", Json{{"text", "I love you."}, {"attention", "compact"}});
  EXPECT_EQ(record_from_json(one.json()["record"].dump(), "one").target_text, "我爱你。");
  const Reply forced =
      server->post("/v1/attention", Json{{"text", "I love you."}, {"target", "我爱你。"}, {"attention", "compact"}});
  EXPECT_EQ(record_from_json(forced.json()["record"].dump(), "forced").search, "forced");
}

TEST_F(ServeRecords, ACompactStreamOf62WordsIsBelowAMegabyte) {
  Json body{{"text", kText}, {"beam", 4}, {"nbest", 4}, {"tree", true}, {"alternatives", 8}, {"stream", true}};
  body["attention"] = "compact";
  const Reply reply = server->post("/v1/translate", body);
  EXPECT_EQ(reply.status, 200);
  EXPECT_NE(reply.body.find("event: done"), std::string::npos);
  EXPECT_NE(reply.body.find("\"cross_mean\":\""), std::string::npos);
  EXPECT_LT(reply.body.size(), 1'000'000u);  // before the transport compresses it
}

TEST_F(ServeRecords, TooLargeAnswersAreRefusedWithTheNumbers) {
  const auto refused = [&](const Json& body, const char* says) {
    const Reply reply = server->post("/v1/translate", body);
    EXPECT_EQ(reply.status, 413);
    const std::string message = reply.json()["error"]["message"];
    EXPECT_NE(message.find(says), std::string::npos) << message;
    EXPECT_NE(message.find("48 MB"), std::string::npos) << message;
  };
  std::string dogs;
  for (int i = 0; i < 900; ++i) dogs += "dog ";
  refused({{"text", dogs}, {"attention", true}}, "12,988,816 weights of encoder self-attention");
  refused({{"text", dogs}, {"attention", true}, {"stream", true}}, "compact");
  refused({{"text", std::vector<std::string>(3, dogs)}, {"attention", "compact"}}, "shorter texts");
  // The weights of the outputs are known once there are outputs.
  refused({{"text", std::string(kText) + " " + kText}, {"beam", 8}, {"nbest", 8}, {"attention", true}},
          "attention weights");
  const Reply reply = server->post("/v1/translate", Json{{"text", dogs}, {"attention", "compact"}, {"max_length", 20}});
  EXPECT_EQ(reply.status, 200);
  EXPECT_LT(reply.body.size(), 20'000'000u);
}

TEST_F(ServeRecords, HostileJsonIsRefusedInAFewWords) {
  const std::string deep = std::string(80'000, '[') + std::string(80'000, ']');
  std::string wide = "{\"text\":\"a\"";
  for (int i = 0; i < 50'000; ++i) wide += ",\"m" + std::to_string(i) + "\":0";
  wide += "}";
  const std::string long_text(15'000, 'x');
  const std::string bodies[] = {
      R"({"text":"a","edits":)" + deep + "}",
      R"({"text":"a","weights":)" + deep + "}",
      deep,
      wide,
      R"({"text":"a","beam":1e400})",
      R"({"text":"a","beam":-1e400})",
      R"({"text":"a","beam":18446744073709551615})",
      R"({"text":"a","seed":)" + std::string(1000, '9') + "}",
      R"({"text":"a","edits":[[[]]]})",
      R"({"text":"a","edits":[{"kind":")" + long_text + R"("}]})",
      R"({"text":"a","edits":[{"weights":[1e39]}]})",
      R"({"text":"a","next":")" + long_text + R"("})",
      R"({"text":"a","model":")" + long_text + R"("})",
      R"({"text":"a","beam":")" + long_text + R"("})",
      R"({"text":"a",")" + long_text + R"(":1})",
      R"({"txt":"a","text)" + long_text + R"(":1})",
  };
  for (const char* path : {"/v1/translate", "/v1/attention", "/v1/score", "/translate"}) {
    for (const std::string& body : bodies) {
      const Reply reply = server->post(path, body);
      EXPECT_TRUE(reply.status == 400 || reply.status == 404) << path << " " << body.substr(0, 60) << reply.status;
      EXPECT_LT(reply.body.size(), 600u) << path << " " << body.substr(0, 60);
    }
  }
  EXPECT_EQ(server->get("/health").status, 200);
}

}  // namespace
}  // namespace fovea
