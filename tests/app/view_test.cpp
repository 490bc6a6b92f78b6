// fovea view, align and evaluate --alignment as a user meets them.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/app.h"
#include "base/files.h"

namespace fovea {
namespace {

using Json = nlohmann::json;

std::vector<Json> json_lines(const std::string& text) {
  std::vector<Json> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    lines.push_back(Json::parse(text.substr(at, end - at)));
    at = end + 1;
  }
  return lines;
}

TEST_F(App, ViewDrawsInTheTerminal) {
  for (const char* picture : {"heatmap", "highlight", "flow", "heads", "steps"}) {
    const Outcome got = fovea_command({"view", "-m", model(), "a b c", "--target", "c b a", "--as", picture});
    EXPECT_EQ(got.status, 0) << got.err;
    EXPECT_NE(got.out.find("source: a b c\ntarget: c b a\n"), std::string::npos) << got.out;
    EXPECT_NE(got.out.find("cross attention"), std::string::npos) << got.out;
    EXPECT_EQ(got.out.find('\x1b'), std::string::npos) << "colours in a pipe";
  }
}

TEST_F(App, ViewWritesFilesByTheirNames) {
  const auto write = [&](const std::string& name, const std::string& picture) {
    const std::string path = folder->file(name);
    const Outcome got = fovea_command({"view", "-m", model(), "a b c", "-o", path, "--as", picture});
    EXPECT_EQ(got.status, 0) << got.err;
    EXPECT_EQ(got.out, "");
    return read_file(path);
  };
  for (const char* picture : {"heatmap", "highlight", "flow", "heads", "steps"}) {
    EXPECT_NE(write("p.svg", picture).find("<svg"), std::string::npos);
    EXPECT_NE(write("p.html", picture).find("<html"), std::string::npos);
  }
  EXPECT_EQ(write("p.npy", "heatmap").substr(1, 5), "NUMPY");
  EXPECT_EQ(json_lines(write("p.json", "heatmap")).size(), 1u);
}

TEST_F(App, RecordsOfATextAreWhatTranslateWrites) {
  const std::string input = folder->file("in.txt", "a b c\n\nd e\n");
  const std::vector<std::string> search = {"--beam", "3", "--nbest", "2", "--max-length", "6"};
  std::vector<std::string> view = {"view", "-m", model(), "-i", input, "-f", "json"},
                           translate = {"translate", "-m", model(), "-i", input, "--json"};
  view.insert(view.end(), search.begin(), search.end());
  translate.insert(translate.end(), search.begin(), search.end());
  const Outcome records = fovea_command(view);
  ASSERT_EQ(records.status, 0) << records.err;
  std::vector<Json> candidates;
  for (const Json& line : json_lines(fovea_command(translate).out)) {
    for (const Json& c : line["candidates"]) candidates.push_back(c);
  }
  const std::vector<Json> got = json_lines(records.out);
  ASSERT_EQ(got.size(), candidates.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i]["target"]["text"], candidates[i]["text"]);
    EXPECT_EQ(got[i]["score"], candidates[i]["score"]);
    for (const Json& attention : got[i]["attentions"]) {
      for (const Json& row : attention["weights"][0][0]) {
        double sum = 0;
        for (const Json& weight : row) sum += weight.get<double>();
        EXPECT_NEAR(sum, 1.0, 1e-5);
      }
    }
  }
  // Drawn again without the model.
  const std::string file = folder->file("records.jsonl", records.out);
  const Outcome again = fovea_command({"view", file, "--line", "3"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_NE(again.out.find("source: d e"), std::string::npos) << again.out;
  EXPECT_EQ(again.out.find("source: a b c"), std::string::npos);
  expect_failure({"view", file, "-f", "svg"}, 1, "a file holds one picture");
  const Outcome links = fovea_command({"view", file, "-f", "pharaoh"});
  EXPECT_EQ(std::count(links.out.begin(), links.out.end(), '\n'), static_cast<ptrdiff_t>(got.size()));
}

TEST_F(App, DiagnosticsAreSorted) {
  const std::string input = folder->file("in.txt", "a b c\nd e\nf g h i j\n");
  const Outcome got = fovea_command({"view", "-m", model(), "-i", input, "--sort-by", "peak", "-f", "json"});
  ASSERT_EQ(got.status, 0) << got.err;
  const std::vector<Json> lines = json_lines(got.out);
  ASSERT_EQ(lines.size(), 3u);
  for (size_t i = 1; i < lines.size(); ++i) EXPECT_LE(lines[i - 1]["peak"], lines[i]["peak"]);
  EXPECT_NE(fovea_command({"view", "-m", model(), "-i", input, "--as", "diagnostics"}).out.find("mean"),
            std::string::npos);
}

TEST_F(App, ViewShowsARun) {
  const Outcome text = fovea_command({"view", model()});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_NE(text.out.find("loss"), std::string::npos) << text.out;
  const Outcome svg = fovea_command({"view", model(), "-f", "svg"});
  EXPECT_NE(svg.out.find("<svg"), std::string::npos);
}

TEST_F(App, ViewRefusesWhatItCannotShow) {
  expect_failure({"view"}, 1, "view: expected a sentence, as in fovea view");
  expect_failure({"view", "-m", model(), "a", "-o", folder->file("p.pdf")}, 1, "p.pdf: expected the ending txt, svg");
  expect_failure({"view", "-m", model(), "a", "--head", "1"}, 1, "head: needs heads one, got heads mean");
  expect_failure({"view", folder->file("nothing")}, 1, "nothing: ");
  expect_failure({"view", folder->file("bad.json", "{}\n")}, 1, "bad.json:1: expected an attention record");
  expect_failure({"view", "-m", model(), "a", "--attention", "encoder-self"}, 1, "it has: cross");
  expect_failure({"view", "-m", model(), "a", "--heads", "one", "--head", "2"}, 1, "head: expected at most 1, got 2");
  expect_failure({"view", "-m", model(), "a", "--as", "heatmup"}, 2, "--as");
  expect_failure({"view", folder->path()}, 1, "metrics.jsonl");
}

TEST_F(App, AlignAndMeasureAlignments) {
  const std::string source = folder->file("s", "a b c\nd e\n"), target = folder->file("t", "c b a\ne d\n"),
                    gold = folder->file("gold", "0-2 1-1 2?0\n0-1 1-0\n");
  const Outcome links = fovea_command({"align", "-m", model(), source, target});
  ASSERT_EQ(links.status, 0) << links.err;
  EXPECT_EQ(std::count(links.out.begin(), links.out.end(), '\n'), 2);
  const std::string forward = folder->file("forward", "0-2 1-1\n0-1\n"), backward = folder->file("back", "0-2\n1-0\n");
  EXPECT_EQ(fovea_command({"align", "--forward", forward, "--backward", backward, "--join", "union"}).out,
            "0-2 1-1\n0-1 1-0\n");
  const Json measured =
      Json::parse(fovea_command({"evaluate", "--alignment", gold, "--hypotheses", forward, "--json"}).out);
  EXPECT_NEAR(measured[0]["aer"].get<double>(), 1 - (3.0 + 3.0) / (3 + 4), 1e-9);
  const Outcome heads = fovea_command(
      {"evaluate", "--alignment", gold, "-m", model(), "-s", source, "-r", target, "--store-best", "--json"});
  ASSERT_EQ(heads.status, 0) << heads.err;
  EXPECT_EQ(Json::parse(heads.out)[0]["layer"], 1);
  EXPECT_EQ(Json::parse(read_file(model() + "/config.json"))["best_head"], 1);
  const Outcome best = fovea_command({"view", "-m", model(), "a b", "--heads", "best"});
  EXPECT_EQ(best.status, 0) << best.err;
  expect_failure({"align", "-m", model(), source, folder->file("one", "a\n")}, 1, "expected as many lines in");
  expect_failure({"align", "--forward", forward, "--backward", folder->file("bad", "0-0\nx\n")}, 1,
                 "bad:2: expected links such as");
  expect_failure({"evaluate", "--alignment", gold}, 1, "--alignment needs");
}

}  // namespace
}  // namespace fovea
