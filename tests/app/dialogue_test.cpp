// Chat, summaries and ranked candidates as a user meets them.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/app.h"

namespace fovea {
namespace {

using Json = nlohmann::json;

constexpr const char* kTalkRecipe = R"(
task = "dialogue"
[data]
shared_vocabulary = true
[source_vocabulary]
kind = "bpe"
size = 60
[model]
architecture = "luong"
embedding = 8
hidden = 12
[training]
steps = 3
)";

// A dialogue model of a few steps, which says something.
class Talk : public App {
 protected:
  static void SetUpTestSuite() {
    App::SetUpTestSuite();
    std::string turns;
    for (int i = 0; i < 20; ++i)
      turns += R"({"turns": ["hello you", "good day", "how are you", "fine 你好"]})"
               "\n";
    const Outcome trained = fovea_command({"train", folder->file("talk.toml", kTalkRecipe), "--set", "folder=" + talk(),
                                           "--set", "data.train=" + folder->file("talk.jsonl", turns)});
    ASSERT_EQ(trained.status, 0) << trained.err;
  }
  static std::string talk() { return folder->file("talk"); }
  static int64_t lines_of(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }
};

TEST_F(Talk, APipeHasALineForEachLine) {
  const std::vector<std::string> chat = {"chat", "-m", talk(), "--max-length", "6", "--seed", "3"};
  const std::string input = "hello\n\nhow are you 你好\nfine";
  const Outcome got = fovea_command(chat, input);
  EXPECT_EQ(got.status, 0) << got.err;
  EXPECT_EQ(lines_of(got.out), 4) << got.out;
  EXPECT_EQ(got.err, "");
  EXPECT_EQ(fovea_command(chat, input).out, got.out);
  EXPECT_EQ(fovea_command(chat, "").out, "");
}

TEST_F(Talk, HistoryMattersUntilItIsReset) {
  const std::vector<std::string> chat = {"chat", "-m", talk(), "--greedy", "--max-length", "12", "--precision", "f32"};
  const auto last = [](const std::string& text) {
    const size_t end = text.size() - 1, begin = text.rfind('\n', end - 1);
    return begin == std::string::npos ? text : text.substr(begin + 1);
  };
  const std::string alone = fovea_command(chat, "fine\n").out;
  EXPECT_EQ(last(fovea_command(chat, "hello you\n/reset\nfine\n").out), alone);
  std::vector<std::string> one_turn = chat;
  one_turn.insert(one_turn.end(), {"--context-turns", "1"});
  EXPECT_EQ(last(fovea_command(one_turn, "hello you\nfine\n").out), alone);
}

TEST_F(Talk, CommandsHaveNoReply) {
  const Outcome got =
      fovea_command({"chat", "-m", talk(), "--max-length", "4"}, "/help\n/look\n/nonsense\n/quit\nhello\n");
  EXPECT_EQ(got.status, 0);
  EXPECT_EQ(got.out, "");
  EXPECT_NE(got.err.find("/reset"), std::string::npos) << got.err;
  EXPECT_NE(got.err.find("there is no command /nonsense"), std::string::npos) << got.err;
}

TEST_F(Talk, LongLinesAreReadInPart) {
  std::string line;
  while (line.size() < 100'000) line += "hello you ";
  const Outcome got = fovea_command({"chat", "-m", talk(), "--max-length", "4"}, line + "\nhello\n");
  EXPECT_EQ(got.status, 0) << got.err;
  EXPECT_EQ(lines_of(got.out), 2);
  EXPECT_NE(got.err.find("warning: the model read 1,000 of "), std::string::npos) << got.err;
  EXPECT_EQ(fovea_command({"chat", "-m", talk(), "--max-length", "4"}, std::string(100'000, 'x') + "\n").status, 0);
}

TEST_F(Talk, MistakesAreNamed) {
  expect_failure({"chat"}, 2, "--model");
  expect_failure({"chat", "-m", model()}, 1, "expected a model of the task dialogue, got one of the task sequence");
  expect_failure({"chat", "-m", talk()}, 1, "standard input:1", "\xff\n");
  expect_failure({"chat", "-m", talk(), "--nbest", "2"}, 1, "--nbest: expected 1");
  EXPECT_EQ(fovea_command({"translate", "-m", talk(), "--max-length", "4"}, "<a> hello\n").status, 0);
}

TEST_F(Talk, CandidatesAreRankedByTheirScores) {
  const std::string source = folder->file("s.txt", "<a> hello you\n<a> fine\n"),
                    targets = folder->file("t.txt", "[\"good day\", \"fine\", \"x y z\"]\n[\"hello\"]\n");
  const Outcome got = fovea_command({"score", "-m", talk(), "--rank", "--json", source, targets});
  EXPECT_EQ(got.status, 0) << got.err;
  std::istringstream lines(got.out);
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  const Json first = Json::parse(line)["candidates"];
  ASSERT_EQ(first.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    if (i > 0) EXPECT_LE(first[i]["score"].get<double>(), first[i - 1]["score"].get<double>());
    const Outcome alone =
        fovea_command({"score", "-m", talk(),
                       folder->file("one.tsv", "<a> hello you\t" + first[i]["text"].get<std::string>() + "\n")});
    EXPECT_NEAR(std::stod(alone.out), first[i]["score"].get<double>(), 2e-2) << alone.err;
  }
  const Outcome columns = fovea_command(
      {"score", "-m", talk(), "--rank", "--per-token", folder->file("c.tsv", "<a> hello you\tgood day\tfine\n")});
  EXPECT_EQ(columns.status, 0) << columns.err;
  EXPECT_TRUE(columns.out.starts_with("1 ||| ")) << columns.out;
  EXPECT_EQ(lines_of(columns.out), 2);
  expect_failure({"score", "-m", talk(), "--rank", folder->file("c.tsv", "a\n")}, 1,
                 "c.tsv:1: expected a source and candidates");
  expect_failure({"score", "-m", talk(), "--rank", source, folder->file("t.txt", "[\"a\"]\n")}, 1, "expected 2 lines");
}

TEST_F(Talk, Summarises) {
  const Outcome lines = fovea_command({"summarise", "-m", model(), "--max-length", "4"}, "a b c\nd e\n");
  EXPECT_EQ(lines.status, 0) << lines.err;
  EXPECT_EQ(lines_of(lines.out), 2);
  EXPECT_NE(lines.err.find("the summary reached its maximum length"), std::string::npos) << lines.err;
  const std::string file = folder->file("document.txt", "a b\nc\n\n");
  EXPECT_EQ(fovea_command({"summarise", "-m", model(), "--max-length", "4", "--file", file}).out,
            fovea_command({"summarise", "-m", model(), "--max-length", "4", "a b c"}).out);
  const Json json = Json::parse(fovea_command({"summarise", "-m", model(), "--json", "--max-length", "4", "a"}).out);
  EXPECT_TRUE(json.contains("summary"));
  expect_failure({"summarise", "-m", model(), "--file", folder->file("nothing")}, 1, "nothing: cannot open");
  expect_failure({"summarise", "-m", model(), "--file", file, "a"}, 2, "excludes");
}

TEST_F(Talk, EvaluatesSummariesAndReplies) {
  const std::string source = folder->file("d", "The cat sat. It slept.\n"),
                    title = folder->file("t", "the cat slept\n");
  const Outcome lead = fovea_command({"evaluate", "--lead", "1", "-s", source, "-r", title});
  EXPECT_EQ(lead.status, 0) << lead.err;
  EXPECT_NE(lead.out.find("ROUGE-1 / 2 / L = 66.67 / 50.00 / 66.67 (stemmed "), std::string::npos) << lead.out;
  const Outcome both = fovea_command({"evaluate", "--hypotheses", title, "--lead", "2", "-s", source, "-r", title,
                                      "--metrics", "rouge,distinct", "--json"});
  EXPECT_EQ(both.status, 0) << both.err;
  const Json json = Json::parse(both.out);
  EXPECT_NEAR(json["rouge"]["rouge-l"].get<double>(), 100, 1e-9);
  EXPECT_NEAR(json["lead"]["rouge-1"].get<double>(), 100 * 2.0 * 3 / 8, 1e-9);
  EXPECT_NEAR(json["distinct"]["distinct-1"].get<double>(), 100, 1e-9);
  const Outcome replies = fovea_command({"evaluate", "-m", talk(), "-s", folder->file("s", "<a> hello\n"), "-r",
                                         folder->file("r", "[\"good day\", \"fine\"]\n"), "--max-length", "4"});
  EXPECT_EQ(replies.status, 0) << replies.err;
  EXPECT_NE(replies.out.find("distinct-1 / 2 = "), std::string::npos) << replies.out;
  expect_failure({"evaluate", "--hypotheses", title, "-r", title, "--lead", "1"}, 1, "--lead needs --source");
}

}  // namespace
}  // namespace fovea
