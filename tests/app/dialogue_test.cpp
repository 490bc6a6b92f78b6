// Chat, summaries and ranked candidates as a user meets them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/app.h"
#include "base/files.h"

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

TEST_F(Talk, APipeShowsAttentionOnStandardError) {
  const Outcome got = fovea_command({"chat", "-m", talk(), "--max-length", "4"},
                                    "/look\nhello you\n/look\n/look text\n/reset\n/look\n");
  EXPECT_EQ(got.status, 0);
  EXPECT_EQ(lines_of(got.out), 1) << got.out;
  EXPECT_NE(got.err.find("target in rows, source in columns"), std::string::npos) << got.err;
  EXPECT_NE(got.err.find("what each word of it looked at"), std::string::npos) << got.err;
  const std::string none = "/look: there is no reply yet\n";
  EXPECT_TRUE(got.err.starts_with(none)) << got.err;
  EXPECT_TRUE(got.err.ends_with(none)) << got.err;
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
    EXPECT_LE(first[i]["score"].get<double>(), first[i == 0 ? 0 : i - 1]["score"].get<double>());
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
                 "c.tsv:1: expected a source and its references or candidates");
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
  // The shipped model writes nothing of one word, and says so. An empty document has an empty summary.
  std::istringstream summaries(fovea_command({"summarise", "--json", "word", "We present a parser.", ""}).out);
  for (const bool has_words : {true, true, false}) {
    std::string line;
    ASSERT_TRUE(std::getline(summaries, line));
    const Json summary = Json::parse(line);
    EXPECT_EQ(!summary["warnings"].empty(), has_words && summary["summary"] == "") << line;
  }
  expect_failure({"summarise", "-m", model(), "--file", folder->file("nothing")}, 1, "nothing: cannot open");
  expect_failure({"summarise", "-m", model(), "--file", file, "a"}, 2, "excludes");
}

// The untrained model of a few steps, as one that summarises.
std::string summariser(const TemporaryFolder& folder, const std::string& model) {
  const std::string copy = folder.file("summariser");
  std::filesystem::remove_all(copy);
  std::filesystem::copy(model, copy);
  std::string config = read_file(copy + "/config.json");
  const std::string task = "\"sequence\"";
  config.replace(config.find(task), task.size(), "\"summarise\"");
  write_file_atomically(copy + "/config.json", config);
  return copy;
}

TEST_F(Talk, EveryCommandSearchesAsTheTaskDoesByDefault) {
  const std::string titles = summariser(*folder, model());
  const auto record = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"view", "-m", titles, "a b c", "-f", "json", "--max-length", "6"});
    const Outcome got = fovea_command(flags);
    EXPECT_EQ(got.status, 0) << got.err;
    EXPECT_EQ(got.err, "") << "no warning of a default of the task";
    return Json::parse(got.out);
  };
  const std::string summary = fovea_command({"summarise", "-m", titles, "a b c", "--max-length", "6"}).out;
  EXPECT_EQ(record({})["search"], "beam 8");
  EXPECT_EQ(record({})["target"]["text"].get<std::string>() + "\n", summary);
  EXPECT_EQ(record({"--beam", "1"})["search"], "greedy");
  EXPECT_EQ(record({"--sample"})["search"], "sampled");
  const Outcome warned =
      fovea_command({"view", "-m", titles, "a b c", "--beam", "1", "--length-penalty", "0.9", "--max-length", "6"});
  EXPECT_NE(warned.err.find("--length-penalty"), std::string::npos) << warned.err;
  const Outcome evaluated =
      fovea_command({"evaluate", "-m", titles, "-s", folder->file("s", "a b c\n"), "-r", folder->file("r", "a b\n"),
                     "--max-length", "6", "-o", folder->file("written")});
  EXPECT_EQ(evaluated.status, 0) << evaluated.err;
  EXPECT_EQ(read_file(folder->file("written")), summary);
  // A model of another task is still searched greedily.
  const Outcome plain = fovea_command({"view", "-m", model(), "a b c", "-f", "json", "--max-length", "6"});
  EXPECT_EQ(Json::parse(plain.out)["search"], "greedy");
}

TEST_F(Talk, EvaluatesCaptions) {
  const std::string references =
      folder->file("captions.tsv", "1.jpg\tA dog runs.\n2.jpg\tTwo cats sleep\n1.jpg\tA brown dog is running\n");
  const std::string hypotheses = folder->file("h.tsv", "2.jpg\ttwo cats sleep\n1.jpg\ta dog runs\n");
  const std::vector<std::string> command = {"evaluate", "--captions", "--hypotheses", hypotheses, "-r", references};
  // Of no 4-gram at all, coco-caption takes (1e-15 / 1e-9)^(1/4).
  const Outcome text = fovea_command(command);
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_TRUE(text.out.starts_with("2 images, 3 references\nBLEU-1 / 2 / 3 / 4 = 100.00 / 100.00 / 100.00 / 3.16\n"))
      << text.out;
  EXPECT_NE(text.out.find("ROUGE-L = 100.00\nCIDEr-D = "), std::string::npos) << text.out;
  std::vector<std::string> with_json = command;
  with_json.push_back("--json");
  const Json json = Json::parse(fovea_command(with_json).out);
  EXPECT_EQ(json["images"], 2);
  EXPECT_NEAR(json["rouge-l"].get<double>(), 100, 1e-6);
  EXPECT_GT(json["cider-d"].get<double>(), 500);
  with_json.insert(with_json.end(), {"--document-frequencies", folder->file("d.tsv", "3.jpg\ta dog\n")});
  const Outcome single = fovea_command(with_json);
  EXPECT_NE(single.err.find("warning: CIDEr-D is 0"), std::string::npos) << single.err;
  EXPECT_EQ(Json::parse(single.out)["cider-d"], 0);
  EXPECT_EQ(fovea_command({"evaluate", "--captions", "--hypotheses", folder->file("h", "a dog runs\ntwo cats sleep\n"),
                           "-r", references})
                .out,
            text.out);
  expect_failure({"evaluate", "--captions", "-r", references}, 1, "--captions needs --hypotheses");
  expect_failure({"evaluate", "--captions", "--hypotheses", folder->file("h", "1.jpg\tx\n"), "-r", references}, 1,
                 "got none of 2.jpg");
  expect_failure({"evaluate", "--document-frequencies", "x", "--hypotheses", "h", "-r", "r"}, 1, "expected --captions");
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
