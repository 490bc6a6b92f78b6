// fovea train, answer, evaluate, view, info and pack for readers, as a user meets them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/command.h"
#include "base/files.h"
#include "temporary_folder.h"

namespace fovea {
namespace {

using Json = nlohmann::json;

class AnswerCommand : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new TemporaryFolder();
    std::string lines;
    for (int i = 0; i < 40; ++i) {
      lines += fmt::format(
          R"({{"id": {}, "context": "red cat , blue dog .", "question": "what is {} ?", "answers": [{{"text": "{}", "start": {}}}]}})"
          "\n",
          i, i % 2 == 0 ? "red" : "blue", i % 2 == 0 ? "cat" : "dog", i % 2 == 0 ? 4 : 15);
    }
    const std::string data = folder->file("data.jsonl", lines);
    const std::string recipe = folder->file(
        "answer.toml",
        fmt::format("task = \"answer\"\nfolder = \"{}\"\nthreads = 1\n[data]\ntrain = \"{}\"\nvalid = \"{}\"\n"
                    "[source_vocabulary]\nkind = \"word\"\n[model]\nembedding = 8\nhidden = 8\ndropout = 0\n[answer]\n"
                    "modelling_layers = 1\ncharacter_filters = 4\nmax_answer = 2\n[training]\nlearning_rate = 0.02\n"
                    "steps = 200\nprecision = \"f32\"\n[validation]\nevery = 20\nmetric = \"f1\"\ngoal = 100\n",
                    run(), data, data));
    trained = fovea_command({"train", recipe});
    folder->file("passage.txt", "red cat , blue dog .\n");
  }
  static void TearDownTestSuite() { delete folder; }
  static std::string run() { return folder->file("run"); }
  static std::string passage() { return folder->file("passage.txt"); }
  static inline TemporaryFolder* folder = nullptr;
  static inline Outcome trained;
};

TEST_F(AnswerCommand, TrainsAndSaysHowToTryIt) {
  EXPECT_EQ(trained.status, 0) << trained.err;
  EXPECT_NE(trained.out.find("f1 reached 100"), std::string::npos) << trained.out;
  EXPECT_NE(trained.out.find("try it: fovea answer --model " + run()), std::string::npos) << trained.out;
}

TEST_F(AnswerCommand, AnswersQuestionsAboutAPassage) {
  const Outcome text = fovea_command({"answer", "-m", run(), "-p", passage(), "what is red ?", "what is blue ?"});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_EQ(text.out, "cat\ndog\n");
  const Outcome json =
      fovea_command({"answer", "-m", run(), "-p", passage(), "what is blue ?", "--json", "--nbest", "2"});
  const Json answer = Json::parse(json.out);
  EXPECT_EQ(answer["text"], "dog");
  EXPECT_EQ(answer["begin"], 15);
  EXPECT_EQ(answer["end_byte"], 18);
  EXPECT_EQ(answer["candidates"].size(), 2u);
  EXPECT_NE(fovea_command({"answer", "-m", run(), "what is red ?"}).err.find("--passage"), std::string::npos);
}

TEST_F(AnswerCommand, WarnsThatTheShippedModelReadsAnotherLanguage) {
  const std::string warning = "warning: the shipped model answer-zh reads Chinese; --model names another";
  const Outcome asked = fovea_command({"answer", "-p", passage(), "what is red ?"});
  EXPECT_EQ(asked.status, 0);
  EXPECT_NE(asked.err.find(warning), std::string::npos) << asked.err;
  const Outcome line = fovea_command({"answer"}, R"({"context": "red cat", "question": "what is red ?"})");
  EXPECT_NE(line.err.find(warning), std::string::npos) << line.err;
  EXPECT_EQ(fovea_command({"answer"}, R"({"context": "湖边有渔夫。", "question": "湖边有谁？"})").err, "");
}

TEST_F(AnswerCommand, GivesALineForEachLine) {
  const std::string input =
      "{\"id\": {\"a\": [1]}, \"context\": \"red cat , blue dog .\", \"question\": \"what is blue ?\"}\n"
      "{\"context\": \n" +
      std::string(100'000, '[') +
      "\n{\"passage\": \"\", \"question\": \"what is blue ?\"}\n{\"context\": \"red cat\"}\n{\"id\": 5, \"context\": "
      "\"é👍🏽 "
      "red cat , blue dog .\", \"question\": \"what is blue ?\"}";
  const Outcome outcome = fovea_command({"answer", "-m", run()}, input);
  EXPECT_EQ(outcome.status, 1) << "a line was no question";
  std::vector<Json> lines;
  for (size_t begin = 0; begin < outcome.out.size();) {
    const size_t end = outcome.out.find('\n', begin);
    lines.push_back(Json::parse(outcome.out.substr(begin, end - begin)));
    begin = end + 1;
  }
  ASSERT_EQ(lines.size(), 6u) << outcome.out;
  EXPECT_EQ(lines[0]["text"], "dog");
  EXPECT_EQ(lines[0]["id"], Json::parse("{\"a\": [1]}"));
  EXPECT_NE(lines[1]["error"].get<std::string>().find(":2"), std::string::npos) << lines[1];
  EXPECT_NE(lines[2]["error"].get<std::string>().find(":3"), std::string::npos) << lines[2];
  EXPECT_EQ(lines[3]["text"], "");
  EXPECT_NE(lines[4]["error"].get<std::string>().find("question"), std::string::npos);
  EXPECT_EQ(lines[5]["id"], 5);
  EXPECT_EQ(lines[5]["begin"], 19);
  EXPECT_EQ(lines[5]["begin_byte"], 26);
  EXPECT_NE(outcome.err.find("warning: no answer"), std::string::npos) << outcome.err;
}

TEST_F(AnswerCommand, IsEvaluatedBesideABaseline) {
  const Outcome text = fovea_command({"evaluate", "-m", run(), "-s", folder->file("data.jsonl")});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_NE(text.out.find("F1 = 100.00  (the sentence that shares most words: "), std::string::npos) << text.out;
  const Outcome json =
      fovea_command({"evaluate", "-m", run(), "-s", folder->file("data.jsonl"), "--json", "--metrics", "cmrc"});
  const Json scores = Json::parse(json.out);
  EXPECT_EQ(scores["metrics"], "cmrc");
  EXPECT_EQ(scores["exact"], 100);
  EXPECT_TRUE(scores["best_sentence"].contains("f1"));
}

TEST_F(AnswerCommand, IsShown) {
  const std::vector<std::string> view = {"view", "-m", run(), "--passage", passage(), "what is blue ?"};
  const Outcome text = fovea_command(view);
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_NE(text.out.find("passage: red cat , blue ⟦dog⟧ ."), std::string::npos) << text.out;
  for (const char* name : {"a.svg", "a.html", "a.json"}) {
    std::vector<std::string> command = view;
    command.insert(command.end(), {"-o", folder->file(name)});
    EXPECT_EQ(fovea_command(command).status, 0) << name;
    EXPECT_NE(read_file(folder->file(name)).find("dog"), std::string::npos) << name;
  }
  EXPECT_EQ(Json::parse(read_file(folder->file("a.json")))["answer"]["text"], "dog");
  const Outcome again = fovea_command({"view", folder->file("a.json"), "--attention", "passage-to-question"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_NE(again.out.find("passage in rows, question in columns"), std::string::npos) << again.out;
  EXPECT_NE(fovea_command({"view", "-m", run(), "what is blue ?"}).err.find("--passage"), std::string::npos);
}

TEST_F(AnswerCommand, IsDescribedAndPacked) {
  EXPECT_NE(fovea_command({"info", run()}).out.find("answer, attention-flow"), std::string::npos);
  const Outcome packed = fovea_command({"pack", run(), folder->file("packed")});
  EXPECT_EQ(packed.status, 0) << packed.err;
  EXPECT_EQ(fovea_command({"answer", "-m", folder->file("packed"), "-p", passage(), "what is red ?"}).out, "cat\n");
  EXPECT_NE(fovea_command({"translate", "-m", run(), "x"}).err.find("task answer"), std::string::npos);
}

}  // namespace
}  // namespace fovea
