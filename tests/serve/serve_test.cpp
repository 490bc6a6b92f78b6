// fovea serve as its clients meet it.
#include <gtest/gtest.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): SIGTERM
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <thread>

#include "serve/fixture.h"

namespace fovea {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// ---- what there is

TEST_F(Serve, AnswersAsItsDocumentSays) {
  checked("/health", server->get("/health"));
  checked("/openapi.json", server->get("/openapi.json"));
  checked("/v1/mechanisms", server->get("/v1/mechanisms"));
  checked("/frontend/settings", server->get("/frontend/settings"));
  const Json models = checked("/v1/models", server->get("/v1/models"))["models"];
  ASSERT_EQ(models.size(), 2u);
  EXPECT_EQ(models[0]["name"], "model");
  EXPECT_EQ(models[0]["architecture"], "luong");
  EXPECT_EQ(models[0]["source_language"], nullptr);
  EXPECT_GE(models[0]["examples"].size(), 1u);
  EXPECT_EQ(models[1]["name"], "transformer");
  EXPECT_EQ(models[1]["target_language"], "de");
  EXPECT_EQ(models[1]["attentions"].size(), 3u);
  EXPECT_EQ(Json::parse(fovea_command({"mechanisms", "--json"}).out), server->get("/v1/mechanisms").json());
  EXPECT_NE(server->get("/metrics").body.find("# TYPE fovea_requests_total counter"), std::string::npos);
  const Reply page = server->get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_TRUE(page.header("content-type").starts_with("text/html"));
  EXPECT_TRUE(page.header("content-security-policy").starts_with("default-src 'none'; script-src 'self'"));
}

TEST_F(Serve, TranslatesAsTheProgramDoes) {
  for (const std::string& path : {model(), transformer()}) {
    const std::string name = path == model() ? "model" : "transformer";
    const Outcome said = fovea_command(
        {"translate", "-m", path, "--precision", "f32", "--json", "--beam", "3", "--nbest", "2", "--max-length", "12"},
        "a b c\n\nd e\n");
    const Json answer =
        ask("/v1/translate",
            {{"text", {"a b c", "", "d e"}}, {"model", name}, {"beam", 3}, {"nbest", 2}, {"max_length", 12}});
    EXPECT_EQ(answer["model"], name);
    size_t at = 0;
    for (const Json& t : answer["translations"]) {
      const size_t end = said.out.find('\n', at);
      const Json line = Json::parse(said.out.substr(at, end - at));
      at = end + 1;
      EXPECT_EQ(t["text"], line["translation"]);
      EXPECT_EQ(t["candidates"].size(), line["candidates"].size());
      EXPECT_NEAR(t["candidates"][0]["score"].get<double>(), line["candidates"][0]["score"].get<double>(), 1e-4);
    }
  }
  const Json sampled{{"text", "a b c"}, {"sample", true}, {"seed", 7}, {"temperature", 2.0}, {"max_length", 20}};
  EXPECT_EQ(ask("/v1/translate", sampled)["translations"], ask("/v1/translate", sampled)["translations"]);
}

TEST_F(Serve, TranslatesLongTextsInParts) {
  const std::string text = "  a b. C d.\n\n\te f";
  const Json whole = ask("/v1/translate", {{"text", text}, {"split_above", 2}})["translations"][0];
  ASSERT_EQ(whole["parts"].size(), 3u) << whole;
  const auto alone = [&](const std::string& part) {
    return ask("/v1/translate", {{"text", part}, {"split_above", 0}})["translations"][0]["text"].get<std::string>();
  };
  const std::string first = alone("a b."), second = alone("C d."), third = alone("e f");
  EXPECT_EQ(whole["text"], "  " + first + (first.empty() || second.empty() ? "" : " ") + second + "\n\n\t" + third);
  EXPECT_EQ(whole["candidates"][0]["text"], whole["text"]);
  EXPECT_EQ(whole["parts"][1]["begin"], 7);
  EXPECT_EQ(whole["parts"][1]["end"], 11);
  EXPECT_EQ(whole["parts"][1]["text"], second);
  EXPECT_TRUE(whole["warnings"].is_array());
  EXPECT_FALSE(whole["candidates"][0].contains("record"));
  // By default, a short text without line breaks stays whole.
  EXPECT_FALSE(ask("/v1/translate", {{"text", "a b. C d."}})["translations"][0].contains("parts"));
  // With attention, texts stay whole unless they are to be split; each part then has a record of its own.
  const Json shown = ask("/v1/translate", {{"text", text}, {"attention", true}})["translations"][0];
  EXPECT_FALSE(shown.contains("parts"));
  EXPECT_TRUE(shown["candidates"][0].contains("record"));
  const Json recorded =
      ask("/v1/translate", {{"text", text}, {"attention", true}, {"split_above", 2}})["translations"][0];
  EXPECT_EQ(recorded["parts"][2]["candidates"][0]["record"]["source"]["text"], "e f");
  for (const char* with : {"stream", "tree"}) {
    const Reply refused = server->post("/v1/translate", Json{{"text", text}, {"split_above", 2}, {with, true}});
    EXPECT_EQ(refused.status, 400) << with;
    EXPECT_NE(refused.body.find("split_above: expected 0 with stream"), std::string::npos) << refused.body;
  }
  EXPECT_EQ(server->post("/v1/attention", Json{{"text", text}, {"split_above", 2}}).status, 400);
}

TEST_F(Serve, BringsRecordsTreesAndScores) {
  for (const char* name : {"model", "transformer"}) {
    const Json answer = ask("/v1/translate", {{"text", "a b c"},
                                              {"model", name},
                                              {"beam", 3},
                                              {"nbest", 2},
                                              {"max_length", 8},
                                              {"attention", true},
                                              {"alternatives", 4},
                                              {"tree", true}});
    const Json& translation = answer["translations"][0];
    const Json& record = translation["candidates"][0]["record"];
    EXPECT_EQ(record["search"], "beam 3");
    EXPECT_EQ(record["source"]["tokens"].size(), 4u);
    EXPECT_EQ(record["steps"][0]["alternatives"].size(), 4u);
    EXPECT_EQ(record["attentions"].size(), std::string(name) == "model" ? 1u : 3u);
    const Json& nodes = translation["tree"]["nodes"];
    EXPECT_GT(nodes.size(), record["steps"].size());
    EXPECT_EQ(nodes[0]["text"], "<s>");
    for (size_t i = 0; i < nodes.size(); ++i) EXPECT_EQ(nodes[i]["id"], i);

    const std::string target = translation["text"];
    const Json scored = ask("/v1/score", {{"text", "a b c"}, {"target", "b a"}, {"model", name}});
    EXPECT_EQ(scored["tokens"].size(), 3u);
    EXPECT_EQ(scored["tokens"][0]["text"], "b");
    const Json forced = ask("/v1/attention", {{"text", "a b c"}, {"target", "b a"}, {"model", name}})["record"];
    EXPECT_EQ(forced["search"], "forced");
    EXPECT_EQ(forced["target"]["text"], "b a");
    EXPECT_NEAR(forced["log_probability"].get<double>(), scored["log_probability"].get<double>(), 1e-5);
    EXPECT_EQ(ask("/v1/attention", {{"text", "a b"}, {"model", name}, {"max_length", 5}})["record"]["search"],
              "greedy");
  }
}

TEST_F(Serve, StreamsTokensAndWhatTheyLookAt) {
  for (const char* name : {"model", "transformer"}) {
    const Reply reply = server->post("/v1/translate", Json{{"text", "a b c"},
                                                           {"model", name},
                                                           {"stream", true},
                                                           {"attention", true},
                                                           {"min_length", 3},
                                                           {"max_length", 9}});
    EXPECT_EQ(reply.status, 200);
    EXPECT_TRUE(reply.header("content-type").starts_with("text/event-stream"));
    const std::vector<Event> events = events_of(reply.body);
    ASSERT_GE(events.size(), 5u) << reply.body;
    EXPECT_EQ(events.front().name, "start");
    EXPECT_EQ(events.front().data["source"]["tokens"].size(), 4u);
    EXPECT_EQ(events.back().name, "done");
    const Json& schemas = (*document)["components"]["schemas"];
    EXPECT_EQ(mismatch(*document, schemas["Translations"], events.back().data), "");
    const Json& record = events.back().data["translations"][0]["candidates"][0]["record"];
    ASSERT_EQ(events.size() - 2, record["steps"].size());
    for (size_t t = 0; t < record["steps"].size(); ++t) {
      const Event& event = events[t + 1];
      EXPECT_EQ(event.name, "token");
      EXPECT_EQ(event.data["step"], t);
      EXPECT_EQ(event.data["text"], record["target"]["tokens"][t]["text"]);
      EXPECT_EQ(event.data["begin"], record["target"]["tokens"][t]["begin"]);
      EXPECT_EQ(event.data["alternatives"].size(), 5u);
      const Json& rows = event.data["attention"]["cross"];
      for (const Json& a : record["attentions"]) {
        if (a["kind"] != "cross") continue;
        size_t row = 0;
        for (const Json& layer : a["weights"]) {
          for (const Json& head : layer) {
            for (size_t s = 0; s < 4; ++s) {
              EXPECT_NEAR(rows[row][s].get<double>(), head[t][s].get<double>(), 1e-6);
            }
            ++row;
          }
        }
        EXPECT_EQ(rows.size(), row);
      }
    }
  }
  // Refused before anything is streamed.
  EXPECT_EQ(server->post("/v1/translate", Json{{"text", {"a", "b"}}, {"stream", true}}).status, 400);
}

// With a beam another hypothesis may become the best. What was said of the old one after they part is taken back, and
// what is left in the end is the answer; no token is sent twice without that.
TEST_F(Serve, RevisesWhatItSaidWhenABeamChangesItsMind) {
  int64_t revised = 0;
  for (const char* text : {"a b c d e", "f e d c b a", "b b a", "c a f e", "d"}) {
    const Json request{{"text", text}, {"stream", true}, {"beam", 6}, {"min_length", 4}, {"max_length", 12}};
    const std::vector<Event> events = events_of(server->post("/v1/translate", request).body);
    ASSERT_EQ(events.back().name, "done");
    std::vector<Json> said;
    for (const Event& event : events) {
      const Json& data = event.data;
      if (event.name == "revise") {
        ++revised;
        ASSERT_LT(data["step"].get<size_t>(), said.size());
        said.resize(data["step"].get<size_t>());
        EXPECT_EQ(data["end"], said.empty() ? Json(0) : said.back()["end"]);
      } else if (event.name == "token") {
        ASSERT_EQ(data["step"], said.size());
        said.push_back(data);
      }
    }
    std::string words;
    for (const Json& token : said) {
      if (token.value("mark", false)) continue;
      EXPECT_EQ(token["begin"], words.empty() ? 0 : words.size() + 1);
      words += (words.empty() ? "" : " ") + token["text"].get<std::string>();
    }
    EXPECT_EQ(words, events.back().data["translations"][0]["text"]);
  }
  EXPECT_GT(revised, 0);
}

TEST_F(Serve, AnswersWhatIf) {
  for (const char* name : {"model", "transformer"}) {
    Json request{{"text", "a b c"}, {"model", name}, {"max_length", 8}, {"min_length", 3}, {"attention", true}};
    const Json plain = ask("/v1/translate", request)["translations"][0];
    request["prefix"] = "d e";
    request["next"] = "f";
    const Json forced = ask("/v1/translate", request)["translations"][0];
    EXPECT_TRUE(forced["text"].get<std::string>().starts_with("d e f")) << forced["text"];
    request["prefix"] = {"d", "e"};
    EXPECT_EQ(ask("/v1/translate", request)["translations"][0]["text"], forced["text"]);
    request.erase("prefix");
    request.erase("next");
    request["edits"] = Json::array({{{"kind", "cross"}, {"row", 1}, {"weights", {1, 0, 0, 1}}}});
    const Json edited = ask("/v1/translate", request)["translations"][0]["candidates"][0]["record"];
    for (const Json& a : edited["attentions"]) {
      if (a["kind"] == "cross") {
        EXPECT_EQ(a["weights"][0][0][1], Json({0.5, 0.0, 0.0, 0.5}));
      }
    }
    request["edits"] = Json::array({{{"kind", "cross"}, {"head", 1}, {"off", true}}});
    const Json off = ask("/v1/translate", request)["translations"][0]["candidates"][0]["record"];
    EXPECT_NE(off["steps"], plain["candidates"][0]["record"]["steps"]);
    for (const Json& wrong :
         {Json{{"kind", "cross"}, {"row", 1}, {"weights", {1, 2}}}, Json{{"kind", "cross"}, {"head", 9}, {"off", true}},
          Json{{"kind", "sideways"}, {"off", true}}, Json{{"row", 1}, {"weights", {0, 0, 0, 0}}}, Json{{"row", 1}},
          Json{{"row", 1}, {"weights", {-1, 2, 0, 0}}}}) {
      request["edits"] = Json::array({wrong});
      const Reply reply = server->post("/v1/translate", request);
      EXPECT_EQ(reply.status, 400) << wrong << reply.body;
    }
  }
}

TEST_F(Serve, SpeaksLibreTranslate) {
  const Json languages = checked("/languages", server->get("/languages"));
  EXPECT_EQ(languages[0]["code"], "src");
  EXPECT_EQ(languages[1]["code"], "en");
  EXPECT_EQ(languages[1]["targets"], Json({"de"}));
  const std::string english =
      ask("/v1/translate", {{"text", "a b c"}, {"model", "transformer"}})["translations"][0]["text"];
  const Json json = ask("/translate", {{"q", "a b c"}, {"source", "en"}, {"target", "de"}, {"format", "text"}});
  EXPECT_EQ(json["translatedText"], english);
  const Json several = ask("/translate", {{"q", {"a b c", "d"}}, {"source", "auto"}, {"target", "de"}});
  EXPECT_EQ(several["translatedText"][0], english);
  const Json more = ask("/translate", {{"q", "a b c"}, {"source", "en"}, {"target", "de"}, {"alternatives", 2}});
  EXPECT_EQ(more["alternatives"].size(), 2u);
  const std::vector<std::pair<std::string, std::string>> form = {{"Content-Type", "application/x-www-form-urlencoded"}};
  EXPECT_EQ(server->post("/translate", "q=a+b%20c&source=en&target=de", form).json()["translatedText"], english);
  const std::string multipart =
      "--xx\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\na b c\r\n--xx\r\nContent-Disposition: form-data; "
      "name=\"target\"\r\n\r\nde\r\n--xx--\r\n";
  const Reply parts = server->post("/translate", multipart, {{"Content-Type", "multipart/form-data; boundary=xx"}});
  EXPECT_EQ(parts.json()["translatedText"], english) << parts.body;
  // Lines are translated one by one.
  const std::string lines = ask("/translate", {{"q", "a b c\nd"}, {"target", "de"}})["translatedText"];
  EXPECT_TRUE(lines.starts_with(english + "\n"));
  for (const Json& wrong : {Json{{"q", "a"}, {"source", "fr"}, {"target", "de"}}, Json{{"target", "de"}},
                            Json{{"q", "a"}, {"target", "de"}, {"format", "pdf"}}}) {
    const Reply reply = server->post("/translate", wrong);
    EXPECT_EQ(reply.status, 400);
    EXPECT_TRUE(reply.json()["error"].is_string()) << reply.body;
  }
  EXPECT_EQ(ask("/detect", {{"q", "The dog is here."}})[0]["language"], "en");
  // Of HTML the texts are translated, and the markup stays.
  const Json html =
      ask("/translate", {{"q", "<p id=x>a b c</p><script>d</script>"}, {"target", "de"}, {"format", "html"}});
  EXPECT_EQ(html["translatedText"], "<p id=x>" + english + "</p><script>d</script>");
  EXPECT_EQ(html["detectedLanguage"]["language"], "en");
  // A file is uploaded, and its translation fetched.
  const auto upload = [&](const std::string& name, const std::string& text) {
    const std::string body =
        "--xx\r\nContent-Disposition: form-data; name=\"target\"\r\n\r\nde\r\n--xx\r\nContent-Disposition: "
        "form-data; name=\"file\"; filename=\"" +
        name + "\"\r\n\r\n" + text + "\r\n--xx--\r\n";
    return server->post("/translate_file", body, {{"Content-Type", "multipart/form-data; boundary=xx"}});
  };
  const std::string url = checked("/translate_file", upload("my text.txt", "a b c\nd"))["translatedFileUrl"];
  const Reply file = server->get(url.substr(std::string("http://localhost").size()));
  EXPECT_EQ(file.status, 200);
  EXPECT_EQ(file.body, lines);
  EXPECT_EQ(file.header("content-disposition"), "attachment; filename=\"my_text_de.txt\"");
  EXPECT_EQ(upload("a.pdf", "a").status, 400);
  EXPECT_EQ(upload("a.txt", "\xff").status, 400);
  EXPECT_EQ(server->get("/download_file/0").status, 404);
}

// ---- what goes wrong

TEST_F(Serve, RefusesWhatItCannotRead) {
  const auto refused = [&](const std::string& body, int status, const std::string& says) {
    const Reply reply = server->post("/v1/translate", body);
    EXPECT_EQ(reply.status, status) << body << reply.body;
    const Json json = reply.json();
    EXPECT_EQ(mismatch(*document, (*document)["components"]["schemas"]["Error"], json), "");
    EXPECT_NE(json["error"]["message"].get<std::string>().find(says), std::string::npos) << reply.body;
  };
  refused(R"({"text": "a)", 400, "expected JSON");
  refused("", 400, "expected JSON");
  refused("[]", 400, "object");
  refused("{}", 400, "text");
  refused(R"({"text": 5})", 400, "text");
  refused(R"({"text": []})", 400, "empty");
  refused(R"({"text": ["a", 5]})", 400, "text");
  refused("{\"text\": \"\xff\xfe\"}", 400, "UTF-8");
  refused(R"({"text": "\ud800"})", 400, "JSON");
  refused(R"({"text": "a", "model": "nowhere"})", 404, "nowhere");
  refused(R"({"text": "a", "beam": "five"})", 400, "beam");
  refused(R"({"text": "a", "beam": 0})", 400, "beam");
  refused(R"({"text": "a", "beam": 100000})", 400, "beam");
  refused(R"({"text": "a", "beam": 2, "nbest": 3})", 400, "nbest");
  refused(R"({"text": "a", "temperature": 2})", 400, "sample");
  refused(R"({"text": "a", "max_length": 1e9})", 400, "max_length");
  refused(R"({"text": "a", "max_length": 99999999})", 400, "max_length");
  refused(R"({"text": "a", "baem": 2})", 400, "beam");
  refused(R"({"text": "a", "next": "no such token"})", 400, "no such token");
  refused(R"({"text": "a", "edits": 3})", 400, "edits");
  refused(R"({"text": "a", "stream": "yes"})", 400, "stream");
  refused(Json{{"text", std::string(20'001, 'a')}}.dump(), 413, "20000 characters");
  refused(std::string(100'000, '['), 400, "");
  EXPECT_EQ(server->post("/v1/score", Json{{"text", "a"}}).status, 400);
  EXPECT_EQ(server->post("/v1/score", Json{{"text", ""}, {"target", "a"}}).status, 400);
  EXPECT_EQ(server->get("/nowhere").status, 404);
  EXPECT_EQ(error_code(server->get("/v1/translate")), "method_not_allowed");
  EXPECT_EQ(server->post("/health", std::string("{}")).status, 405);
  EXPECT_EQ(server->get("/assets/../../etc/passwd").status, 404);
  EXPECT_EQ(server->get("/health").status, 200);
}

TEST_F(Serve, SurvivesBadClients) {
  // 100 MB, with a length and without.
  const Reply large =
      server->post("/v1/translate", std::string(100'000'000, 'a'));  // NOLINT(bugprone-string-constructor)
  EXPECT_EQ(large.status, 413);
  EXPECT_EQ(error_code(large), "too_large");
  std::string chunked = "POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 40; ++i) chunked += "10000\r\n" + std::string(0x10000, 'a') + "\r\n";
  EXPECT_TRUE(server->raw(chunked + "0\r\n\r\n").starts_with("HTTP/1.1 413")) << "chunks";
  // Not HTTP, or not all of it.
  EXPECT_TRUE(server->raw("hello\r\n\r\n").starts_with("HTTP/1.1 400"));
  server->raw("POST /v1/translate HTTP/1.1\r\nContent-Length: 100\r\n\r\n{\"text\"", 100);
  server->raw("GET /hea", 100);
  server->raw(std::string("\0\x01\x02\xff", 4), 100);
  for (int i = 0; i < 50; ++i) close(server->connect());
  EXPECT_EQ(server->get("/health").status, 200);
  EXPECT_EQ(server->post("/v1/translate", Json{{"text", "a"}}).status, 200);
}

TEST_F(Serve, SlowClientsAndLongAnswersEnd) {
  const Server quick({"-m", model(), "--timeout", "1", "--max-cost", "100000000"});
  const auto begin = Clock::now();
  const std::string half =
      quick.raw("POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"text\"");
  EXPECT_TRUE(half.starts_with("HTTP/1.1 408")) << half;
  EXPECT_NE(half.find("\"timeout\""), std::string::npos);
  quick.raw("GET /health HT");
  EXPECT_LT(seconds_since(begin), 8);
  const Reply late = quick.post("/v1/translate", slow_request());
  EXPECT_EQ(late.status, 408) << late.body.substr(0, 100);
  EXPECT_EQ(error_code(late), "timeout");
  EXPECT_EQ(quick.post("/v1/translate", Json{{"text", "a"}}).status, 200);
  Json streamed = slow_request();
  streamed["text"] = "a b c";
  streamed["stream"] = true;
  streamed["beam"] = 64;
  // Each step of the Transformer looks back on all before: far more than the time allows.
  const Server slower({"-m", transformer(), "--timeout", "1", "--max-cost", "100000000"});
  const std::vector<Event> events = events_of(slower.post("/v1/translate", streamed).body);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().name, "error");
}

TEST_F(Serve, AFullQueueSaysComeBackAndWhoLeavesIsForgotten) {
  const Server small({"-m", model(), "--max-queue", "1", "--threads", "1", "--max-cost", "100000000"});
  const int first = begin(small, slow_request());
  const int second = begin(small, slow_request());
  for (int i = 0; i < 100 && small.metric("fovea_queue_requests") < 1; ++i) usleep(10'000);
  EXPECT_EQ(small.metric("fovea_queue_requests"), 1);
  const Reply refused = small.post("/v1/translate", Json{{"text", "a"}});
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("retry-after"), "1");
  EXPECT_EQ(error_code(refused), "overloaded");
  // Both clients leave: the model is free again at once, long before it could have answered them.
  close(first);
  close(second);
  const auto begin = Clock::now();
  int status = 503;
  while (status == 503 && seconds_since(begin) < 20) {
    status = small.post("/v1/translate", Json{{"text", "a"}}).status;
    if (status == 503) usleep(20'000);
  }
  EXPECT_EQ(status, 200);
  for (int i = 0; i < 500 && small.metric("fovea_cancelled_total{model=\"model\"}") < 2; ++i) usleep(20'000);
  EXPECT_EQ(small.metric("fovea_cancelled_total{model=\"model\"}"), 2);
}

// ---- many at once

TEST_F(Serve, ManyClientsShareBatchesAndGetWhatEachWouldAlone) {
  const Server many({"-m", model(), "--precision", "f32", "--batch-wait-ms", "20"});
  const auto text = [](int i) {
    std::string words;
    for (int n = 0; n <= i % 7; ++n) words += std::string(n > 0 ? " " : "") + static_cast<char>('a' + (i + n) % 9);
    return words;
  };
  const auto translated = [&](int i, int beam) -> std::string {
    const Reply reply = many.post("/v1/translate", Json{{"text", text(i)}, {"max_length", 20}, {"beam", beam}});
    return reply.status == 200 ? reply.json()["translations"][0]["text"].get<std::string>() : reply.body;
  };
  std::vector<std::string> alone;
  for (int i = 0; i < 48; ++i) alone.push_back(translated(i, 1 + i % 2));
  std::vector<std::future<std::string>> together;
  for (int i = 0; i < 48; ++i) together.push_back(std::async(std::launch::async, translated, i, 1 + i % 2));
  for (size_t i = 0; i < together.size(); ++i) EXPECT_EQ(together[i].get(), alone[i]);
  const double batches = many.metric("fovea_batch_requests_count{model=\"model\"}");
  const double ones = many.metric(R"(fovea_batch_requests_bucket{model="model",le="1"})");
  EXPECT_GT(batches, ones);
  EXPECT_LT(batches, 96);
  EXPECT_EQ(many.metric("fovea_batch_requests_sum{model=\"model\"}"), 96);
  EXPECT_EQ(many.metric("fovea_requests_total{path=\"/v1/translate\",status=\"200\"}"), 96);
}

TEST_F(Serve, ALongRequestKeepsNoShortOneWaiting) {
  const Server two({"-m", model(), "--threads", "2", "--max-cost", "100000000"});
  const int slow = begin(two, slow_request());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(two.post("/v1/translate", Json{{"text", "a"}}).status, 200);
  EXPECT_EQ(two.metric("fovea_requests_total{path=\"/v1/translate\",status=\"200\"}"), 3)
      << "the slow one is not among them";
  close(slow);
}

TEST_F(Serve, StopsWhenItHasFinishedWhatItAccepted) {
  Server stopping({"-m", model(), "--log", "json", "--max-cost", "100000000", "--grace", "120", "--timeout", "120"});
  Json request = slow_request();
  request["min_length"] = 600;
  request["max_length"] = 601;
  auto answer = std::async(std::launch::async, [&] { return stopping.post("/v1/translate", request); });
  for (int i = 0; i < 200 && stopping.metric("fovea_connections") < 2; ++i) usleep(10'000);
  usleep(100'000);
  stopping.signal(SIGTERM);
  const Reply reply = answer.get();
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.json()["translations"].size(), 400u);
  EXPECT_EQ(stopping.wait(), 0);
  const std::string log = stopping.log();
  EXPECT_NE(log.find("\"path\":\"/v1/translate\",\"status\":200"), std::string::npos) << log;
  for (size_t at = 0; at < log.size();) {
    const size_t end = log.find('\n', at);
    EXPECT_NO_THROW(Json::parse(log.substr(at, end - at)));
    at = end + 1;
  }
}

// ---- who may

TEST_F(Serve, KeysAndOrigins) {
  const Server guarded({"-m", model(), "--api-key", "secret", "--cors", "https://example.org"});
  const std::string body = Json{{"text", "a"}}.dump();
  EXPECT_EQ(guarded.get("/health").status, 200);
  EXPECT_EQ(guarded.get("/v1/models").status, 401);
  EXPECT_EQ(guarded.get("/metrics").status, 401);
  // LibreTranslate's clients ask for these without a key, to learn that there is one.
  EXPECT_EQ(guarded.get("/languages").status, 200);
  EXPECT_EQ(guarded.get("/frontend/settings").json()["keyRequired"], true);
  EXPECT_EQ(guarded.post("/v1/translate", body).status, 401);
  EXPECT_EQ(guarded.post("/v1/translate", body, {{"Authorization", "Bearer secre"}}).status, 401);
  EXPECT_EQ(guarded.post("/v1/translate", body, {{"Authorization", "Bearer secret"}}).status, 200);
  EXPECT_EQ(guarded.post("/translate", Json{{"q", "a"}, {"target", "tgt"}}).json()["error"], "Expected an API key.");
  EXPECT_EQ(guarded.post("/translate", Json{{"q", "a"}, {"target", "tgt"}, {"api_key", "secret"}}).status, 200);
  EXPECT_EQ(guarded.get("/health").header("access-control-allow-origin"), "https://example.org");
  EXPECT_TRUE(guarded.raw("OPTIONS /v1/translate HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                  .starts_with("HTTP/1.1 204"));
  EXPECT_EQ(server->get("/health").header("access-control-allow-origin"), "");
}

TEST_F(Serve, BadFlagsAreNamed) {
  expect_failure({"serve", "-m", folder->file("nowhere")}, 1, "expected a model folder");
  expect_failure({"serve", "-m", "no-such-model"}, 1, "no-such-model: there is no such model folder. Models by name: ");
  EXPECT_EQ(fovea_command({"serve", "-m", model(), "--port", "99999"}).status, 2);
  expect_failure({"serve", "-m", model(), "--port", std::to_string(server->port())}, 1,
                 "cannot listen on 127.0.0.1 port " + std::to_string(server->port()) + ": Address already in use");
  expect_failure({"serve", "-m", model(), "--host", "192.0.2.1"}, 1, "Cannot assign requested address");
  expect_failure({"serve", "-m", model(), "--host", "no.such.host.invalid"}, 1, "no such address");
  expect_failure({"serve", "-m", folder->file("")}, 1, "expected a model folder");
}

}  // namespace
}  // namespace fovea
