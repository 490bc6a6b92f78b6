// fovea view, align and evaluate --alignment as a user meets them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/app.h"
#include "base/files.h"
#include "vision/image.h"

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
  EXPECT_EQ(write("p.NPY", "heatmap").substr(1, 5), "NUMPY");
  EXPECT_EQ(write("p.npz", "heatmap").substr(0, 2), "PK");
  EXPECT_NE(write("p.safetensors", "heatmap").find("1/cross"), std::string::npos);
  EXPECT_NE(write("p.Svg", "heatmap").find("<svg"), std::string::npos);
  EXPECT_EQ(json_lines(write("p.json", "heatmap")).size(), 1u);
}

TEST_F(App, APictureIsDescribedByTheShippedCaptioner) {
  const Image white{64, 48, std::vector<uint8_t>(size_t{64} * 48 * 3, 255)};
  const std::string picture = folder->file("white.png", encode_png(white));
  const Outcome got = fovea_command({"view", picture, "-o", folder->file("strip.svg")});
  EXPECT_EQ(got.status, 0) << got.err;
  EXPECT_NE(read_file(folder->file("strip.svg")).find("<image"), std::string::npos);
  expect_failure({"view", folder->file("cut.png", encode_png(white).substr(0, 40))}, 1, "cut.png");
}

TEST_F(App, APictureIsNeverReplacedByWhatIsSaidAboutIt) {
  const std::string bytes = encode_png({64, 48, std::vector<uint8_t>(size_t{64} * 48 * 3, 255)});
  const std::string picture = folder->file("kept.png", bytes);
  const std::string says = "--output: expected another file than " + picture + ", which is read here and would be lost";
  expect_failure({"view", picture, "-o", picture}, 1, says);
  expect_failure({"caption", picture, "-o", folder->path() + "/./kept.png"}, 1, says);
  expect_failure({"caption", "-i", folder->file("list.txt", picture + "\n"), "-o", picture}, 1, says);
  EXPECT_EQ(read_file(picture), bytes);
}

TEST_F(App, CaptionsAreSearchedAsTheirFlagsSay) {
  const std::string picture =
      folder->file("blank.png", encode_png({64, 48, std::vector<uint8_t>(size_t{64} * 48 * 3, 255)}));
  const auto candidates = [&](std::vector<std::string> flags) {
    std::vector<std::string> command = {"caption", picture, "--json"};
    command.insert(command.end(), flags.begin(), flags.end());
    const Outcome got = fovea_command(command);
    EXPECT_EQ(got.status, 0) << got.err;
    return got.status == 0 ? json_lines(got.out).at(0)["candidates"] : Json();
  };
  EXPECT_EQ(candidates({"--nbest", "3"}).size(), 3u);              // of the default beam
  EXPECT_EQ(candidates({"--sample", "--nbest", "5"}).size(), 5u);  // --sample alone needs no --beam 1
  EXPECT_EQ(candidates({"--beam", "1"})[0], candidates({"--beam", "1", "--length-penalty", "0.6"})[0]);
  expect_failure({"caption", picture, "--sample", "--beam", "3"}, 1,
                 "--sample: sampling needs a beam size of 1, got 3");
  const std::string references = folder->file("references.tsv", "absent.png\tA dog.\n");
  const std::vector<std::string> evaluate = {"evaluate", "-m", "caption-en", "-r", references};
  expect_failure(evaluate, 1, "absent.png: expected a picture, found no such file; --images names the folder");
  for (const char* flag : {"--tune", "--store"}) {
    std::vector<std::string> command = evaluate;
    command.emplace_back(flag);
    expect_failure(command, 1,
                   "--tune and --store: expected a model that turns text into text, got one of the task cap");
  }
}

TEST_F(App, ARecordOfAPictureIsDrawnInEveryFormat) {
  const std::string record = FOVEA_CAPTION_RECORD;
  const Outcome strip = fovea_command({"view", record});
  EXPECT_EQ(strip.status, 0) << strip.err;
  EXPECT_NE(strip.out.find("picture: scene.jpg (48 x 32)\ncaption: a red house\n"), std::string::npos) << strip.out;
  EXPECT_NE(strip.out.find("no place 55%"), std::string::npos) << strip.out;
  for (const char* picture : {"overlay", "strip", "heads"}) {
    for (const char* ending : {"svg", "html", "txt"}) {
      const std::string path = folder->file(std::string("p.") + ending);
      const Outcome got = fovea_command({"view", record, "--as", picture, "-o", path});
      EXPECT_EQ(got.status, 0) << got.err;
      EXPECT_GT(read_file(path).size(), 300u);
    }
  }
  const auto refused = [&](const std::vector<std::string>& flags, const char* says) {
    std::vector<std::string> command = {"view", record};
    command.insert(command.end(), flags.begin(), flags.end());
    const Outcome got = fovea_command(command);
    EXPECT_NE(got.status, 0);
    EXPECT_NE(got.err.find(says), std::string::npos) << got.err;
  };
  refused({"--as", "heatmap"}, "view heatmap: expected overlay, strip or heads, because the source of line 1 is a");
  refused({"-f", "pharaoh"}, "format pharaoh: expected a source text to align, got the picture scene.jpg");
  const Outcome text = fovea_command({"view", "-m", model(), "a b c", "--as", "strip"});
  EXPECT_NE(text.err.find("view strip: expected attention over a picture, got cross of a text"), std::string::npos)
      << text.err;
  const Outcome json = fovea_command({"view", record, "-f", "json"});
  EXPECT_EQ(json_lines(json.out).at(0)["image"]["name"], "scene.jpg");
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

// A Transformer of two layers and two heads, trained once.
std::string transformer(const TemporaryFolder& folder) {
  const std::string path = folder.file("transformer");
  if (std::filesystem::exists(path)) return path;
  std::vector<std::string> train = {"train", folder.file("recipe.toml", kRecipe)};
  for (const std::string setting :
       {"model.architecture=transformer", "model.encoder_layers=2", "model.decoder_layers=2", "model.attention.heads=2",
        "model.attention.score=scaled-dot", "model.self_attention.heads=2", "model.feed_forward=16"}) {
    train.insert(train.end(), {"--set", setting});
  }
  train.insert(train.end(), {"--set", "folder=" + path});
  const Outcome trained = fovea_command(train);
  EXPECT_EQ(trained.status, 0) << trained.err;
  return path;
}

TEST_F(App, DataHoldsWhatWasSelected) {
  const std::vector<std::string> view = {"view", "-m", transformer(*folder), "a b", "--target", "b a", "-f", "json"};
  const auto record = [&](std::vector<std::string> more) {
    more.insert(more.begin(), view.begin(), view.end());
    const Outcome got = fovea_command(more);
    EXPECT_EQ(got.status, 0) << got.err;
    return Json::parse(got.out)["attentions"];
  };
  const Json all = record({});
  ASSERT_EQ(all.size(), 3u);
  const auto cross = std::find_if(all.begin(), all.end(), [](const Json& a) { return a["kind"] == "cross"; });
  EXPECT_FALSE(cross->contains("scores"));

  const Json one = record({"--attention", "cross", "--layer", "2", "--head", "1"});
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0]["weights"], Json::array({Json::array({(*cross)["weights"][1][0]})}));
  EXPECT_EQ(one[0]["reduction"], "cross attention, layer 2, head 1");

  const Json layer = record({"--layer", "1"});
  ASSERT_EQ(layer.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(layer[i]["weights"], Json::array({all[i]["weights"][0]}));

  const Json mean = record({"--attention", "cross", "--heads", "mean"});
  EXPECT_EQ(mean[0]["reduction"], "cross attention, mean of 2 heads of 2 layers");
  double sum = 0;
  for (const Json& layer_weights : (*cross)["weights"]) {
    for (const Json& head : layer_weights) sum += head[0][0].get<double>();
  }
  EXPECT_NEAR(mean[0]["weights"][0][0][0][0].get<double>(), sum / 4, 1e-6);
  // What was selected is drawn under its name.
  const std::string file = folder->file("one.json", fovea_command({"view", "-m", transformer(*folder), "a b", "-f",
                                                                   "json", "--attention", "cross", "--layer", "2"})
                                                        .out);
  EXPECT_NE(fovea_command({"view", file}).out.find("cross attention, layer 2, mean of 2 heads"), std::string::npos);
  expect_failure({"view", "-m", transformer(*folder), "a", "-f", "json", "--layer", "3"}, 1,
                 "layer: expected at most 2");
  expect_failure({"view", "-m", transformer(*folder), "a", "-f", "json", "--words"}, 1,
                 "words: data has the weights between");
  expect_failure({"view", "-m", model(), "a", "-f", "json", "--attention", "encoder-self"}, 1, "it has: cross");
}

TEST_F(App, ScoresAreWhatTheSoftmaxTook) {
  for (const char* how : {"--target", "--beam"}) {
    const Outcome got = fovea_command(
        {"view", "-m", transformer(*folder), "a b c", how, how[2] == 't' ? "c b a" : "2", "-f", "json", "--scores"});
    ASSERT_EQ(got.status, 0) << got.err;
    for (const Json& a : Json::parse(got.out)["attentions"]) {
      for (size_t l = 0; l < a["weights"].size(); ++l) {
        for (size_t h = 0; h < a["weights"][l].size(); ++h) {
          for (size_t r = 0; r < a["weights"][l][h].size(); ++r) {
            const Json &weights = a["weights"][l][h][r], &scores = a["scores"][l][h][r];
            double total = 0;
            for (const Json& score : scores) total += score.is_null() ? 0 : std::exp(score.get<double>());
            for (size_t c = 0; c < weights.size(); ++c) {
              ASSERT_EQ(weights[c].is_null(), scores[c].is_null());
              if (weights[c].is_null()) continue;
              EXPECT_NEAR(weights[c].get<double>(), std::exp(scores[c].get<double>()) / total, 1e-5);
            }
          }
        }
      }
    }
  }
  expect_failure({"view", "-m", model(), "a", "--scores"}, 1, "--scores: expected --format json");
  expect_failure({"view", "-m", model(), "a", "-f", "json", "--scores", "--heads", "mean"}, 1, "--head select scores");
  const std::string file =
      folder->file("no-scores.json", fovea_command({"view", "-m", model(), "a", "-f", "json"}).out);
  expect_failure({"view", file, "-f", "json", "--scores"}, 1, "scores: the record of line 1 has none");
}

// numpy.load is a zip file of arrays: checked with Python's own zip reader.
TEST_F(App, ATextAsOneNpzFile) {
  const std::string input = folder->file("in.txt", "a b c\n\nd e\n"), path = folder->file("text.npz");
  const Outcome got = fovea_command({"view", "-m", model(), "-i", input, "--scores", "-o", path});
  ASSERT_EQ(got.status, 0) << got.err;
  const std::string program = R"(
import sys, zipfile, struct
archive = zipfile.ZipFile(sys.argv[1])
assert archive.testzip() is None
assert {'1/cross.npy', '1/cross.scores.npy', '1/source.npy', '1/target.npy', '3/cross.npy'} <= set(archive.namelist())
assert '2/source.npy' not in archive.namelist()
def array(name):
    data = archive.read(name)
    assert data[:8] == b'\x93NUMPY\x01\x00'
    end = 10 + struct.unpack('<H', data[8:10])[0]
    return eval(data[10:end]), data[end:]
header, data = array('1/cross.npy')
assert header['descr'] == '<f4' and header['shape'][:2] == (1, 1) and header['shape'][3] == 4, header
rows, columns = header['shape'][2:]
assert len(data) == 4 * rows * columns
for row in range(rows):
    assert abs(sum(struct.unpack_from('<%df' % columns, data, 4 * columns * row)) - 1) < 1e-5
header, data = array('1/source.npy')
assert header['shape'] == (4,) and header['descr'] == '<U4', header
assert [data[16 * i:16 * i + 16].decode('utf-32-le').rstrip('\0') for i in range(4)] == ['a', 'b', 'c', '</s>']
)";
  const std::string command =
      std::string(FOVEA_PYTHON) + " '" + folder->file("check.py", program) + "' '" + path + "' 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  std::string said;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) said += static_cast<char>(c);
  EXPECT_EQ(pclose(pipe), 0) << said;
}

// A record of a Chinese sentence, with a token for every character.
std::string chinese_record() {
  return R"({"fovea_record": 1, "line": 1, "rank": 1, "architecture": "transformer", "search": "greedy",
    "source": {"text": "I love", "tokens": [{"text": "I", "begin": 0, "end": 1, "starts_word": true},
      {"text": "love", "begin": 2, "end": 6, "starts_word": true}]},
    "target": {"text": "我爱", "tokens": [{"text": "我", "begin": 0, "end": 1, "starts_word": true},
      {"text": "爱", "begin": 1, "end": 2, "starts_word": true}]},
    "steps": [{"log_probability": -1, "alternatives": []}, {"log_probability": -1, "alternatives": []}],
    "score": -1, "log_probability": -2, "ended": true, "cut": false,
    "attentions": [{"kind": "cross", "mechanism": "dot", "scope": "global", "selection": "soft",
      "weights": [[[[0.9, 0.1], [0.2, 0.8]]]]}]})";
}

std::string on_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text + "\n";
}

TEST_F(App, PharaohCountsTheWordsOfAScriptWithoutSpaces) {
  const std::string file = folder->file("chinese.jsonl", on_one_line(chinese_record()));
  EXPECT_EQ(fovea_command({"view", file, "-f", "pharaoh"}).out, "0-0 1-1\n");
  EXPECT_EQ(fovea_command({"view", file, "-f", "pharaoh", "--count", "spaces"}).out, "0-0\n");
}

class Fontless : public App {
 protected:
  Fontless() {
    const std::string fonts = folder->file("fonts"), cache = folder->file("font-cache");
    std::filesystem::create_directories(fonts);
    setenv(
        "FONTCONFIG_FILE",
        folder
            ->file("fonts.conf", "<fontconfig><dir>" + fonts + "</dir><cachedir>" + cache + "</cachedir></fontconfig>")
            .c_str(),
        1);
  }
  ~Fontless() override { unsetenv("FONTCONFIG_FILE"); }
};

TEST_F(Fontless, ScriptsWithoutAFontAreNamed) {
  const std::string file = folder->file("chinese.jsonl", on_one_line(chinese_record()));
  for (const char* name : {"p.png", "p.pdf"}) {
    const Outcome got = fovea_command({"view", file, "-o", folder->file(name)});
    if (got.err.find("librsvg2-dev") != std::string::npos) GTEST_SKIP() << "built without librsvg";
    EXPECT_EQ(got.status, 0) << got.err;
    EXPECT_NE(got.err.find("no installed font covers the Chinese characters 我爱"), std::string::npos) << got.err;
    EXPECT_NE(got.err.find("fonts-wqy-microhei"), std::string::npos) << got.err;
    EXPECT_NE(got.err.find("no installed font covers the Latin characters"), std::string::npos) << got.err;
    EXPECT_GT(read_file(folder->file(name)).size(), 100u);
  }
  // An SVG is drawn with the fonts of whoever looks at it.
  EXPECT_EQ(fovea_command({"view", file, "-o", folder->file("p.svg")}).err, "");
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
  expect_failure({"view", "-m", model(), "a", "-o", folder->file("p.gif")}, 1, "p.gif: expected the ending txt, svg");
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
  EXPECT_EQ(Json::parse(read_file(model() + "/config.json"))["best_heads"], "one");
  const Outcome best = fovea_command({"view", "-m", model(), "a b", "--heads", "best"});
  EXPECT_EQ(best.status, 0) << best.err;
  expect_failure({"align", "-m", model(), source, folder->file("one", "a\n")}, 1, "expected as many lines in");
  expect_failure({"align", "--forward", forward, "--backward", folder->file("bad", "0-0\nx\n")}, 1,
                 "bad:2: expected links such as");
  expect_failure({"evaluate", "--alignment", gold}, 1, "--alignment needs");
}

// The best of all heads and their combinations, and the same one for view and align.
TEST_F(App, TheBestMayBeACombinationOfHeads) {
  const std::string source = folder->file("s", "a b c\nd e\nf g h i\n"),
                    target = folder->file("t", "c b a\ne d\ni h g f\n");
  // What the largest weights of all heads say is gold, so that nothing can align better than they do.
  const Outcome links = fovea_command({"align", "-m", transformer(*folder), source, target, "--heads", "max"});
  ASSERT_EQ(links.status, 0) << links.err;
  const std::string gold = folder->file("gold", links.out);
  const Outcome measured = fovea_command({"evaluate", "--alignment", gold, "-m", transformer(*folder), "-s", source,
                                          "-r", target, "--store-best", "--json"});
  ASSERT_EQ(measured.status, 0) << measured.err;
  std::vector<std::string> names;
  std::string best;
  for (const Json& row : Json::parse(measured.out)) {
    names.push_back(row["name"]);
    if (row["best"] == true) best = row["name"];
    if (row["name"] == "max of all") {
      EXPECT_EQ(row["aer"], 0.0);
    }
  }
  // Each once by the step that predicts a token and once by the step that reads it.
  ASSERT_EQ(names.size(), 22);
  EXPECT_EQ(names[11], "layer 1 head 1, input step");
  names.resize(11);
  EXPECT_EQ(names, (std::vector<std::string>{"layer 1 head 1", "layer 1 head 2", "layer 1 mean", "layer 1 max",
                                             "layer 2 head 1", "layer 2 head 2", "layer 2 mean", "layer 2 max",
                                             "mean of all", "max of all", "rollout"}));
  EXPECT_NE(best, "");
  const Outcome again = fovea_command({"align", "-m", transformer(*folder), source, target, "--heads", "best"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(again.out, links.out);
  const Outcome view = fovea_command({"view", "-m", transformer(*folder), "a b", "--heads", "best"});
  EXPECT_NE(view.out.find("(the best by measured AER)"), std::string::npos) << view.out;
}

}  // namespace
}  // namespace fovea
