// fovea train, classify, evaluate, view, info and pack for classifiers, as a user meets them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "app/command.h"
#include "base/files.h"
#include "temporary_folder.h"

namespace fovea {
namespace {

using Json = nlohmann::json;

class ClassifyApp : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new TemporaryFolder;
    std::string text;
    for (int i = 0; i < 60; ++i) {
      const std::string noise = i % 3 == 0 ? "the " : i % 3 == 1 ? "a " : "";
      text += "good\t" + noise + "fine film\nbad\t" + noise + "dull film\n";
    }
    const std::string recipe = folder->file(
        "r.toml",
        "task = \"classify\"\nfolder = \"" + folder->file("run") + "\"\nthreads = 1\n[data]\ntrain = \"" +
            folder->file("train.tsv", text) +
            "\"\n[source_vocabulary]\nkind = \"word\"\n[model]\nembedding = 8\nhidden = 8\n[classify]\npooling "
            "= \"structured\"\nhops = 2\n[batch]\nsentences = 12\n[training]\nlearning_rate = 0.02\nsteps = "
            "60\n[validation]\nmetric = \"accuracy\"\nevery = 20\n");
    trained = fovea_command({"train", recipe});
  }
  static void TearDownTestSuite() { delete folder; }
  static std::string run() { return folder->file("run"); }
  static inline TemporaryFolder* folder = nullptr;
  static inline Outcome trained;
};

TEST_F(ClassifyApp, TrainingReportsAccuracyAndSaysHowToGoOn) {
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_EQ(trained.err, "");
  EXPECT_NE(trained.out.find("accuracy 100.00  macro-f1 100.00"), std::string::npos) << trained.out;
  EXPECT_EQ(trained.out.find("perplexity"), std::string::npos) << trained.out;
  EXPECT_NE(trained.out.find("try it: fovea classify --model " + run()), std::string::npos) << trained.out;
  EXPECT_NE(read_file(run() + "/metrics.jsonl").find("\"macro-f1\":100.0"), std::string::npos);
}

TEST_F(ClassifyApp, EveryLineHasALineOfOutput) {
  const Outcome texts = fovea_command({"classify", "-m", run(), "a fine film", "dull"});
  ASSERT_EQ(texts.status, 0) << texts.err;
  EXPECT_EQ(texts.out.substr(0, 5), "good\t");
  EXPECT_NE(texts.out.find("\nbad\t"), std::string::npos);
  const Outcome piped =
      fovea_command({"classify", "-m", run(), "--json"}, "fine\n\n" + std::string(100'000, 'x') + "\nno newline");
  ASSERT_EQ(piped.status, 0) << piped.err;
  size_t at = 0, lines = 0;
  for (size_t end; (end = piped.out.find('\n', at)) != std::string::npos; at = end + 1, ++lines) {
    const Json line = Json::parse(piped.out.substr(at, end - at));
    ASSERT_EQ(line["classes"].size(), 2u);
    EXPECT_NEAR(line["classes"][0]["probability"].get<double>() + line["classes"][1]["probability"].get<double>(), 1,
                1e-5);
    EXPECT_EQ(line["label"], line["classes"][0]["label"]);
  }
  EXPECT_EQ(lines, 4u);
  const std::string words = [] {
    std::string all;
    for (int i = 0; i < 300; ++i) all += "fine ";
    return all;
  }();
  const Outcome truncated = fovea_command({"classify", "-m", run()}, "fine\n" + words + "\n");
  EXPECT_NE(truncated.err.find("standard input:2: warning: truncated to 250 of 300 tokens"), std::string::npos)
      << truncated.err;
  EXPECT_EQ(fovea_command({"classify", "-m", run(), "-i", folder->file("empty", "")}).out, "");
  EXPECT_NE(fovea_command({"classify", "-m", folder->file("none"), "x"}).status, 0);
}

TEST_F(ClassifyApp, EachLineHasTheShippedModelOfItsLanguage) {
  const Outcome got =
      fovea_command({"classify", "--threads", "1"},
                    "a warm and funny film\n质量太差了，用了两天就坏。\n\n很好，下次还会来\na dull film\n");
  ASSERT_EQ(got.status, 0) << got.err;
  EXPECT_EQ(got.err, "");
  const Outcome english = fovea_command({"classify", "-m", "sentiment-en", "a warm and funny film", "a dull film"});
  const Outcome chinese =
      fovea_command({"classify", "-m", "sentiment-zh", "质量太差了，用了两天就坏。", "", "很好，下次还会来"});
  const size_t first = english.out.find('\n') + 1;
  EXPECT_EQ(got.out, english.out.substr(0, first) + chinese.out + english.out.substr(first));
  const Outcome russian = fovea_command({"classify", "Не плохо"});
  EXPECT_EQ(russian.status, 0);
  EXPECT_NE(russian.err.find("warning: the shipped model sentiment-en reads English; --model names another"),
            std::string::npos)
      << russian.err;
}

TEST_F(ClassifyApp, EvaluatePrintsTablesAndJson) {
  const std::string test = folder->file("test.tsv", "good\tfine\nbad\tdull\nbad\tfine\nugly\tdull\n");
  const Outcome text = fovea_command({"evaluate", "-m", run(), "-s", test});
  ASSERT_EQ(text.status, 0) << text.err;
  EXPECT_NE(text.out.find("4 texts, accuracy 50.00"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("confusion matrix"), std::string::npos);
  EXPECT_NE(text.err.find("test.tsv:4: warning: the model does not know the label ugly"), std::string::npos)
      << text.err;
  const std::string output = folder->file("labels.txt");
  const Json json = Json::parse(fovea_command({"evaluate", "-m", run(), "-s", test, "--json", "-o", output}).out);
  EXPECT_EQ(json["texts"], 4);
  EXPECT_NEAR(json["accuracy"].get<double>(), 50, 1e-9);
  EXPECT_EQ(json["confusion"], (Json{{1, 1}, {0, 1}}));
  EXPECT_EQ(json["unseen_labels"], 1);
  EXPECT_EQ(read_file(output).substr(0, 5), "good\t");
  EXPECT_NE(fovea_command({"evaluate", "-m", run()}).err.find("--source"), std::string::npos);
}

TEST_F(ClassifyApp, ViewShowsTheHops) {
  const Outcome text = fovea_command({"view", "-m", run(), "the fine film"});
  ASSERT_EQ(text.status, 0) << text.err;
  EXPECT_NE(text.out.find("text: the fine film\ngood "), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("hop 2"), std::string::npos) << text.out;
  for (const char* name : {"x.svg", "x.html", "x.json"}) {
    const std::string path = folder->file(name);
    ASSERT_EQ(fovea_command({"view", "-m", run(), "the fine film", "-o", path}).status, 0) << name;
    EXPECT_NE(read_file(path).find("hop 1"), std::string::npos) << name;
  }
  const Json record = Json::parse(read_file(folder->file("x.json")));
  EXPECT_EQ(record["task"], "classify");
  EXPECT_EQ(record["classes"][0]["label"], "good");
  EXPECT_EQ(record["attentions"][0]["kind"], "pooling");
  const Outcome again = fovea_command({"view", folder->file("x.json")});
  EXPECT_EQ(again.out, text.out) << again.err;
}

TEST_F(ClassifyApp, InfoAndPackKnowClassifiers) {
  const Outcome info = fovea_command({"info", run()});
  EXPECT_EQ(info.status, 0) << info.err;
  EXPECT_NE(info.out.find("2 classes: bad, good\n"), std::string::npos) << info.out;
  EXPECT_NE(info.out.find("classifier.hops = 2"), std::string::npos) << info.out;
  const std::string packed = folder->file("packed");
  ASSERT_EQ(fovea_command({"pack", run(), packed}).status, 0);
  EXPECT_EQ(fovea_command({"classify", "-m", packed, "a fine film"}).out.substr(0, 5), "good\t");
  const Outcome translate = fovea_command({"translate", "-m", run(), "a fine film"});
  EXPECT_EQ(translate.status, 1);
  EXPECT_NE(translate.err.find("got one of the task classify"), std::string::npos) << translate.err;
}

// Pictures of shapes, and a model that has hardly learned anything: the commands are what is tested.
class ClassifyPictures : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new TemporaryFolder;
    made = fovea_command({"data", "shapes", "--count", "24", "--seed", "5", "--out", pictures()});
    const std::string recipe =
        folder->file("r.toml", "task = \"classify-images\"\nfolder = \"" + run() +
                                   "\"\nthreads = 1\n[data]\ntrain = \"" + pictures() +
                                   "\"\n[vision]\nnetwork = \"resnet-small\"\nsize = 32\nfrozen = false\nnonlocal = "
                                   "\"gaussian\"\n[vision.augment]\ncrop = 0.7\nflip = true\n[batch]\nsentences = "
                                   "8\n[training]\nsteps = 3\n[validation]\nmetric = \"accuracy\"\n");
    trained = fovea_command({"train", recipe});
  }
  static void TearDownTestSuite() { delete folder; }
  static std::string run() { return folder->file("run"); }
  static std::string pictures() { return folder->file("pictures"); }
  static std::string picture(const std::string& name) { return pictures() + "/" + name; }
  static inline TemporaryFolder* folder = nullptr;
  static inline Outcome made, trained;
};

TEST_F(ClassifyPictures, AreMadeInAFolderForEachLabel) {
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(read_file(picture("same/000001.png")).substr(1, 3), "PNG");
  EXPECT_EQ(read_file(picture("different/000024.png")).substr(1, 3), "PNG");
  EXPECT_NE(fovea_command({"data"}).out.find("shapes "), std::string::npos);
  EXPECT_NE(fovea_command({"data", "shapes"}).err.find("expected --out"), std::string::npos);
  EXPECT_NE(fovea_command({"data", "shapes", "--out", pictures()}).err.find("expected a new folder"),
            std::string::npos);
  EXPECT_NE(fovea_command({"data", "dates", "--out", "x"}).err.find("--out: expected the task shapes"),
            std::string::npos);
}

TEST_F(ClassifyPictures, HaveALabelAndAProbability) {
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_NE(trained.out.find("try it: fovea classify --model " + run()), std::string::npos) << trained.out;
  const std::string one = picture("same/000001.png"), other = picture("different/000002.png");
  const Outcome alone = fovea_command({"classify", "-m", run(), one});
  ASSERT_EQ(alone.status, 0) << alone.err;
  EXPECT_EQ(alone.out.find('\t'), alone.out.rfind('\t')) << alone.out;
  const Outcome both = fovea_command({"classify", "-m", run(), one, folder->file("no.png", "no picture"), other});
  EXPECT_EQ(both.status, 1);
  EXPECT_NE(both.err.find("no.png"), std::string::npos) << both.err;
  EXPECT_EQ(both.out.find(one + "\t" + alone.out), 0u) << both.out;
  EXPECT_NE(both.out.find("\n" + other + "\t"), std::string::npos) << both.out;
  const Outcome lines = fovea_command({"classify", "-m", run(), "--json"}, one + "\n");
  const Json json = Json::parse(lines.out);
  EXPECT_EQ(json["image"], one);
  EXPECT_EQ(json["classes"].size(), 2u);
}

TEST_F(ClassifyPictures, AreEvaluatedFromAFolderOrAFile) {
  const Outcome folders = fovea_command({"evaluate", "-m", run(), "-s", pictures()});
  EXPECT_NE(folders.out.find("24 pictures, accuracy "), std::string::npos) << folders.out << folders.err;
  const std::string list = folder->file("t.tsv", "same\tsame/000001.png\nalike\tsame/000003.png\n");
  const Outcome files = fovea_command({"evaluate", "-m", run(), "-s", list, "--images", pictures(), "--json"});
  EXPECT_EQ(Json::parse(files.out)["pictures"], 2) << files.err;
  EXPECT_NE(files.err.find("t.tsv:2: warning: the model does not know the label alike"), std::string::npos);
  EXPECT_NE(fovea_command({"evaluate", "-m", run(), "-s", list}).err.find("t.tsv:1: same/000001.png: expected a pict"),
            std::string::npos);
}

TEST_F(ClassifyPictures, AreShownWithPoolingAndTheNonLocalBlock) {
  const std::string one = picture("same/000001.png");
  const Outcome pooling = fovea_command({"view", "-m", run(), one});
  ASSERT_EQ(pooling.status, 0) << pooling.err;
  EXPECT_NE(pooling.out.find("picture: 000001.png (80 x 80)\n"), std::string::npos) << pooling.out;
  EXPECT_NE(pooling.out.find("pooling attention"), std::string::npos) << pooling.out;
  const std::string svg = folder->file("x.svg"), json = folder->file("x.json");
  ASSERT_EQ(fovea_command({"view", "-m", run(), one, "--attention", "encoder-self", "--cell", "2,3", "-o", svg}).status,
            0);
  EXPECT_NE(read_file(svg).find("cell 2,3"), std::string::npos);
  for (const char* wrong : {"5,1", "0,1", "1", "1,2,3", "a,b", "1,99999999999999999999"}) {
    const Outcome refused =
        fovea_command({"view", "-m", run(), one, "--attention", "encoder-self", "--cell", wrong, "-o", svg});
    EXPECT_NE(refused.err.find("cell: expected a row from 1 to 4, a comma and a column from 1 to 4"), std::string::npos)
        << refused.err;
  }
  EXPECT_NE(fovea_command({"view", "-m", run(), one, "--cell", "1,1"}).err.find("cell: expected attention between"),
            std::string::npos);
  ASSERT_EQ(fovea_command({"view", "-m", run(), one, "-o", json}).status, 0);
  EXPECT_EQ(Json::parse(read_file(json))["attentions"].size(), 2u);
  EXPECT_EQ(fovea_command({"view", json}).out, pooling.out);
  EXPECT_NE(fovea_command({"info", run()}).out.find("feature map: 4 x 4 positions of 64 features"), std::string::npos);
  const std::string packed = folder->file("packed");
  ASSERT_EQ(fovea_command({"pack", run(), packed}).status, 0);
  EXPECT_EQ(fovea_command({"classify", "-m", packed, one}).status, 0);
}

}  // namespace
}  // namespace fovea
