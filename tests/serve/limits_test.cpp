// What the server refuses so that it stays usable for others, and how it is run: keys, budgets, reloading, stopping.
#include <signal.h>  // NOLINT(modernize-deprecated-headers): SIGHUP

#include <chrono>
#include <future>

#include "serve/fixture.h"

namespace fovea {
namespace {

using Clock = std::chrono::steady_clock;

class Limits : public Serve {
 protected:
  static Server::Headers bearer(const std::string& key) { return {{"Authorization", "Bearer " + key}}; }
  static std::string small() { return Json{{"text", "a"}}.dump(); }
  static std::string message(const Reply& reply) { return reply.json()["error"]["message"]; }
  static void wait_until(const std::function<bool()>& is_so) {
    for (int i = 0; i < 500 && !is_so(); ++i) usleep(20'000);
    EXPECT_TRUE(is_so());
  }
};

TEST_F(Limits, ACostlyRequestIsRefusedWithItsNumbers) {
  const Reply reply =
      server->post("/v1/translate", Json{{"text", std::vector<std::string>(1000, "a b c d")}, {"beam", 64}});
  EXPECT_EQ(reply.status, 413);
  // Five source tokens with the end mark: up to 20 target tokens in each of 64 beams.
  EXPECT_NE(message(reply).find("1280000 target tokens"), std::string::npos) << reply.body;
  EXPECT_NE(message(reply).find("at most 200000"), std::string::npos) << reply.body;
  EXPECT_EQ(server->post("/v1/translate", Json{{"text", std::vector<std::string>(1000, "a b c d")}}).status, 200);
  EXPECT_EQ(server->post("/v1/translate", Json{{"text", "a b c d"}, {"beam", 64}}).status, 200);
}

TEST_F(Limits, AClientsBudgetIsForAllItsRequestsUnderWay) {
  const Server busy({"-m", model(), "--max-cost", "2000000", "--threads", "1"});
  const int first = begin(busy, slow_request());
  const int second = begin(busy, slow_request());
  const Reply third = busy.post("/v1/translate", slow_request());
  EXPECT_EQ(third.status, 429) << third.body;
  EXPECT_EQ(error_code(third), "too_many_requests");
  EXPECT_EQ(third.header("retry-after"), "1");
  EXPECT_NE(message(third).find("3200000 target tokens"), std::string::npos) << third.body;
  EXPECT_EQ(busy.post("/v1/translate", small()).status, 200) << "a small one still fits";
  // Clients that leave free their budget with the work.
  close(first);
  close(second);
  wait_until([&] { return busy.metric("fovea_cancelled_total{model=\"model\"}") == 2; });
  EXPECT_NE(busy.post("/v1/translate", Json{{"text", std::vector<std::string>(500, "a")}}).status, 429);
}

// A job of many sentences is decoded in pieces, between which others have their turn.
TEST_F(Limits, AWideRequestLeavesTurnsToOthers) {
  const Server one({"-m", model(), "--threads", "1", "--max-cost", "100000000"});
  const int wide = begin(one, slow_request());
  EXPECT_EQ(one.post("/v1/translate", Json{{"text", "a"}, {"beam", 2}}).status, 200);
  EXPECT_EQ(one.metric("fovea_requests_total{path=\"/v1/translate\",status=\"200\"}"), 1) << "the wide one goes on";
  close(wide);
}

TEST_F(Limits, RequestsAreCountedByKeyOrAddress) {
  const std::string keys = folder->file("keys", "# name key\nalice a-key\n\nbob\tb-key\n");
  const Server counted({"-m", model(), "--rate-limit", "3", "--api-keys", keys, "--log", "json"});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(counted.post("/v1/translate", small(), bearer("a-key")).status, 200);
  const Reply fourth = counted.post("/v1/translate", small(), bearer("a-key"));
  EXPECT_EQ(fourth.status, 429);
  EXPECT_GT(std::stoi(fourth.header("retry-after")), 1);
  EXPECT_NE(message(fourth).find("3 requests a minute"), std::string::npos);
  EXPECT_EQ(counted.post("/v1/translate", small(), bearer("b-key")).status, 200);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(counted.get("/health").status, 200);
  EXPECT_EQ(counted.post("/v1/translate", small(), bearer("wrong")).status, 401);
  EXPECT_NE(counted.log().find("\"key\":\"bob\""), std::string::npos);
  EXPECT_EQ(counted.log().find("b-key"), std::string::npos);
}

TEST_F(Limits, KeysComeFromFlagsFilesAndTheEnvironment) {
  setenv("FOVEA_API_KEY", "secret", 1);
  setenv("FOVEA_MAX_TEXT", "3", 1);
  {
    const Server guarded({"-m", model()});
    EXPECT_EQ(guarded.post("/v1/translate", small()).status, 401);
    EXPECT_EQ(guarded.post("/v1/translate", small(), bearer("secret")).status, 200);
    EXPECT_EQ(guarded.post("/v1/translate", small(), {{"Authorization", "bEaReR secret"}}).status, 200);
    EXPECT_EQ(guarded.post("/v1/translate", Json{{"text", "a b c"}}.dump(), bearer("secret")).status, 413);
  }
  unsetenv("FOVEA_API_KEY");
  unsetenv("FOVEA_MAX_TEXT");
  expect_failure({"serve", "-m", model(), "--api-keys", folder->file("k1", "alice\n")}, 1,
                 "k1:1: expected a name and a key");
  expect_failure({"serve", "-m", model(), "--api-keys", folder->file("k2", "a x\na y\n")}, 1, "there twice");
  expect_failure({"serve", "-m", model(), "--api-keys", folder->file("k3", "")}, 1, "k3: expected a line");
}

TEST_F(Limits, AJammedServerIsAliveButNotReady) {
  const Server jammed({"-m", model(), "--max-queue", "1", "--threads", "1", "--max-cost", "100000000"});
  EXPECT_EQ(jammed.get("/ready").status, 200);
  Json alone = slow_request();
  alone["sample"] = true;  // samples are not decoded in pieces
  const int first = begin(jammed, alone);
  const int second = begin(jammed, alone);
  wait_until([&] { return jammed.metric("fovea_queue_requests") == 1; });
  const Reply reply = jammed.get("/ready");
  EXPECT_EQ(reply.status, 503);
  EXPECT_NE(message(reply).find("model: 1 requests are waiting"), std::string::npos) << reply.body;
  EXPECT_EQ(jammed.get("/health").status, 200);
  close(first);
  close(second);
  wait_until([&] { return jammed.get("/ready").status == 200; });
}

TEST_F(Limits, ReloadsItsModels) {
  const std::string path = folder->file("reloaded");
  std::filesystem::copy(model(), path, std::filesystem::copy_options::recursive);
  const Server reloading({"-m", path, "--log", "json"});
  EXPECT_EQ(reloading.get("/languages").json()[0]["code"], "src");
  write_file_atomically(path + "/about.json", R"({"source_language": "fr", "target_language": "de"})");
  reloading.signal(SIGHUP);
  wait_until([&] { return reloading.get("/languages").json()[0]["code"] == "fr"; });
  EXPECT_EQ(reloading.post("/v1/translate", small()).status, 200);
  // A model that cannot be read leaves the old one in place.
  write_file_atomically(path + "/config.json", "{");
  reloading.signal(SIGHUP);
  wait_until([&] { return reloading.log().find("cannot reload") != std::string::npos; });
  EXPECT_EQ(reloading.post("/v1/translate", small()).status, 200);
}

// Jobs that expire in the queue are counted while the metrics ask for the queue's length.
TEST_F(Limits, MetricsAndExpiringJobsDoNotWaitForOneAnother) {
  Server expiring({"-m", model(), "--timeout", "0.2", "--threads", "1", "--max-cost", "100000000", "--log", "off"});
  const int slow = begin(expiring, slow_request());
  std::vector<std::future<void>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::async(std::launch::async, [&expiring, i] {
      for (int n = 0; n < 40; ++n) {
        const double penalty = 0.01 * (i * 40 + n);  // each is a batch of its own
        if (i % 2 == 0) expiring.get("/metrics");
        if (i % 2 == 1) expiring.post("/v1/translate", Json{{"text", "a b c"}, {"length_penalty", penalty}});
      }
    }));
  }
  for (auto& client : clients) client.get();
  EXPECT_EQ(expiring.get("/health").status, 200);
  close(slow);
  expiring.signal(SIGTERM);
  EXPECT_EQ(expiring.wait(), 0);
}

// Each of these is small, and was slow or large to answer.
TEST_F(Limits, SmallRequestsCannotAskForMuch) {
  std::string many;
  for (int i = 0; i < 19'000; ++i) many += "a ";
  const Reply prefix =
      server->post("/v1/translate", Json{{"text", std::vector<std::string>(300, "a")}, {"prefix", many}});
  EXPECT_EQ(prefix.status, 400) << prefix.body.substr(0, 200);
  EXPECT_EQ(server->post("/v1/translate", Json{{"text", "a"}, {"prefix", std::string(41'000, 'a')}}).status, 413);
  EXPECT_EQ(server->post("/v1/translate", Json{{"text", "a"}, {std::string(900'000, 'k'), 1}}).status, 400);
  const std::string markup = "<a " + std::string(200'000, 'x') + ">hello";
  const Reply html =
      server->post("/translate", Json{{"q", markup}, {"target", "de"}, {"format", "html"}, {"alternatives", 63}});
  EXPECT_EQ(html.status, 413) << html.body.substr(0, 200);
  const Reply sampled = server->post("/v1/translate", Json{{"text", "a"},
                                                           {"sample", true},
                                                           {"temperature", 1000},
                                                           {"nbest", 64},
                                                           {"max_length", 4096},
                                                           {"max_ratio", 0}});
  EXPECT_EQ(sampled.status, 413) << sampled.body.substr(0, 200);
}

TEST_F(Limits, BehindAProxyTheLastForwardedAddressCounts) {
  const Server proxied({"-m", model(), "--rate-limit", "3", "--behind-proxy"});
  int refused = 0;
  for (int i = 0; i < 8; ++i) {
    const std::string spoofed = "10.0.0." + std::to_string(i);
    const Reply reply = proxied.post("/v1/translate", small(),
                                     {{"X-Forwarded-For", spoofed}, {"X-Forwarded-For", spoofed + ", 192.0.2.1"}});
    refused += reply.status == 429 ? 1 : 0;
  }
  EXPECT_EQ(refused, 5);
  for (int i = 0; i < 8; ++i) {
    const Reply reply = proxied.post("/v1/translate", small(), {{"X-Forwarded-For", "2001:db8::" + std::to_string(i)}});
    EXPECT_EQ(reply.status, i < 3 ? 200 : 429);
  }
}

TEST_F(Limits, SlowRequestsDoNotDelayTheEnd) {
  Server stopping({"-m", model(), "--grace", "0.5"});
  const int half = stopping.connect();
  const std::string bytes = "POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{";
  send(half, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  usleep(100'000);
  const auto begin = Clock::now();
  stopping.signal(SIGTERM);
  EXPECT_EQ(stopping.wait(), 0);
  EXPECT_LT(std::chrono::duration<double>(Clock::now() - begin).count(), 8) << "its time to arrive is 30 seconds";
  close(half);
}

TEST_F(Limits, StopsInTimeWhateverIsUnderWay) {
  Server stopping({"-m", model(), "--grace", "0.5", "--max-cost", "100000000"});
  auto slow = std::async(std::launch::async, [&] { return stopping.post("/v1/translate", slow_request()); });
  Json streamed = slow_request();
  streamed["text"] = "a b c";
  streamed["stream"] = true;
  streamed["beam"] = 64;
  auto stream = std::async(std::launch::async, [&] { return stopping.post("/v1/translate", streamed); });
  const int idle = stopping.connect();
  wait_until([&] { return stopping.metric("fovea_connections") >= 4; });
  usleep(200'000);
  stopping.signal(SIGTERM);
  const Reply reply = slow.get();
  EXPECT_EQ(reply.status, 503) << reply.body.substr(0, 200);
  EXPECT_EQ(message(reply), "The server is stopping.");
  EXPECT_EQ(stream.get().status, 200);
  EXPECT_EQ(stopping.wait(), 0);
  close(idle);
}

}  // namespace
}  // namespace fovea
