// How lines become translations: split and joined, chosen by minimum Bayes risk, with warnings; and what a model's
// folder stores about it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/app.h"
#include "base/files.h"

namespace fovea {
namespace {

using Json = nlohmann::json;

TEST_F(App, TranslateSplitsLongLines) {
  const std::string line = "  a b. C d e. ";
  const auto translate = [&](const std::string& text, const std::string& above) {
    return fovea_command({"translate", "-m", model(), "--split-above", above, text}).out;
  };
  std::string first = translate("a b.", "0"), second = translate("C d e.", "0");
  first.pop_back();
  second.pop_back();
  EXPECT_EQ(translate(line, "2"), "  " + first + (first.empty() || second.empty() ? "" : " ") + second + "\n");
  const Json json = Json::parse(fovea_command({"translate", "-m", model(), "--json", "--split-above", "2", line}).out);
  ASSERT_EQ(json["parts"].size(), 2u);
  EXPECT_EQ(json["parts"][1]["begin"], 7);
  EXPECT_EQ(json["parts"][1]["end"], 13);
  EXPECT_EQ(json["source_tokens"], 5);
  EXPECT_FALSE(Json::parse(fovea_command({"translate", "-m", model(), "--json", line}).out).contains("parts"));
  // One line of output for each line of input, also for the empty ones.
  const Outcome lines = fovea_command({"translate", "-m", model(), "--split-above", "1"}, "a. b. c.\n\n  \nd\n");
  EXPECT_EQ(std::count(lines.out.begin(), lines.out.end(), '\n'), 4) << lines.out;
}

TEST_F(App, TranslateWarnsOfRepetition) {
  // Without an end mark, a model of three steps writes the same token over and over.
  const std::vector<std::string> looping = {"translate",    "-m", model(),       "--json", "--min-length", "60",
                                            "--max-length", "61", "--max-ratio", "0",      "a b c"};
  const Outcome got = fovea_command(looping);
  const Json json = Json::parse(got.out);
  std::vector<std::string> kinds;
  for (const Json& w : json["warnings"]) kinds.push_back(w["kind"]);
  EXPECT_NE(std::find(kinds.begin(), kinds.end(), "length"), kinds.end()) << got.out;
  EXPECT_NE(got.err.find("text:1: warning: the translation may be wrong: it "), std::string::npos) << got.err;
}

TEST_F(App, MinimumBayesRisk) {
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"translate", "-m", model(), "a b c d e"});
    return fovea_command(more);
  };
  // The choice is one of the hypotheses, also with several of them printed.
  const std::string list = run({"--beam", "6", "--nbest", "6"}).out;
  std::string chosen = run({"--mbr", "6"}).out;
  chosen.pop_back();
  EXPECT_NE(list.find("||| " + chosen + " |||"), std::string::npos) << chosen << "\n" << list;
  const std::string several = run({"--mbr", "6", "--beam", "6", "--nbest", "3"}).out;
  EXPECT_EQ(std::count(several.begin(), several.end(), '\n'), 3) << several;
  EXPECT_EQ(several.find("1 ||| " + chosen + " |||"), 0u) << several;
  EXPECT_EQ(run({"--mbr", "8", "--sample"}).status, 0);
  EXPECT_EQ(run({"--mbr", "8", "--sample"}).out, run({"--mbr", "8", "--sample"}).out);
  EXPECT_NE(run({"--mbr", "1"}).err.find("--mbr: expected at least 2 hypotheses"), std::string::npos);
  EXPECT_NE(run({"--mbr", "4", "--beam", "8", "--nbest", "5"})
                .err.find("--nbest: expected at most the 4 hypotheses of --mbr"),
            std::string::npos);
  EXPECT_EQ(run({"--mbr", "4", "--mbr-metric", "wer"}).status, 2);
}

TEST_F(App, TunedSearchIsStoredAndUsed) {
  const std::string tuned = folder->file("tuned"), source = folder->file("tune.source", "a b c\nd e f g\n"),
                    target = folder->file("tune.target", "c b a\ng f e d\n");
  std::filesystem::copy(model(), tuned, std::filesystem::copy_options::recursive);
  const std::vector<std::string> evaluate = {"evaluate", "-m",           tuned,  "--source",
                                             source,     "--references", target, "--json"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), evaluate.begin(), evaluate.end());
    return fovea_command(more);
  };
  const Outcome got = with({"--tune", "--store", "--metrics", "chrf", "--split-above", "33"});
  ASSERT_EQ(got.status, 0) << got.err;
  const Json result = Json::parse(got.out)["tuned"];
  EXPECT_EQ(result["trials"].size(), 1u + 3 * 6);
  double best = 0;
  for (const Json& trial : result["trials"]) best = std::max(best, trial["score"].get<double>());
  EXPECT_GE(Json::parse(got.out)["chrf"].get<double>(), best - 0.05);
  Json config = Json::parse(read_file(tuned + "/config.json"));
  EXPECT_EQ(config["decoding"]["beam"], result["beam"]);
  EXPECT_EQ(config["decoding"]["split_above"], 33);
  // Another stored beam changes what all commands do; a flag takes precedence.
  const Outcome stored = with({"--beam", "5", "--length-penalty", "1.2", "--store"});
  EXPECT_NE(stored.err.find("stored beam 5, length penalty 1.2 and splitting above 33 tokens"), std::string::npos)
      << stored.err;
  EXPECT_EQ(fovea_command({"translate", "-m", tuned, "--nbest", "5", "a b c"}).status, 0);
  expect_failure({"translate", "-m", tuned, "--nbest", "5", "--beam", "4", "a b c"}, 1,
                 "--nbest: expected at most the beam size of 4");
  expect_failure({"translate", "-m", model(), "--nbest", "5", "a b c"}, 1,
                 "--nbest: expected at most the beam size of 1");
  EXPECT_NE(fovea_command({"info", tuned}).out.find("beam 5"), std::string::npos);
  config["decoding"]["beam"] = -3;
  write_file_atomically(tuned + "/config.json", config.dump());
  expect_failure({"translate", "-m", tuned, "a"}, 1, "decoding.beam");
  EXPECT_NE(fovea_command({"evaluate", "--hypotheses", source, "--references", target, "--tune"})
                .err.find("--tune and --store need --model"),
            std::string::npos);
}

}  // namespace
}  // namespace fovea
