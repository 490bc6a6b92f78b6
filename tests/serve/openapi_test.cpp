// A walk over the OpenAPI document: requests that it allows and requests that are broken in every way a generator
// thinks of. None may be answered by a 5xx, and each answer must be what the document says of it.
#include <fmt/format.h>

#include <random>

#include "serve/fixture.h"
#include "serve/task_models.h"

namespace fovea {
namespace {

// Models of every task.
class OpenApi : public Serve {
 protected:
  static void SetUpTestSuite() {
    App::SetUpTestSuite();
    train_task_models(folder->path());
    train_captioner(folder->path());
    const auto of = [](const char* name) { return folder->file(name); };
    server = new Server(
        {"-m", model(), of("reviews"), of("reader"), of("talk"), of("titles"), of("pictures"), "--log", "off"});
    document = new Json(server->get("/openapi.json").json());
  }
};

class Generator {
 public:
  explicit Generator(const Json& document) : document_(document) {}

  bool chance(double p) { return std::uniform_real_distribution<>(0, 1)(random_) < p; }
  int64_t number(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  template <class List> auto pick(const List& list) {
    return list[static_cast<size_t>(number(0, std::ssize(list) - 1))];
  }

  std::string text() {
    static const std::vector<std::string> texts = {
        "a", "a b c", "d e f a b", "", "x y z", "我 爱 你", "\n", "\t", "a\r\nb\n\nc", "<p>a</p>", "e e e e e e e e"};
    return pick(texts);
  }

  // A value that the schema allows.
  Json valid(const Json& schema, int depth = 0) {
    if (schema.contains("$ref")) {
      const std::string name = schema["$ref"].get<std::string>().substr(std::string("#/components/schemas/").size());
      return valid(document_["components"]["schemas"][name], depth + 1);
    }
    if (schema.contains("enum")) return pick(schema["enum"]);
    const Json types = schema.value("type", Json("object"));
    const std::string type = types.is_array() ? pick(types) : types;
    if (type == "string") return text();
    if (type == "boolean") return chance(0.5);
    if (type == "integer") return number(schema.value("minimum", int64_t{0}), schema.value("maximum", int64_t{4}));
    if (type == "number") return static_cast<double>(number(0, 20)) / 10;
    if (type == "null" || depth > 8) return nullptr;
    if (type == "array") {
      Json list = Json::array();
      for (int64_t i = number(0, 4); i > 0; --i)
        list.push_back(valid(schema.value("items", Json::object()), depth + 1));
      return list;
    }
    Json object = Json::object();
    const Json required = schema.value("required", Json::array());
    const Json properties = schema.value("properties", Json::object());
    for (const auto& [name, property] : properties.items()) {
      const bool needed = std::find(required.begin(), required.end(), name) != required.end();
      if (needed || chance(0.15)) object[name] = valid(property, depth + 1);
    }
    return object;
  }

  // JSON text with a value in it that is not.
  std::string broken(Json json) {
    static const std::vector<std::string> values = {"null",
                                                    "true",
                                                    "-1",
                                                    "0",
                                                    "1e400",
                                                    "-1e400",
                                                    "1e308",
                                                    "9223372036854775808",
                                                    "-9223372036854775809",
                                                    "0.5",
                                                    "\"\"",
                                                    "\"\\u0000\"",
                                                    "\"\\ud800\"",
                                                    "\"\xff\"",
                                                    "[]",
                                                    "{}",
                                                    "[[]]",
                                                    "[null]",
                                                    "[{}]",
                                                    "{\"a\":1}",
                                                    "64",
                                                    "65",
                                                    "4096",
                                                    "4097",
                                                    "1000000",
                                                    "\"nowhere\"",
                                                    "[1,2,3]",
                                                    "NaN",
                                                    "Infinity",
                                                    "01",
                                                    "'a'"};
    if (json.empty()) return pick(values);
    std::string value = pick(values);
    if (chance(0.02)) value = std::string(70'000, '[');
    if (chance(0.02)) value = "\"" + std::string(30'000, 'a') + "\"";
    const int64_t place = number(0, std::ssize(json) - 1);
    std::string text = "{";
    int64_t i = 0;
    for (const auto& [name, member] : json.items()) {
      text += fmt::format("{}\"{}\":{}", i > 0 ? "," : "", name, i == place ? value : member.dump());
      ++i;
    }
    if (chance(0.1)) text += ",\"unknown\":" + value;
    if (chance(0.1)) text += ",\"text\":" + value;
    text += "}";
    if (chance(0.1)) text.resize(static_cast<size_t>(number(0, std::ssize(text))));
    if (chance(0.05)) text += text;
    return text;
  }

 private:
  const Json& document_;
  std::mt19937 random_{7};
};

TEST_F(OpenApi, NoGeneratedRequestIsAnsweredByAServerErrorOrOutsideItsSchema) {
  Generator generator(*document);
  struct Operation {
    std::string method, path;
    Json operation;
  };
  std::vector<Operation> operations;
  for (const auto& [path, methods] : (*document)["paths"].items()) {
    for (const auto& [method, operation] : methods.items()) operations.push_back({method, path, operation});
  }
  std::map<int, int> statuses;
  int asked = 0;
  for (; asked < 5200 && !HasFailure(); ++asked) {
    // One of three requests is a translation, which has the most members.
    const Operation o = asked % 3 == 0 ? *std::find_if(operations.begin(), operations.end(),
                                                       [](const Operation& p) { return p.path == "/v1/translate"; })
                                       : generator.pick(operations);
    Reply reply;
    std::string body;
    if (o.method == "get") {
      reply = server->get(o.path + (generator.chance(0.3) ? "?a=%20" : ""));
    } else {
      const Json content = o.operation["requestBody"]["content"];
      const std::string type = content.contains("application/json") ? "application/json" : content.begin().key();
      const Json json = generator.valid(content[type]["schema"]);
      body = generator.chance(0.5) ? json.dump() : generator.broken(json);
      reply = server->post(o.path, body, {{"Content-Type", generator.chance(0.97) ? type : "text/plain"}});
    }
    const std::string about = fmt::format("{} {} {} -> {} {}", o.method, o.path, body.substr(0, 500), reply.status,
                                          reply.body.substr(0, 500));
    ++statuses[reply.status];
    ASSERT_GE(reply.status, 200) << about;
    ASSERT_LT(reply.status, 500) << about;
    const Json& answers = o.operation["responses"];
    const Json& content = answers[reply.status == 200 ? "200" : "default"]["content"];
    const std::string type = reply.header("content-type");
    const auto fits = std::find_if(content.items().begin(), content.items().end(),
                                   [&](const auto& item) { return type.starts_with(item.key()); });
    ASSERT_NE(fits, content.items().end()) << type << about;
    if (type == "application/json") {
      ASSERT_EQ(mismatch(*document, content[type]["schema"], reply.json()), "") << about;
    }
  }
  EXPECT_GE(asked, 5000);
  // The generator reaches more than one kind of answer.
  EXPECT_GT(statuses[200], 500);
  EXPECT_GT(statuses[400], 500);
  EXPECT_EQ(server->get("/ready").status, 200);
}

}  // namespace
}  // namespace fovea
