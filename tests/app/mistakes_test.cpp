// What people type by mistake, and what the program says to it.
#include <gtest/gtest.h>

#include <algorithm>

#include "app/app.h"

namespace fovea {
namespace {

TEST_F(App, UnknownOptionsGetTheNearestOne) {
  expect_failure({"translate", "-m", model(), "--beem", "4", "a"}, 2, "unknown option --beem; did you mean --beam?");
  expect_failure({"translate", "--beam-size=4", "a"}, 2, "unknown option --beam-size; did you mean --beam?");
  expect_failure({"translate", "-beam", "4", "a"}, 2, "did you mean --beam?");
  expect_failure({"score", "--modle", model(), "a", "b"}, 2, "unknown option --modle; did you mean --model?");
  expect_failure({"info", "--xyzzy"}, 2, "unknown option --xyzzy; see fovea info --help");
  expect_failure({"info", "en-zh", "zh-en"}, 2, "unexpected argument \"zh-en\"");
}

TEST_F(App, SettingsOfARecipeAreNoOptions) {
  expect_failure({"train", "dates", "--steps", "5"}, 2, "--set training.steps=5");
  expect_failure({"train", "dates", "--lr=0.1"}, 2, "--set training.learning_rate=0.1");
  expect_failure({"train", "dates", "--batch-size", "64"}, 2, "--set batch.sentences=64");
  expect_failure({"train", "dates", "--resum"}, 2, "did you mean --resume?");
}

TEST_F(App, TextIsNoRecipe) {
  expect_failure({"train", "my.en", "my.de"}, 2, "fovea train bahdanau --set data.train=my.en,my.de --set folder=");
  expect_failure({"train", folder->file("my.en", "this is text\nof two lines\n")}, 1, "--set data.train=SOURCE,TARGET");
}

TEST_F(App, SettingsWithoutEffectAreWarnedOf) {
  const Outcome got = fovea_command({"train", recipe(), "--set", "folder=" + folder->file("no-coverage"), "--set",
                                     "training.coverage_loss=1", "--set", "training.steps=1"});
  EXPECT_EQ(got.status, 0) << got.err;
  EXPECT_EQ(got.err,
            "warning: --set training.coverage_loss=1: training.coverage_loss has no effect: it needs "
            "model.attention.coverage = true\n");
  EXPECT_NE(got.out.find("reached 1 step. Trained 1 step in"), std::string::npos) << got.out;
  const Outcome heads = fovea_command({"train", "reverse", "--set", "model.architecture=transformer", "--set",
                                       "model.self_attention.heads=3", "--set", "folder=" + folder->file("heads")});
  EXPECT_EQ(heads.status, 1);
  EXPECT_NE(heads.err.find("model.self_attention.heads: expected a divisor of the depth 64, got 3"), std::string::npos)
      << heads.err;
  EXPECT_NE(heads.err.find("recipes/reverse.toml:20: model.hidden has no effect: it needs model.architecture = "),
            std::string::npos)
      << heads.err;
  EXPECT_TRUE(fovea_command({"translate", "-m", model(), "--length-penalty", "1"}, "a\n")
                  .err.starts_with("warning: --length-penalty has no effect: it needs --beam above 1\n"));
}

TEST_F(App, SearchMistakesNameTheFlags) {
  expect_failure({"translate", "-m", model(), "--nbest", "3", "a"}, 1,
                 "fovea: --nbest: expected at most the beam size of 1, got 3\n");
  const Outcome got = fovea_command({"view", "-m", model(), "--temperature", "2", "a"});
  EXPECT_EQ(got.status, 1);
  EXPECT_EQ(got.err,
            "fovea: --temperature, --top-k and --top-p have an effect with sampling only: set --sample, too\n");
}

TEST_F(App, AModelIsNoText) {
  expect_failure({"translate", model(), "a b"}, 2, "fovea translate -m " + model() + " \"a b\"");
  expect_failure({"translate", model()}, 2, "is a model; name it with --model");
  expect_failure({"translate", "phonemes", "f o v e a"}, 2, "fovea translate -m phonemes \"f o v e a\"");
  expect_failure({"view", model(), "a b"}, 2, "fovea view -m " + model() + " \"a b\"");
  EXPECT_EQ(fovea_command({"view", model()}).status, 0);  // the curves of the run
}

// Before anything is computed or printed.
TEST_F(App, LateMistakesAreFoundFirst) {
  const std::string text = folder->file("late.txt", "a b\n");
  expect_failure({"evaluate", "--hypotheses", text, "--references", text, "--by-length"}, 1,
                 "--by-length needs --source");
  expect_failure({"align", "-m", model(), "--reverse-model", "no-such-model", text, text}, 1,
                 "no-such-model: there is no such model folder");
}

TEST_F(App, AWholeSentenceNeedsQuotes) {
  const Outcome words = fovea_command({"translate", "-m", model(), "a", "b", "c"});
  EXPECT_EQ(words.status, 0);
  EXPECT_EQ(std::count(words.out.begin(), words.out.end(), '\n'), 3);
  EXPECT_NE(words.err.find("put a sentence in quotes: fovea translate \"a b c\""), std::string::npos) << words.err;
  EXPECT_EQ(fovea_command({"translate", "-m", model(), "a b", "c"}).err.find("quotes"), std::string::npos);
}

TEST_F(App, LettersNeedSpaces) {
  const Outcome word = fovea_command({"translate", "-m", "phonemes", "Fovea"});
  EXPECT_EQ(word.status, 0);
  EXPECT_NE(word.err.find("it reads single characters, separated by spaces: \"f o v e a\""), std::string::npos)
      << word.err;
  EXPECT_NE(fovea_command({"view", "-m", "phonemes", "fovea"}).err.find("\"f o v e a\""), std::string::npos);
}

TEST_F(App, BeamsHaveALimit) {
  expect_failure({"translate", "-m", model(), "--beam", "100000", "a"}, 2,
                 "beam: expected an integer of at least 1 and at most 1000, got 100000");
}

TEST_F(App, InfoPrintsWhatMatters) {
  const std::string info = fovea_command({"info", model()}).out;
  for (const char* key : {"model.hidden", "model.cell", "model.attention.score"}) {
    EXPECT_NE(info.find(key), std::string::npos) << key;
  }
  for (const char* key : {"model.feed_forward", "model.self_attention", "model.positions", "model.attention.window"}) {
    EXPECT_EQ(info.find(key), std::string::npos) << key;
  }
  EXPECT_NE(fovea_command({"info", "en-zh"}).out.find("model.self_attention.heads"), std::string::npos);
  EXPECT_NE(fovea_command({"info", "en-zh"}).out.find("cross attention: scaled-dot, global, soft, 4 heads, 4 layers\n"),
            std::string::npos);
}

}  // namespace
}  // namespace fovea
