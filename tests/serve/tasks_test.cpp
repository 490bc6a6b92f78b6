// Models of every task on one server: classifiers, readers, dialogue models and summarisers.
#include "serve/task_models.h"

#include <gtest/gtest.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): SIGTERM

#include <future>

#include "serve/fixture.h"
#include "text/utf8.h"
#include "view/record_file.h"

namespace fovea {
namespace {

class ServeTasks : public Serve {
 protected:
  static void SetUpTestSuite() {
    App::SetUpTestSuite();
    train_task_models(folder->path());
    server = new Server(with_models({"--precision", "f32", "--log", "json"}));
    document = new Json(server->get("/openapi.json").json());
  }
  static std::string of(const std::string& name) { return folder->file(name); }
  static std::vector<std::string> with_models(std::vector<std::string> flags) {
    std::vector<std::string> all = {"-m", model(), of("reviews"), of("reader"), of("talk"), of("titles")};
    all.insert(all.end(), flags.begin(), flags.end());
    return all;
  }
  static std::string message(const Reply& reply) { return reply.json()["error"]["message"]; }
  static void expect_refusal(const std::string& path, const std::string& body, int status, const std::string& says) {
    const Reply reply = server->post(path, body);
    EXPECT_EQ(reply.status, status) << path << " " << body.substr(0, 100) << ": " << reply.body.substr(0, 300);
    EXPECT_NE(message(reply).find(says), std::string::npos) << path << " " << body.substr(0, 100) << ": " << reply.body;
  }
};

constexpr const char* kPassage = "das Brückchen — the bridge was built in 1912 by the queen .";

double sum_of(const Json& classes) {
  double sum = 0;
  for (const Json& c : classes) sum += c["probability"].get<double>();
  return sum;
}

TEST_F(ServeTasks, ModelsTellTheirTaskPathLabelsAndExamples) {
  const Json models = checked("/v1/models", server->get("/v1/models"))["models"];
  ASSERT_EQ(models.size(), 5u);
  const std::vector<std::pair<std::string, std::string>> expected = {{"sequence", "/v1/translate"},
                                                                     {"classify", "/v1/classify"},
                                                                     {"answer", "/v1/answer"},
                                                                     {"dialogue", "/v1/chat"},
                                                                     {"summarise", "/v1/translate"}};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(models[i]["task"], expected[i].first);
    EXPECT_EQ(models[i]["path"], expected[i].second);
    EXPECT_EQ(models[i].contains("labels"), expected[i].first == "classify");
  }
  EXPECT_EQ(models[1]["labels"].size(), 3u);
  EXPECT_EQ(models[1]["attentions"][0]["kind"], "pooling");
  EXPECT_EQ(models[2]["examples"][0]["question"], "what ?");
  EXPECT_EQ(models[3]["examples"][1].size(), 3u);
}

TEST_F(ServeTasks, ClassifiesOneTextOrMany) {
  const Json one = ask("/v1/classify", {{"text", "a fine film"}})["classifications"];
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0]["classes"].size(), 3u);
  EXPECT_EQ(one[0]["label"], one[0]["classes"][0]["label"]);
  EXPECT_EQ(one[0]["probability"], one[0]["classes"][0]["probability"]);
  EXPECT_NEAR(sum_of(one[0]["classes"]), 1, 1e-4);
  EXPECT_FALSE(one[0].contains("record"));
  const Json many = ask("/v1/classify", {{"text", {"a fine film", "", "\n", "unknown words 我"}}})["classifications"];
  ASSERT_EQ(many.size(), 4u);
  EXPECT_NEAR(many[0]["probability"].get<double>(), one[0]["probability"].get<double>(), 1e-5);
  for (const Json& each : many) EXPECT_NEAR(sum_of(each["classes"]), 1, 1e-4);
}

TEST_F(ServeTasks, RecordsOfAClassifierAreThoseOfTheFile) {
  for (const Json& attention : {Json(true), Json("compact")}) {
    const Json results =
        ask("/v1/classify", {{"text", {"a fine film", "dull"}}, {"attention", attention}})["classifications"];
    for (size_t i = 0; i < results.size(); ++i) {
      const Json& record = results[i]["record"];
      EXPECT_EQ(record["task"], "classify");
      EXPECT_EQ(record["line"], i + 1);
      EXPECT_EQ(record["classes"][0]["label"], results[i]["label"]);
      EXPECT_EQ(record["attentions"][0]["kind"], "pooling");
      EXPECT_EQ(record["attentions"][0]["row_labels"].size(), 2u);
      EXPECT_EQ(record_from_json(record.dump(), "record").classes.size(), 3u);
    }
  }
}

TEST_F(ServeTasks, AnswersAreThePassageAtTheirPlaces) {
  const Json answers =
      ask("/v1/answer",
          {{"passage", kPassage}, {"question", {"when was it built ?", "by whom ?"}}, {"nbest", 3}})["answers"];
  ASSERT_EQ(answers.size(), 2u);
  const std::string passage = kPassage;
  for (const Json& answer : answers) {
    EXPECT_GE(answer["candidates"].size(), 1u);
    EXPECT_LE(answer["candidates"].size(), 3u);
    EXPECT_EQ(answer["candidates"][0]["text"], answer["text"]);
    for (const Json& found : answer["candidates"]) {
      const auto begin = found["begin_byte"].get<size_t>(), end = found["end_byte"].get<size_t>();
      EXPECT_EQ(passage.substr(begin, end - begin), found["text"]);
      EXPECT_EQ(count_code_points(passage.substr(0, begin)), found["begin"].get<int64_t>());
      EXPECT_EQ(count_code_points(passage.substr(0, end)), found["end"].get<int64_t>());
    }
  }
  const Json one =
      ask("/v1/answer", {{"passage", kPassage}, {"question", "when ?"}, {"attention", "compact"}})["answers"];
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0]["record"]["task"], "answer");
  EXPECT_EQ(one[0]["record"]["answer"]["text"], one[0]["text"]);
  EXPECT_TRUE(record_from_json(one[0]["record"].dump(), "record").answer.has_value());
}

TEST_F(ServeTasks, ChatsWithTextsOrWithSpeakers) {
  const Json plain = ask("/v1/chat", {{"turns", {"hello 1", "hi there", "how are you"}}});
  EXPECT_EQ(plain["model"], "talk");
  EXPECT_EQ(plain["candidates"][0]["text"], plain["reply"]);
  const Json named = ask("/v1/chat", {{"turns",
                                       {{{"speaker", "a"}, {"text", "hello 1"}},
                                        {{"speaker", "b"}, {"text", "hi there"}},
                                        {{"speaker", "a"}, {"text", "how are you"}}}}});
  EXPECT_EQ(named["reply"], plain["reply"]);
  const Json traced = ask("/v1/chat", {{"turns", {"hello 1"}}, {"attention", true}, {"beam", 3}, {"nbest", 2}});
  ASSERT_EQ(traced["candidates"].size(), 2u);
  EXPECT_EQ(traced["candidates"][0]["record"]["source"]["text"], "<a> hello 1");
  EXPECT_EQ(traced["candidates"][0]["record"]["task"], "dialogue");
  const Json drawn = ask("/v1/chat", {{"turns", {"hello 1"}}, {"sample", true}, {"seed", 3}, {"temperature", 2}});
  EXPECT_EQ(drawn["candidates"].size(), 1u);
  // What a given reply attends to.
  const Json record = server->post("/v1/attention", Json{{"turns", {"hello 1"}}, {"model", "talk"}, {"target", "fine"}})
                          .json()["record"];
  EXPECT_EQ(record["source"]["text"], "<a> hello 1");
  EXPECT_EQ(record["target"]["text"], "fine");
}

TEST_F(ServeTasks, StreamsAReply) {
  const Json request{{"turns", {"hello 1"}}, {"stream", true}, {"attention", "compact"}};
  const Reply reply = server->post("/v1/chat", request);
  EXPECT_EQ(reply.header("content-type"), "text/event-stream");
  const std::vector<Event> events = events_of(reply.body);
  ASSERT_GE(events.size(), 3u) << reply.body;
  EXPECT_EQ(events.front().name, "start");
  EXPECT_EQ(events[1].name, "token");
  EXPECT_TRUE(events[1].data.contains("cross_mean"));
  ASSERT_EQ(events.back().name, "done");
  const Json& schema = (*document)["components"]["schemas"]["Chat"];
  EXPECT_EQ(mismatch(*document, schema, events.back().data), "");
  EXPECT_EQ(events.back().data["reply"], ask("/v1/chat", {{"turns", {"hello 1"}}})["reply"]);
}

TEST_F(ServeTasks, SearchAsTheirTaskDoesByDefault) {
  EXPECT_EQ(ask("/v1/attention", {{"model", "titles"}, {"text", "a b"}})["record"]["search"], "beam 8");
  EXPECT_EQ(ask("/v1/attention", {{"model", "titles"}, {"text", "a b"}, {"beam", 1}})["record"]["search"], "greedy");
  EXPECT_EQ(ask("/v1/attention", {{"model", "titles"}, {"text", "a b"}, {"sample", true}})["record"]["search"],
            "sampled");
  EXPECT_EQ(ask("/v1/attention", {{"model", "talk"}, {"text", "a b"}})["record"]["search"], "greedy");
}

TEST_F(ServeTasks, SummarisersAndDialogueModelsTranslate) {
  for (const std::string name : {"titles", "talk"}) {
    const Json json = ask("/v1/translate", {{"text", "a long text about the bridge"}, {"model", name}});
    EXPECT_EQ(json["model"], name);
    EXPECT_EQ(server->post("/v1/score", Json{{"text", "a"}, {"target", "b"}, {"model", name}}).status, 200);
  }
  // LibreTranslate's clients see the translator alone.
  EXPECT_EQ(server->get("/languages").json().size(), 2u);
}

TEST_F(ServeTasks, TheFirstModelOfTheFittingTaskServes) {
  EXPECT_EQ(ask("/v1/translate", {{"text", "a b"}})["model"], "model");
  EXPECT_EQ(ask("/v1/classify", {{"text", "a b"}})["model"], "reviews");
  EXPECT_EQ(ask("/v1/answer", {{"passage", "a b"}, {"question", "b"}})["model"], "reader");
  const Server alone({"-m", of("talk")});
  EXPECT_EQ(alone.post("/v1/translate", Json{{"text", "hello"}}).status, 200);
  const Reply none = alone.post("/v1/classify", Json{{"text", "hello"}});
  EXPECT_EQ(none.status, 400);
  EXPECT_NE(message(none).find("no model here serves /v1/classify; there is talk (dialogue)"), std::string::npos);
  for (const std::string path : {"/languages", "/frontend/settings", "/v1/models", "/ready"}) {
    EXPECT_LT(alone.get(path).status, 500) << path;
  }
  EXPECT_EQ(alone.post("/translate", Json{{"q", "hello"}, {"target", "tgt"}}).status, 400);
}

TEST_F(ServeTasks, AModelOfAnotherTaskIsRefusedWithItsPath) {
  const std::vector<std::pair<std::string, Json>> requests = {
      {"/v1/translate", {{"text", "a"}}},
      {"/v1/attention", {{"text", "a"}}},
      {"/v1/score", {{"text", "a"}, {"target", "b"}}},
      {"/v1/classify", {{"text", "a"}}},
      {"/v1/answer", {{"passage", "a"}, {"question", "b"}}},
      {"/v1/chat", {{"turns", {"a"}}}},
  };
  const Json models = server->get("/v1/models").json()["models"];
  for (const auto& [path, body] : requests) {
    for (const Json& model : models) {
      const bool writes = model["path"] == "/v1/translate" || model["path"] == "/v1/chat";
      const bool of_text = path == "/v1/translate" || path == "/v1/attention" || path == "/v1/score";
      Json request = body;
      request["model"] = model["name"];
      const Reply reply = server->post(path, request);
      if (model["path"] == path || (writes && of_text)) {
        EXPECT_EQ(reply.status, 200) << path << " " << model["name"] << reply.body;
        continue;
      }
      EXPECT_EQ(reply.status, 400) << path << " " << model["name"];
      const std::string says = message(reply);
      EXPECT_NE(says.find("the task " + model["task"].get<std::string>()), std::string::npos) << says;
      EXPECT_NE(says.find("ask " + model["path"].get<std::string>()), std::string::npos) << says;
    }
  }
  Json unknown{{"text", "a"}, {"model", "nowhere"}};
  EXPECT_EQ(server->post("/v1/classify", unknown).status, 404);
}

TEST_F(ServeTasks, WrongRequestsAreRefusedByName) {
  expect_refusal("/v1/classify", "{}", 400, "text: expected a text, got nothing.");
  expect_refusal("/v1/classify", R"({"text": 3})", 400, "text: expected a text or a list of texts, got a number.");
  expect_refusal("/v1/classify", R"({"text": ["a", null]})", 400, "text: expected a list of texts alone");
  expect_refusal("/v1/classify", R"({"text": []})", 400, "text: expected at least one text, got an empty list.");
  expect_refusal("/v1/classify", R"({"text": "a", "beam": 2})", 400, "\"beam\" is not known here");
  expect_refusal("/v1/classify", R"({"text": "a", "attention": 1})", 400, "attention: expected true, false");
  expect_refusal("/v1/classify", "[1]", 400, "Expected a JSON object");
  expect_refusal("/v1/classify", std::string(70'000, '['), 400, "request body");
  expect_refusal("/v1/answer", R"({"question": "a"})", 400, "passage: expected a text, got nothing.");
  expect_refusal("/v1/answer", R"({"passage": ["a"], "question": "a"})", 400, "passage: expected a text, got a list.");
  expect_refusal("/v1/answer", R"({"passage": "a"})", 400, "question: expected a text, got nothing.");
  expect_refusal("/v1/answer", R"({"passage": "", "question": "a"})", 400, "passage: expected a text with words.");
  expect_refusal("/v1/answer", R"({"passage": "a", "question": ["b", " \n"]})", 400,
                 "question: expected a text with words.");
  expect_refusal("/v1/answer", R"({"passage": "a", "question": {"b": 1}})", 400, "question: expected a text");
  expect_refusal("/v1/answer", R"({"passage": "a", "question": "b", "nbest": 0})", 400, "nbest: expected at least 1.");
  expect_refusal("/v1/answer", R"({"passage": "a", "question": "b", "nbest": 65})", 400, "nbest: expected");
  expect_refusal("/v1/answer", R"({"passage": "a", "question": "b", "stream": true})", 400, "\"stream\" is not known");
  expect_refusal("/v1/chat", "{}", 400, "turns: expected a list of turns, got nothing.");
  expect_refusal("/v1/chat", R"({"turns": "hello"})", 400, "turns: expected a list of turns, got a text.");
  expect_refusal("/v1/chat", R"({"turns": []})", 400, "turns: expected at least one turn");
  expect_refusal("/v1/chat", R"({"turns": [3]})", 400, "turns: turn 1: expected a text or an object, got");
  expect_refusal("/v1/chat", R"({"turns": ["a", {"speaker": "a"}]})", 400, "turns: turn 2: expected the member");
  expect_refusal("/v1/chat", R"({"turns": ["a", {"speaker": "a", "text": "b"}]})", 400, "expected speakers for all");
  expect_refusal("/v1/chat", R"({"turns": [{"speaker": "a", "text": "a", "mood": "good"}]})", 400,
                 "\"mood\" is not known");
  expect_refusal("/v1/chat", R"({"turns": ["", " "]})", 400, "turns: expected");
  expect_refusal("/v1/chat", R"({"turns": ["a"], "text": "b"})", 400, "\"text\" is not known here");
  expect_refusal("/v1/chat", R"({"turns": ["a"], "beam": 65})", 400, "beam: expected at most 64.");
  for (const std::string path : {"/v1/classify", "/v1/answer", "/v1/chat"}) {
    const Reply reply = server->get(path);
    EXPECT_EQ(reply.status, 405);
    EXPECT_EQ(reply.header("allow"), "POST");
  }
}

TEST_F(ServeTasks, LimitsHoldForEveryTask) {
  const std::string longer(20'001, 'a');
  const auto status = [&](const std::string& path, const Json& body) { return server->post(path, body).status; };
  EXPECT_EQ(status("/v1/classify", {{"text", longer}}), 413);
  EXPECT_EQ(status("/v1/answer", {{"passage", longer}, {"question", "a"}}), 413);
  EXPECT_EQ(status("/v1/answer", {{"passage", "a"}, {"question", longer}}), 413);
  EXPECT_EQ(status("/v1/answer", {{"passage", std::string(100'000, 'a')}, {"question", "a"}}), 413);
  EXPECT_EQ(status("/v1/chat", {{"turns", {longer}}}), 413);
  EXPECT_EQ(status("/v1/classify", {{"text", std::vector<std::string>(100'000, "a")}}), 413);
  EXPECT_EQ(status("/v1/answer", {{"passage", "a"}, {"question", std::vector<std::string>(100'000, "a")}}), 413);
  EXPECT_EQ(status("/v1/chat", {{"turns", std::vector<std::string>(100'000, "a")}}), 413);
  // Each question reads the passage anew: the cost is their product.
  const Reply costly = server->post(
      "/v1/answer", Json{{"passage", std::string(15'000, 'a')}, {"question", std::vector<std::string>(1000, "a")}});
  EXPECT_EQ(costly.status, 413);
  EXPECT_NE(message(costly).find("expected at most 200000"), std::string::npos) << costly.body;
}

TEST_F(ServeTasks, ALongPassageWorksWhereItIsAllowed) {
  const Server generous(with_models({"--max-text", "200000", "--threads", "1"}));
  std::string passage;
  while (passage.size() < 100'000) passage += "the bridge was built in 1912 by the queen . ";
  const Reply reply =
      generous.post("/v1/answer", Json{{"passage", passage}, {"question", "when ?"}, {"attention", "compact"}});
  ASSERT_EQ(reply.status, 200) << reply.body.substr(0, 300);
  const Json answer = reply.json()["answers"][0];
  EXPECT_EQ(passage.substr(answer["begin_byte"].get<size_t>(), answer["text"].get<std::string>().size()),
            answer["text"]);
  const Json classified = generous.post("/v1/classify", Json{{"text", passage}}).json()["classifications"][0];
  EXPECT_EQ(classified["truncated"], true);
  EXPECT_EQ(generous.post("/v1/chat", Json{{"turns", {passage}}}).status, 200);
}

TEST_F(ServeTasks, RequestsOfManyClientsShareBatches) {
  const Server shared(with_models({"--batch-wait-ms", "50", "--precision", "f32"}));
  const auto texts = [](int i) { return "a fine film " + std::to_string(i % 20); };
  std::vector<double> alone;
  for (int i = 0; i < 20; ++i) {
    alone.push_back(ask("/v1/classify", {{"text", texts(i)}})["classifications"][0]["probability"]);
  }
  const std::string answer = ask("/v1/answer", {{"passage", kPassage}, {"question", "when ?"}})["answers"][0]["text"];
  std::vector<std::future<void>> clients;
  for (int i = 0; i < 40; ++i) {
    clients.push_back(std::async(std::launch::async, [&, i] {
      const Reply label = shared.post("/v1/classify", Json{{"text", texts(i)}});
      ASSERT_EQ(label.status, 200) << label.body;
      EXPECT_NEAR(label.json()["classifications"][0]["probability"].get<double>(), alone[static_cast<size_t>(i % 20)],
                  1e-4);
      const Reply found = shared.post("/v1/answer", Json{{"passage", kPassage}, {"question", "when ?"}});
      ASSERT_EQ(found.status, 200) << found.body;
      EXPECT_EQ(found.json()["answers"][0]["text"], answer);
      EXPECT_EQ(shared.post("/v1/chat", Json{{"turns", {texts(i)}}}).status, 200);
    }));
  }
  for (auto& client : clients) client.get();
  for (const std::string name : {"reviews", "reader", "talk"}) {
    EXPECT_LT(shared.metric("fovea_batch_requests_count{model=\"" + name + "\"}"), 40) << name;
    EXPECT_GT(shared.metric("fovea_source_tokens_total{model=\"" + name + "\"}"), 40) << name;
  }
}

// A question to each of many long passages, which takes a thread many seconds.
Json slow_questions() {
  std::string passage;
  while (passage.size() < 90'000) passage += "the bridge was built in 1912 by the queen . ";
  return {{"passage", passage}, {"question", std::vector<std::string>(1000, "when was it built ?")}};
}

TEST_F(ServeTasks, WorkForAClientThatLeftEnds) {
  Server left(with_models({"--threads", "1", "--max-text", "200000", "--max-cost", "1000000000"}));
  const int socket = begin(left, slow_questions(), "/v1/answer");
  close(socket);
  for (int i = 0; i < 400 && left.metric("fovea_cancelled_total{model=\"reader\"}") < 1; ++i) usleep(50'000);
  EXPECT_EQ(left.metric("fovea_cancelled_total{model=\"reader\"}"), 1);
  EXPECT_EQ(left.post("/v1/answer", Json{{"passage", "a b"}, {"question", "b"}}).status, 200);
  left.signal(SIGTERM);
  EXPECT_EQ(left.wait(), 0);
}

TEST_F(ServeTasks, AnAnswerThatTakesTooLongIsGivenUp) {
  const Server hasty(
      with_models({"--threads", "1", "--timeout", "0.5", "--max-text", "200000", "--max-cost", "1000000000"}));
  const Reply reply = hasty.post("/v1/answer", slow_questions());
  EXPECT_EQ(reply.status, 408);
  EXPECT_EQ(message(reply), "The answer took longer than 0.5 seconds.");
}

TEST_F(ServeTasks, TheLogNamesModelAndTokens) {
  EXPECT_EQ(server->post("/v1/classify", Json{{"text", "a fine film"}}).status, 200);
  EXPECT_EQ(server->post("/v1/answer", Json{{"passage", "a b"}, {"question", "b"}}).status, 200);
  const std::string log = server->log();
  EXPECT_NE(log.find("\"path\":\"/v1/classify\""), std::string::npos) << log.substr(0, 500);
  EXPECT_NE(log.find("\"model\":\"reviews\""), std::string::npos);
  EXPECT_NE(log.find("\"model\":\"reader\""), std::string::npos);
  EXPECT_GT(server->metric("fovea_requests_total{path=\"/v1/answer\",status=\"200\"}"), 0);
}

TEST_F(ServeTasks, ExamplesOfTheWrongFormAreAnError) {
  const std::string copy = folder->file("odd");
  std::filesystem::copy(of("reviews"), copy, std::filesystem::copy_options::recursive);
  write_file_atomically(copy + "/about.json", R"({"examples": [{"passage": 3}]})");
  expect_failure({"serve", "-m", copy}, 1, "about.json: expected examples that are texts");
}

}  // namespace
}  // namespace fovea
