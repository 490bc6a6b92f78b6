// Two small models and a server that all tests of a suite share.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/app.h"
#include "base/files.h"
#include "serve/server.h"

namespace fovea {

class Serve : public App {
 protected:
  static void SetUpTestSuite() {
    App::SetUpTestSuite();
    const Outcome trained =
        fovea_command({"train", recipe(), "--set", "folder=" + transformer(), "--set", "model.architecture=transformer",
                       "--set", "model.attention.score=scaled-dot", "--set", "model.attention.heads=2", "--set",
                       "model.self_attention.heads=2"});
    ASSERT_EQ(trained.status, 0) << trained.err;
    write_file_atomically(transformer() + "/about.json",
                          R"({"source_language": "en", "target_language": "de", "examples": ["a b"]})");
    server = new Server({"-m", model(), transformer(), "--precision", "f32", "--log", "json"});
    document = new Json(server->get("/openapi.json").json());
  }
  static void TearDownTestSuite() {
    delete document;
    delete server;
    App::TearDownTestSuite();
  }
  static std::string transformer() { return folder->file("transformer"); }

  static std::string error_code(const Reply& reply) { return reply.json()["error"]["code"]; }
  // The answer, held against what the document says of it.
  static Json checked(const std::string& path, const Reply& reply) {
    EXPECT_EQ(reply.status, 200) << path << ": " << reply.body;
    const Json& operations = (*document)["paths"].at(path);
    const Json& answers = (operations.contains("post") ? operations["post"] : operations["get"])["responses"];
    const Json& schema = answers["200"]["content"]["application/json"]["schema"];
    const Json json = reply.json();
    EXPECT_EQ(mismatch(*document, schema, json), "") << path;
    return json;
  }
  static Json ask(const std::string& path, const Json& body) {
    const Json& operation = (*document)["paths"].at(path)["post"];
    const Json& schema = operation["requestBody"]["content"]["application/json"]["schema"];
    EXPECT_EQ(mismatch(*document, schema, body), "") << "the request";
    return checked(path, server->post(path, body));
  }
  // A request that keeps a model busy for seconds.
  static Json slow_request() {
    return {{"text", std::vector<std::string>(400, "a b c d")},
            {"min_length", 4000},
            {"max_length", 4001},
            {"max_ratio", 0}};
  }

  // Sends a request and does not wait for its answer, but until it has left the queue or waits in it.
  static int begin(const Server& to, const Json& request, const std::string& path = "/v1/translate") {
    const std::string body = request.dump();
    const std::string bytes = "POST " + path +
                              " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
                              "\r\n\r\n" + body;
    const int socket = to.connect();
    send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    for (int i = 0; i < 100 && to.metric("fovea_connections") < 2; ++i) usleep(10'000);
    usleep(300'000);
    return socket;
  }

  static inline Server* server = nullptr;
  static inline Json* document = nullptr;
};

}  // namespace fovea
