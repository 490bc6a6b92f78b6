// Pictures over HTTP: base64 and forms, records, interventions, limits, and everything that is no picture.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <future>

#include "base/base64.h"
#include "base/random.h"
#include "serve/fixture.h"
#include "serve/task_models.h"
#include "view/record_file.h"

namespace fovea {
namespace {

constexpr const char* kPath = "/v1/caption";

std::string part(const std::string& name, const std::string& value, const std::string& more = "") {
  return fmt::format("--xx\r\nContent-Disposition: form-data; name=\"{}\"{}\r\n\r\n{}\r\n", name, more, value);
}

class ServeCaptions : public Serve {
 protected:
  static void SetUpTestSuite() {
    App::SetUpTestSuite();
    train_captioner(folder->path());
    server = new Server(with_models({"--log", "json"}));
    document = new Json(server->get("/openapi.json").json());
  }
  static std::vector<std::string> with_models(const std::vector<std::string>& flags) {
    std::vector<std::string> all = {"-m", model(), folder->file("pictures"), "--precision", "f32"};
    all.insert(all.end(), flags.begin(), flags.end());
    return all;
  }
  static std::string png(int colour = 0) { return encode_png(drawn_picture(colour)); }
  static std::string base64(int colour = 0) { return to_base64(png(colour)); }
  static Json caption(Json request) { return ask(kPath, request)["captions"]; }
  static Reply upload(const std::string& body, const Server& to = *server,
                      const std::string& type = "multipart/form-data; boundary=xx") {
    return to.post(kPath, body, {{"Content-Type", type}});
  }
  static std::string message(const Reply& reply) { return reply.json()["error"]["message"]; }
  static void expect_refusal(const Reply& reply, int status, const std::string& says) {
    EXPECT_EQ(reply.status, status) << says << ": " << reply.body.substr(0, 300);
    if (reply.status == 200) return;
    EXPECT_EQ(mismatch(*document, (*document)["components"]["schemas"]["Error"], reply.json()), "");
    EXPECT_NE(message(reply).find(says), std::string::npos) << reply.body;
  }
};

TEST_F(ServeCaptions, ModelsTellTheirGrid) {
  const Json models = checked("/v1/models", server->get("/v1/models"))["models"];
  EXPECT_EQ(models[1]["task"], "caption");
  EXPECT_EQ(models[1]["path"], kPath);
  EXPECT_GE(models[1]["grid"]["rows"].get<int>(), 1);
  EXPECT_FALSE(models[0].contains("grid"));
  expect_refusal(server->post("/v1/translate", Json{{"text", "a"}, {"model", "pictures"}}), 400, "ask /v1/caption");
  expect_refusal(server->post(kPath, Json{{"image", base64()}, {"model", "model"}}), 400, "ask /v1/translate");
}

TEST_F(ServeCaptions, BothFormsOfARequestGiveTheCaptionOfTheCommand) {
  const std::string file = folder->file("one.png");
  write_file_atomically(file, png(1));
  const Outcome command =
      fovea_command({"caption", "-m", folder->file("pictures"), "--precision", "f32", "--device", "cpu", file});
  ASSERT_EQ(command.status, 0) << command.err;
  const Json plain = caption({{"image", base64(1)}});
  ASSERT_EQ(plain.size(), 1u);
  EXPECT_EQ(plain[0]["text"].get<std::string>() + "\n", command.out);
  EXPECT_EQ(plain[0]["candidates"].size(), 1u);
  EXPECT_FALSE(plain[0]["candidates"][0].contains("record"));
  std::string wrapped = base64(1);
  for (size_t at = 76; at < wrapped.size(); at += 78) wrapped.insert(at, "\r\n");
  EXPECT_EQ(caption({{"image", "data:image/png;base64," + base64(1)}}), plain);
  EXPECT_EQ(caption({{"image", wrapped}}), plain);
  const Reply form = upload(part("image", png(1), "; filename=\"a.png\"") + "--xx--\r\n");
  EXPECT_EQ(checked(kPath, form)["captions"], plain);
  const Json many = caption({{"image", {base64(0), base64(1), base64(2)}}});
  ASSERT_EQ(many.size(), 3u);
  EXPECT_EQ(many[1]["text"], plain[0]["text"]);
}

TEST_F(ServeCaptions, OptionsOfAFormAreThoseOfJson) {
  const Json json = caption({{"image", base64(2)},
                             {"beam", 4},
                             {"nbest", 2},
                             {"tree", true},
                             {"prefix", {"a"}},
                             {"next", "green"},
                             {"attention", "compact"}});
  const Reply form = upload(part("beam", "4") + part("nbest", "2") + part("tree", "true") + part("prefix", "[\"a\"]") +
                            part("next", "green") + part("attention", "compact") + part("model", "pictures") +
                            part("image", png(2), "; filename=\"C:\\\\pictures\\\\my picture.png\"") + "--xx--");
  Json of_form = checked(kPath, form)["captions"];
  ASSERT_EQ(of_form[0]["candidates"].size(), 2u);
  EXPECT_EQ(of_form[0]["candidates"][0]["record"]["image"]["name"], "my picture.png");
  EXPECT_EQ(json[0]["candidates"][0]["record"]["image"]["name"], "image");
  of_form[0]["candidates"][0]["record"]["image"]["name"] = "image";
  EXPECT_EQ(of_form, json);
  EXPECT_TRUE(json[0]["text"].get<std::string>().starts_with("a green"));
  EXPECT_GT(json[0]["tree"]["nodes"].size(), 3u);
}

TEST_F(ServeCaptions, RecordsShowThePicture) {
  const Image wide = drawn_picture(0, 1200, 300);
  for (const Json& attention : {Json(true), Json("compact")}) {
    const Json result =
        caption({{"image", to_base64(encode_jpeg(wide))}, {"attention", attention}, {"beam", 3}, {"nbest", 2}})[0];
    const AttentionRecord record = record_from_json(result["candidates"][0]["record"].dump(), "record");
    ASSERT_TRUE(record.image.has_value());
    EXPECT_EQ(record.task, "caption");
    EXPECT_EQ(record.target_text, result["text"]);
    EXPECT_EQ(record.attentions[0].columns, record.image->cells());
    EXPECT_EQ(record.steps[0].alternatives.size(), 5u);
    const Image shown = decode_image(record.image->jpeg, "shown");
    EXPECT_EQ(shown.width, 512);
    EXPECT_EQ(shown.height, 128);
  }
}

TEST_F(ServeCaptions, AttentionCanBeMoved) {
  Json request{{"image", base64(0)}, {"attention", true}, {"beam", 1}};
  const Json before = caption(request)[0]["candidates"][0]["record"];
  const size_t cells = before["attentions"][0]["weights"][0][0][0].size();
  ASSERT_GE(cells, 2u);
  std::vector<double> weights(cells);
  weights.back() = 3;
  request["edits"] = Json::array({{{"kind", "cross"}, {"row", 1}, {"weights", weights}}});
  const Json after = caption(request)[0]["candidates"][0]["record"];
  EXPECT_EQ(after["attentions"][0]["weights"][0][0][1].back(), 1.0);
  EXPECT_EQ(after["attentions"][0]["weights"][0][0][0], before["attentions"][0]["weights"][0][0][0]);
  EXPECT_NE(after["steps"][1]["log_probability"], before["steps"][1]["log_probability"]);
  request["edits"][0]["weights"].push_back(1);
  expect_refusal(server->post(kPath, request), 400, fmt::format("edits: expected {} weights for row 1", cells));
  request["image"] = {base64(0), base64(1)};
  expect_refusal(server->post(kPath, request), 400, "edits: expected one picture.");
}

TEST_F(ServeCaptions, WhatIsNoPictureIsRefusedByName) {
  const auto refused = [](const Json& body, const std::string& says) {
    expect_refusal(server->post(kPath, body), 400, says);
  };
  refused(Json::object(), "image: expected a picture in base64, got nothing.");
  refused({{"picture", base64()}}, "image: expected a picture in base64, got nothing.");
  refused({{"image", 3}}, "image: expected a text or a list of texts, got a number.");
  refused({{"image", Json::array()}}, "image: expected at least one picture");
  refused({{"image", ""}}, "got an empty text");
  refused({{"image", "data:image/png;base64,"}}, "got an empty text");
  refused({{"image", "data:image/png,abcd"}}, "data URL with base64");
  refused({{"image", "http://example.org/a.jpg"}}, "expected a picture in base64");
  refused({{"image", base64() + "="}}, "expected a picture in base64");
  refused({{"image", to_base64("GIF89a.........")}}, "image: expected a JPEG, PNG or WebP picture");
  refused({{"image", to_base64("<svg xmlns='http://www.w3.org/2000/svg'/>")}}, "expected a JPEG, PNG or WebP");
  refused({{"image", {base64(), to_base64("text")}}}, "image 2: expected a JPEG, PNG or WebP picture");
  refused({{"image", base64()}, {"beam", 65}}, "beam: expected at most 64.");
  refused({{"image", base64()}, {"beem", 3}}, "\"beam\" is");
  refused({{"image", base64()}, {"stream", true}}, "\"stream\" is not known here");
  refused({{"image", base64()}, {"next", "elephant"}}, "next: the model has no token \"elephant\".");
  refused({{"image", base64()}, {"prefix", "a a a a"}, {"max_length", 3}}, "prefix: expected fewer than 3 tokens");
  expect_refusal(server->post(kPath, Json{{"image", std::vector<std::string>(33, "")}}), 413, "at most 32 pictures");
  expect_refusal(server->post(kPath, "image=abc", {{"Content-Type", "text/plain"}}), 415,
                 "application/json or multipart/form-data, got text/plain");
  // A header that promises more than the file has: the worker finds out.
  for (const std::string& whole : {png(), encode_jpeg(drawn_picture(0))}) {
    for (const size_t length : {whole.size() - 20, whole.size() / 2, size_t{30}}) {
      const std::string half = whole.substr(0, length);
      refused({{"image", to_base64(half)}}, "image: ");
    }
  }
  EXPECT_EQ(server->get(kPath).status, 405);
}

TEST_F(ServeCaptions, BrokenFormsAreRefused) {
  const std::string good = part("image", png()), end = "--xx--\r\n";
  EXPECT_EQ(upload("preamble\r\n" + good + end).status, 200);
  EXPECT_EQ(upload(good + end, *server, "Multipart/Form-Data; charset=x; Boundary=\"xx\"").status, 200);
  EXPECT_EQ(upload("--xx\r\nContent-Type: image/png\r\ncontent-disposition: form-data; filename=\"x; name=y\"; "
                   "name=image\r\n\r\n" +
                   png() + "\r\n" + end)
                .status,
            200);
  const std::vector<std::pair<std::string, std::string>> broken = {
      {"", "the body has no boundary"},
      {"no boundary at all", "the body has no boundary"},
      {"a--xx\r\n", "the body has no boundary"},
      {good, "the closing boundary is missing"},
      {"--xx", "expected a line break after each boundary"},
      {"--xxx\r\n" + good + end, "expected a line break after each boundary"},
      {"--xx\r\nContent-Disposition: form-data; name=\"image\"\r\n", "an empty line in each part"},
      {"--xx\r\nX: " + std::string(9000, 'a') + "\r\n\r\n\r\n" + end, "headers of at most 8192 bytes"},
      {"--xx\r\nContent-Type: image/png\r\n\r\n" + png() + "\r\n" + end, "a Content-Disposition header with a name"},
      {"--xx\r\nContent-Disposition: form-data; filename=\"name=image\"\r\n\r\nx\r\n" + end, "with a name"},
      {good + good + end, "expected one part named \"image\", got two"},
      {part("image", "") + end, "image: the part is empty"},
      {part("file", png()) + end, "image: expected a part of this name with a picture, got none"},
      {end, "image: expected a part of this name"},
      {part("image", "--x") + end, "image: expected a JPEG"},
      {good + part("beam", "many") + end, "beam"},
      {good + part("beam", "{\"a\": [") + end, "beam"},
      {good + part("edits", "nothing") + end, "edits: expected a list"},
      {good + part("name\\\"d", "x") + end, "is not known here"},
      {good +
           part("mo\xff"
                "del",
                "x") +
           end,
       "is not known here"},
  };
  for (const auto& [body, says] : broken) expect_refusal(upload(body), 400, says);
  std::string many;
  for (int i = 0; i < 101; ++i) many += part("p" + std::to_string(i), "");
  expect_refusal(upload(many + end), 400, "expected at most 100 parts");
  for (const std::string type : {"multipart/form-data", "multipart/form-data; boundary=",
                                 "multipart/form-data; xboundary=xx", "multipart/form-data; boundary"}) {
    expect_refusal(upload(good + end, *server, type), 400, "expected a boundary");
  }
  expect_refusal(upload(good + end, *server, "multipart/form-data; boundary=" + std::string(71, 'x')), 400,
                 "expected a boundary of 1 to 70 characters");
}

TEST_F(ServeCaptions, SizesAreLimited) {
  const Server strict(with_models({"--max-pixels", "2000", "--max-image-body", "30000", "--max-body", "5000"}));
  EXPECT_EQ(strict.post(kPath, Json{{"image", base64()}}).status, 200);
  expect_refusal(strict.post(kPath, Json{{"image", to_base64(encode_png(drawn_picture(0, 50, 41)))}}), 413,
                 "image: expected a picture of at most 2000 pixels, got 50 x 41.");
  expect_refusal(strict.post(kPath, Json{{"image", {base64(), base64()}}}), 413, "of at most 2000 pixels together");
  expect_refusal(strict.post(kPath, Json{{"image", std::string(30'000, 'A')}}), 413, "at most 30000 bytes");
  expect_refusal(strict.post("/v1/translate", Json{{"text", std::string(6000, 'a')}}), 413, "at most 5000 bytes");
  const std::string chunks = "3e8\r\n" + std::string(1000, ' ') + "\r\n";
  for (const auto& [path, limit, count] : {std::tuple{kPath, 30'000, 31}, {"/v1/translate", 5'000, 6}}) {
    std::string bytes = fmt::format(
        "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: "
        "chunked\r\nConnection: close\r\n\r\n",
        path);
    for (int i = 0; i < count; ++i) bytes += chunks;
    EXPECT_NE(strict.raw(bytes + "0\r\n\r\n").find(fmt::format("at most {} bytes", limit)), std::string::npos) << path;
  }
  // A header alone, of 40,000 x 40,000 pixels.
  std::string bomb = png();
  bomb.replace(16, 8, std::string("\0\0\x9c\x40\0\0\x9c\x40", 8));
  expect_refusal(server->post(kPath, Json{{"image", to_base64(bomb)}}), 400, "image: expected a picture of at most");
  // Pictures larger than what other requests may send.
  Image noise = drawn_picture(0, 900, 900);
  Random random(3);
  for (uint8_t& value : noise.pixels) value = static_cast<uint8_t>(random.below(256));
  const std::string large = encode_png(noise);
  ASSERT_GT(large.size(), 1'000'000u);
  EXPECT_EQ(upload(part("image", large) + "--xx--").status, 200);
}

TEST_F(ServeCaptions, RequestsOfManyClientsShareBatchesAndABadPictureHurtsItsOwnAlone) {
  const Server shared(with_models({"--batch-wait-ms", "50"}));
  std::vector<std::string> expected;
  for (int i = 0; i < 3; ++i) expected.push_back(caption({{"image", base64(i)}})[0]["text"]);
  const std::string bad = to_base64(png().substr(0, png().size() - 30));
  std::vector<std::future<void>> clients;
  for (int i = 0; i < 24; ++i) {
    clients.push_back(std::async(std::launch::async, [&, i] {
      const bool broken = i % 4 == 3;
      const Reply reply = shared.post(kPath, Json{{"image", broken ? bad : base64(i % 3)}});
      ASSERT_EQ(reply.status, broken ? 400 : 200) << reply.body;
      if (broken) return;
      EXPECT_EQ(reply.json()["captions"][0]["text"], expected[static_cast<size_t>(i % 3)]);
    }));
  }
  for (auto& client : clients) client.get();
  EXPECT_LT(shared.metric("fovea_batch_requests_count{model=\"pictures\"}"), 24);
}

}  // namespace
}  // namespace fovea
