// What translate prints of words and takes as their beginning; and files that score and evaluate read alike.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "app/app.h"

namespace fovea {
namespace {

using Json = nlohmann::json;

std::vector<std::string> fields_of_line(std::string line) {
  if (line.ends_with('\n')) line.pop_back();
  std::vector<std::string> fields;
  for (size_t at = 0; at != std::string::npos;) {
    const size_t end = line.find(" ||| ", at);
    fields.push_back(line.substr(at, end == std::string::npos ? end : end - at));
    at = end == std::string::npos ? end : end + 5;
  }
  return fields;
}

int64_t count_words(const std::string& text) {
  std::istringstream words(text);
  int64_t count = 0;
  for (std::string word; words >> word;) ++count;
  return count;
}

// One for each word, and one for the end mark if there is one.
bool is_score_count(int64_t scores, int64_t words) { return scores == words || scores == words + 1; }

int64_t count_code_points(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

std::vector<std::string> translate_with(const std::string& model, std::vector<std::string> more) {
  more.insert(more.begin(), {"translate", "-m", model, "--precision", "f32"});
  return more;
}

TEST_F(App, AlignmentIsThatOfAlignAndScoresAreThoseOfScore) {
  const std::string plain = fovea_command(translate_with(model(), {"a b c d"})).out;
  const Outcome got = fovea_command(translate_with(model(), {"--alignment", "--word-scores", "a b c d"}));
  EXPECT_EQ(got.status, 0) << got.err;
  const std::vector<std::string> fields = fields_of_line(got.out);
  ASSERT_EQ(fields.size(), 3u) << got.out;
  EXPECT_EQ(fields[0] + "\n", plain);
  const std::string pair = folder->file("forced.tsv", "a b c d\t" + plain);
  const Outcome aligned = fovea_command({"align", "-m", model(), "--precision", "f32", "--heads", "auto", pair});
  EXPECT_EQ(fields[1] + "\n", aligned.out) << aligned.err;
  ASSERT_FALSE(fields[1].empty());
  const Json forced = Json::parse(fovea_command({"score", "-m", model(), "--precision", "f32", "--json", pair}).out);
  std::istringstream scores(fields[2]);
  size_t count = 0;
  for (double score = 0; scores >> score; ++count) {
    EXPECT_NEAR(score, forced["log_probs"].at(count).get<double>(), 1e-4) << got.out;
  }
  // A word is a token of this model. The end mark follows, unless the maximum length came first.
  const std::vector<std::string> three =
      fields_of_line(fovea_command(translate_with(model(), {"--word-scores", "--max-length", "3", "a b c d"})).out);
  EXPECT_EQ(count_words(three[0]), 3);
  EXPECT_EQ(count_words(three[1]), 3);
  EXPECT_TRUE(is_score_count(count_words(fields[2]), count_words(fields[0]))) << got.out;
}

TEST_F(App, WordsOfALineInPartsAreNumberedThroughout) {
  const std::string line = "a b. C d e.";
  const auto part = [&](const std::string& text) {
    return fields_of_line(fovea_command(translate_with(model(), {"--alignment", "--split-above", "0", text})).out);
  };
  const std::vector<std::string>
      first = part("a b."),
      second = part("C d e."),
      whole = fields_of_line(fovea_command(translate_with(model(), {"--alignment", "--split-above", "2", line})).out);
  std::string expected = first[1];
  const int64_t words = count_words(first[0]);
  std::istringstream links(second[1]);
  for (std::string link; links >> link;) {
    const size_t dash = link.find('-');
    expected += (expected.empty() ? "" : " ") + std::to_string(std::stoll(link) + 2) + "-" +
                std::to_string(std::stoll(link.substr(dash + 1)) + words);
  }
  EXPECT_EQ(whole[1], expected);
  const Json json = Json::parse(
      fovea_command(translate_with(model(), {"--json", "--word-scores", "--alignment", "--split-above", "2", line}))
          .out)["candidates"][0];
  const std::vector<double> scores = json["word_scores"];
  EXPECT_NEAR(std::accumulate(scores.begin(), scores.end(), 0.0), json["log_probability"].get<double>(), 1e-4);
  EXPECT_TRUE(is_score_count(std::ssize(scores), count_words(json["text"])));
  EXPECT_EQ(json["alignment"].size(), static_cast<size_t>(count_words(expected)));
}

TEST_F(App, NbestLinesHaveTheFieldsBeforeTheScore) {
  const Outcome got =
      fovea_command(translate_with(model(), {"--beam", "3", "--nbest", "3", "--alignment", "--word-scores", "a b c"}));
  std::istringstream lines(got.out);
  int64_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const std::vector<std::string> fields = fields_of_line(line);
    ASSERT_EQ(fields.size(), 5u) << line;
    EXPECT_EQ(fields[0], "1");
    EXPECT_TRUE(is_score_count(count_words(fields[3]), count_words(fields[1]))) << line;
    EXPECT_EQ(count_words(fields[4]), 1);
  }
  EXPECT_EQ(count, 3) << got.err;
  EXPECT_EQ(fovea_command(translate_with(model(), {"--alignment"}), "\n").out, " ||| \n");
}

TEST_F(App, WhatDoesNotAttendIsNotAligned) {
  const std::string without = folder->file("without");
  const Outcome trained = fovea_command({"train", recipe(), "--set", "folder=" + without, "--set",
                                         "model.architecture=rnn-seq2seq", "--set", "training.steps=1"});
  ASSERT_EQ(trained.status, 0) << trained.err;
  expect_failure(translate_with(without, {"--alignment", "a b"}), 1,
                 "--alignment: expected a model that attends to its source, got rnn-seq2seq");
  EXPECT_EQ(fields_of_line(fovea_command(translate_with(without, {"--word-scores", "a b"})).out).size(), 2u);
}

TEST_F(App, PiecesOfAShippedModelAreWords) {
  const Outcome got = fovea_command({"translate", "-m", "en-zh", "--alignment", "--word-scores", "I like apples."});
  const std::vector<std::string> fields = fields_of_line(got.out);
  ASSERT_EQ(fields.size(), 3u) << got.err;
  EXPECT_TRUE(fields[1].find("2-") != std::string::npos) << got.out;               // apples.
  EXPECT_EQ(fields[1].find("3-"), std::string::npos) << got.out;                   // there are three words
  EXPECT_EQ(count_words(fields[2]), count_code_points(fields[0]) + 1) << got.out;  // a Chinese character, the end
}

TEST_F(App, TranslationsBeginAsAskedFor) {
  const auto begins = [](const std::string& text, const std::string& prefix) {
    EXPECT_TRUE((text.substr(0, text.find('\n')) + " ").starts_with(prefix + " ")) << text;
  };
  begins(fovea_command(translate_with(model(), {"--prefix", "c b", "a b c"})).out, "c b");
  begins(fovea_command(translate_with(model(), {"--prefix", "d", "--beam", "3", "a b c"})).out, "d");
  const std::string input = folder->file("three", "a b c\nb c\na\n");
  const Outcome got =
      fovea_command(translate_with(model(), {"-i", input, "--prefixes", folder->file("prefixes", "b b b\n\nc d\n")}));
  EXPECT_EQ(got.status, 0) << got.err;
  std::istringstream lines(got.out);
  std::string first, second, third;
  ASSERT_TRUE(std::getline(lines, first) && std::getline(lines, second) && std::getline(lines, third));
  begins(first, "b b b");
  EXPECT_EQ(second + "\n", fovea_command(translate_with(model(), {"b c"})).out);
  begins(third, "c d");

  const auto refuses = [&](const std::string& prefixes, const std::string& says) {
    const Outcome refused =
        fovea_command(translate_with(model(), {"-i", input, "--prefixes", folder->file("wrong", prefixes)}));
    EXPECT_EQ(refused.status, 1);
    EXPECT_NE(refused.err.find(says), std::string::npos) << refused.err;
  };
  refuses("a\nb\n", "--prefixes: expected a prefix for each line, got 2 lines only");
  refuses("a\nb\na\nb\n", "wrong:4: expected as many prefixes as there are lines, got more");
  refuses("a\n\xff\nb\n", "wrong:2");
  expect_failure(translate_with(model(), {"--prefix", "a b c", "--max-length", "3", "a"}), 1,
                 "--prefix: expected fewer than 3 tokens");
  expect_failure(translate_with(model(), {"--prefix", "a", "--split-above", "5", "a"}), 1, "--split-above: expected 0");
  expect_failure(translate_with(model(), {"--prefix", "a", "--prefixes", input, "a"}), 2, "excludes");
  expect_failure(translate_with(model(), {"--prefix", "a", "a\nb"}), 1, "got one with a line break");
}

TEST_F(App, ScoreAndEvaluateReadTheSameFiles) {
  const std::string source = folder->file("src.txt", "a b\nc\n"), target = folder->file("ref.txt", "b a\nc\n"),
                    pairs = folder->file("both.tsv", "a b\tb a\nc\tc\n");
  ASSERT_EQ(std::system(("gzip -kf " + source + " " + target + " " + pairs).c_str()), 0);  // NOLINT(cert-env33-c)
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"score", "-m", model()},
        {"evaluate", "-m", model(), "--metrics", "chrf", "--max-length", "5"}}) {
    const auto with = [&](std::vector<std::string> files) {
      files.insert(files.begin(), command.begin(), command.end());
      return fovea_command(files);
    };
    const Outcome expected = with({"-s", source, "-r", target});
    EXPECT_EQ(expected.status, 0) << expected.err;
    EXPECT_EQ(with({"--source", pairs}).out, expected.out) << command[0];
    EXPECT_EQ(with({"--source", pairs + ".gz"}).out, expected.out) << command[0];
    EXPECT_EQ(with({"-s", source + ".gz", "--references", target + ".gz"}).out, expected.out) << command[0];
    EXPECT_NE(with({"-s", source}).err.find("src.txt:1: expected a source and its references"), std::string::npos);
    EXPECT_NE(with({"-s", source, "-r", folder->file("short", "x\n")}).err.find("short: expected 2 lines"),
              std::string::npos);
  }
  EXPECT_EQ(fovea_command({"score", "-m", model(), source, target}).out,
            fovea_command({"score", "-m", model(), "-s", source, "-r", target}).out);
  expect_failure({"score", "-m", model(), folder->file("two.tsv", "a\tb\nc\td\te\n")}, 1,
                 "line 2: expected one translation, got 2; --rank compares several");
  expect_failure({"score", "-m", model(), folder->file("none.tsv", "")}, 1, "none.tsv: expected text");
  const Outcome rank = fovea_command({"score", "-m", model(), "--rank", "-s", source, "-r", target, "-r", source});
  EXPECT_EQ(std::count(rank.out.begin(), rank.out.end(), '\n'), 4) << rank.err;
}

}  // namespace
}  // namespace fovea
