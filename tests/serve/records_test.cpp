// What the server reads and writes as JSON, asked of a shipped model.
#include <gtest/gtest.h>

#include "serve/server.h"

namespace fovea {
namespace {

class ServeRecords : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { server = new Server({"-m", FOVEA_MODELS "/en-zh", "--threads", "2"}); }
  static void TearDownTestSuite() { delete server; }

  static inline Server* server = nullptr;
};

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
