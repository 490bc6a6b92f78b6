// The program as a user meets it: what it prints, where, and what it exits with.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "app/app.h"
#include "base/files.h"

namespace fovea {
namespace {

using Json = nlohmann::json;

TEST_F(App, HelpHelps) {
  const Outcome help = fovea_command({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* command : {"train", "translate", "summarise", "chat", "evaluate", "score", "view", "align", "serve",
                              "data", "mechanisms", "info", "pack", "shortlist"}) {
    EXPECT_NE(help.out.find(command), std::string::npos) << command;
    EXPECT_EQ(fovea_command({command, "--help"}).status, 0) << command;
  }
  EXPECT_EQ(fovea_command({}).status, 2);
  expect_failure({"trian"}, 2, "there is no command trian; did you mean train?");
  EXPECT_EQ(fovea_command({"score"}).status, 2);
  EXPECT_EQ(fovea_command({"train"}).status, 2);
  EXPECT_NE(fovea_command({"train", "--print-defaults"}).out.find("[model.attention]"), std::string::npos);
}

TEST_F(App, VersionNamesTheInstructionSet) {
  const std::regex expected("fovea [0-9.]+\nCPU: [a-z0-9]+( \\([^)]+\\))?, used: [a-z0-9]+( \\(FOVEA_ISA\\))?\n");
  const Outcome version = fovea_command({"--version"});
  EXPECT_TRUE(std::regex_match(version.out, expected)) << version.out;
  const std::string before = std::getenv("FOVEA_ISA") != nullptr ? std::getenv("FOVEA_ISA") : "";
  setenv("FOVEA_ISA", "baseline", 1);
  const Outcome capped = fovea_command({"--version"});
  EXPECT_TRUE(std::regex_match(capped.out, expected)) << capped.out;
  EXPECT_NE(capped.out.find("used: baseline"), std::string::npos) << capped.out;
  setenv("FOVEA_ISA", "sse9", 1);
  expect_failure({"mechanisms"}, 1, "FOVEA_ISA: expected baseline, avx2, avx512 or amx, got sse9");
  before.empty() ? unsetenv("FOVEA_ISA") : setenv("FOVEA_ISA", before.c_str(), 1);
}

TEST_F(App, MechanismsAreAllListed) {
  const Json listed = Json::parse(fovea_command({"mechanisms", "--json"}).out);
  EXPECT_GE(listed["scores"].size(), 7u);
  for (const char* axis : {"scores", "scopes", "selections", "relative_positions"}) {
    for (const Json& entry : listed[axis]) {
      for (const char* key : {"name", "equation", "help"}) {
        EXPECT_TRUE(!entry[key].get<std::string>().empty() || entry["name"] == "none") << entry;
      }
    }
  }
  const std::string text = fovea_command({"mechanisms"}).out;
  for (const Json& entry : listed["scores"]) {
    EXPECT_NE(text.find(entry["equation"].get<std::string>()), std::string::npos);
  }
  for (const char* list : {"models", "encoders", "tasks"}) {
    EXPECT_FALSE(listed[list].empty()) << list;
    for (const Json& entry : listed[list]) {
      EXPECT_FALSE(entry["name"].get<std::string>().empty());
      EXPECT_NE(text.find(entry["help"].get<std::string>()), std::string::npos) << entry;
    }
  }
}

TEST_F(App, ShippedModelsAreFoundAndTranslate) {
  const Outcome chinese = fovea_command({"translate", "I love you.", "Where is the station?"});
  EXPECT_EQ(chinese.status, 0) << chinese.err;
  EXPECT_EQ(std::count(chinese.out.begin(), chinese.out.end(), '\n'), 2);
  EXPECT_NE(chinese.out.find("爱"), std::string::npos) << chinese.out;
  EXPECT_NE(chinese.out.find("车站"), std::string::npos) << chinese.out;
  EXPECT_EQ(fovea_command({"translate"}, "I love you.\nWhere is the station?\n").out, chinese.out);
  EXPECT_EQ(fovea_command({"translate", "-m", "en-zh", "I love you.", "Where is the station?"}).out, chinese.out);
  const Outcome english = fovea_command({"translate", "我爱你。"});
  EXPECT_NE(english.out.find("love"), std::string::npos) << english.out << english.err;
  EXPECT_EQ(fovea_command({"translate", "-m", "phonemes", "h e l l o"}).out.substr(0, 2), "HH");
  const Outcome view = fovea_command({"view", "I like apples."});
  EXPECT_EQ(view.status, 0) << view.err;
  EXPECT_NE(view.out.find("苹果"), std::string::npos) << view.out;
  std::string many = "word";
  for (int i = 0; i < 3000; ++i) many += " word";
  EXPECT_EQ(fovea_command({"view", many, "-o", folder->file("long.svg"), "--max-length", "20"}).status, 0);
  expect_failure({"translate", "-m", "en-tlh", "I love you."}, 1,
                 "en-tlh: there is no such model folder; did you mean en-zh? Models by name: ");
}

TEST_F(App, DevicesAreNamed) {
  const Outcome here = fovea_command({"translate", "-m", model(), "--device", "cpu"}, "a b c\n");
  EXPECT_EQ(here.status, 0) << here.err;
  expect_failure({"translate", "-m", model(), "--device", "tpu"}, 1, "device: expected auto, cpu, cuda or cuda:N",
                 "a\n");
  expect_failure({"train", recipe(), "--set", "folder=" + folder->file("other"), "--set", "device=cuda:77"}, 1,
                 "device: ");
}

TEST_F(App, APackedModelTranslates) {
  const std::string packed = folder->file("packed");
  const Outcome made = fovea_command({"pack", model(), packed});
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(fovea_command({"translate", "-m", packed}, "a b c\n").status, 0);
  expect_failure({"pack", model(), packed}, 1, "expected a new folder");
}

TEST_F(App, OneLineOutForEveryLineIn) {
  const Outcome got = fovea_command({"translate", "-m", model()}, "a b c\n\nc\n");
  EXPECT_EQ(got.status, 0) << got.err;
  EXPECT_EQ(std::count(got.out.begin(), got.out.end(), '\n'), 3);
  EXPECT_NE(got.out.find("\n\n"), std::string::npos);
  EXPECT_EQ(fovea_command({"translate", "-m", model()}, "").out, "");
  // The last line may lack its end.
  EXPECT_EQ(fovea_command({"translate", "-m", model()}, "a b c\n\nc").out, got.out);
}

TEST_F(App, OverlongLinesAreCutAndSaidSo) {
  std::string line = "a";
  for (int i = 0; i < 50; ++i) line += " b";
  const std::vector<std::string> command = {"translate", "-m", model(), "--json", "--max-source", "10"};
  // Without splitting; with it, nothing is left out.
  std::vector<std::string> whole = command;
  whole.insert(whole.end(), {"--split-above", "0"});
  EXPECT_EQ(Json::parse(fovea_command(command, line + "\n").out)["cut"], false);
  const Outcome got = fovea_command(whole, "a\n" + line + "\n");
  EXPECT_EQ(got.status, 0);
  EXPECT_NE(got.err.find("standard input:2: warning: truncated to 10 of 51 tokens"), std::string::npos) << got.err;
  const size_t second = got.out.find('\n') + 1;
  EXPECT_EQ(Json::parse(got.out.substr(0, second))["cut"], false);
  EXPECT_EQ(Json::parse(got.out.substr(second))["cut"], true);
  EXPECT_EQ(Json::parse(got.out.substr(second))["source"], line);
}

TEST_F(App, AnOverlongWordIsTranslatedWithAWarning) {
  const Outcome got = fovea_command({"translate", "-m", "en-zh", "--max-length", "3", "--split-above", "0"},
                                    std::string(66'000, 'x') + "\n");
  EXPECT_EQ(got.status, 0);
  EXPECT_EQ(std::count(got.out.begin(), got.out.end(), '\n'), 1);
  EXPECT_NE(got.err.find("standard input:1: warning: "), std::string::npos) << got.err;
}

// A model of a few steps has not learned to end.
TEST_F(App, TranslationsThatReachTheMaximumLengthAreSaidSo) {
  const Outcome got = fovea_command({"translate", "-m", model(), "--max-length", "4"}, "a b\n\nc\n");
  EXPECT_EQ(got.status, 0);
  EXPECT_EQ(got.err,
            "standard input:1: warning: the translation reached its maximum length before its end (--max-length, "
            "--max-ratio); so did 1 more line\n");
}

TEST_F(App, UnknownWordsAreSaidSo) {
  const Outcome got = fovea_command({"translate", "-m", model()}, "a b\nabc a abc xyz\nb ghi\n");
  EXPECT_EQ(got.status, 0);
  EXPECT_NE(
      got.err.find(
          "standard input:2: warning: the model does not know \"abc\", \"xyz\"; 1 more line with unknown words\n"),
      std::string::npos)
      << got.err;
  EXPECT_EQ(fovea_command({"translate", "-m", model()}, "a b c\n").err.find("does not know"), std::string::npos);
  EXPECT_NE(fovea_command({"view", "-m", model(), "a ghi"}).err.find("does not know \"ghi\""), std::string::npos);
}

TEST_F(App, TheNameOfAFileIsNoText) {
  const std::string file = folder->file("letters.txt", "a b c\n");
  const Outcome got = fovea_command({"translate", "-m", model(), file});
  EXPECT_EQ(got.status, 0);
  EXPECT_NE(got.err.find("to translate its contents: --input " + file), std::string::npos) << got.err;
}

TEST_F(App, FilesAndNbest) {
  const std::string input = folder->file("in.txt", "a b c\nd e\n"), output = folder->file("out.txt");
  const Outcome got = fovea_command(
      {"translate", "-m", model(), "-i", input, "-o", output, "--beam", "3", "--nbest", "2", "--max-length", "5"});
  EXPECT_EQ(got.status, 0) << got.err;
  EXPECT_EQ(got.out, "");
  const std::string text = read_file(output);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4) << text;
  EXPECT_TRUE(text.starts_with("1 ||| ")) << text;
  EXPECT_NE(text.find("\n2 ||| "), std::string::npos) << text;
}

TEST_F(App, AnEnsembleOfOneModelTwiceIsThatModel) {
  const std::string once = fovea_command({"translate", "-m", model(), "--precision", "f32"}, "a b c\n").out;
  EXPECT_EQ(fovea_command({"translate", "-m", model(), "-m", model(), "--precision", "f32"}, "a b c\n").out, once);
}

TEST_F(App, ScoresAndPerplexity) {
  const Outcome got = fovea_command({"score", "-m", model(), folder->file("pairs.tsv", "a b\tb a\nc\tc\n")});
  EXPECT_EQ(got.status, 0) << got.err;
  EXPECT_EQ(std::count(got.out.begin(), got.out.end(), '\n'), 2);
  EXPECT_NE(got.err.find("perplexity"), std::string::npos);
}

TEST_F(App, Evaluates) {
  const std::string hypotheses = folder->file("h", "the cat sat on the mat\n"),
                    same = folder->file("r", "the cat sat on the mat\n");
  const Outcome got =
      fovea_command({"evaluate", "--hypotheses", hypotheses, "-r", same, "--metrics", "bleu,chrf,wer,exact", "--json"});
  EXPECT_EQ(got.status, 0) << got.err;
  const Json json = Json::parse(got.out);
  EXPECT_NEAR(json["bleu"].get<double>(), 100, 1e-9);
  EXPECT_NEAR(json["wer"].get<double>(), 0, 1e-9);
  EXPECT_NE(json["bleu_signature"].get<std::string>().find("tok:13a"), std::string::npos);
  const Outcome run = fovea_command({"evaluate", "-m", model(), "-s", folder->file("s", "a b\nc\n"), "-r",
                                     folder->file("t", "b a\nc\n"), "--by-length", "--max-length", "5"});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_NE(run.out.find("perplexity"), std::string::npos);
  EXPECT_NE(run.out.find("1-5"), std::string::npos) << run.out;
  const std::string chinese = folder->file("zh", "我爱你。\n");
  const std::vector<std::string> arguments{"evaluate", "--hypotheses", chinese, "-r", chinese};
  const Outcome chosen = fovea_command(arguments);
  EXPECT_NE(chosen.err.find("BLEU uses the zh tokenizer"), std::string::npos) << chosen.err;
  EXPECT_NE(chosen.out.find("BLEU = 100.00"), std::string::npos) << chosen.out;
  EXPECT_NE(chosen.out.find("tok:zh"), std::string::npos) << chosen.out;
  std::vector<std::string> by_spaces = arguments;
  by_spaces.insert(by_spaces.end(), {"--tokenizer", "13a"});
  EXPECT_NE(fovea_command(by_spaces).err.find("use zh"), std::string::npos);
  std::vector<std::string> by_characters = arguments;
  by_characters.insert(by_characters.end(), {"--tokenizer", "zh"});
  EXPECT_EQ(fovea_command(by_characters).err, "");
}

TEST_F(App, EvaluatesGroupsSlotsAndSeveralReferences) {
  const std::string hypotheses = folder->file("hypotheses", "a = 1\nb = 2\n");
  const std::string references = folder->file("references", "[\"a = 1\", \"x\"]\n[\"c = 2\"]\n");
  const std::vector<std::string> command{"evaluate",    "--hypotheses", hypotheses,
                                         "-r",          references,     "--metrics",
                                         "slots,exact", "--groups",     folder->file("groups", "A\tseen\nB\tseen\n")};
  const Outcome got = fovea_command(command);
  EXPECT_EQ(got.status, 0) << got.err;
  EXPECT_NE(got.out.find("group  segments  value F1  pair F1   exact\n"
                         "A             1    100.00   100.00  100.00\n"
                         "B             1    100.00     0.00    0.00\n"),
            std::string::npos)
      << got.out;
  std::vector<std::string> as_json = command;
  as_json.emplace_back("--json");
  const Json json = Json::parse(fovea_command(as_json).out);
  EXPECT_NEAR(json["slots"]["pairs"]["f1"].get<double>(), 50, 1e-9);
  EXPECT_NEAR(json["groups"][0]["A"]["exact"].get<double>(), 100, 1e-9);
  EXPECT_EQ(json["groups"][1]["seen"]["segments"], 2);
  const auto with_groups = [&](const std::string& text) {
    std::vector<std::string> changed = command;
    changed.back() = folder->file("other", text);
    return changed;
  };
  expect_failure(with_groups("A\n"), 1, "other: expected 2 lines");
  expect_failure(with_groups("A\nB\tC\n"), 1, "other:2: expected 1 column as in line 1, got 2");
}

TEST_F(App, DataAndInfo) {
  const Outcome dates = fovea_command({"data", "dates", "-n", "5"});
  EXPECT_EQ(std::count(dates.out.begin(), dates.out.end(), '\t'), 5);
  EXPECT_NE(fovea_command({"data"}).out.find("reverse"), std::string::npos);
  EXPECT_NE(fovea_command({"info", model()}).out.find("luong"), std::string::npos);
  EXPECT_NE(fovea_command({"info", "en-zh"}).out.find("transformer"), std::string::npos);
  EXPECT_NE(fovea_command({"info"}).out.find("en-zh"), std::string::npos);
  expect_failure({"data", "datse"}, 1, "dates");
  expect_failure({"data", "dates", "-n", "ten"}, 2, "--count: expected a number of at least 1, got ten");
}

TEST_F(App, BadInputIsNamed) {
  expect_failure({"translate", "-m", folder->file("nowhere")}, 1, "expected a model folder");
  expect_failure({"translate", "-m", model(), "-i", folder->file("nothing.txt")}, 1, "nothing.txt: cannot open");
  expect_failure({"translate", "-m", model()}, 1, "standard input:2", "a\n\xff\xfe\n");
  expect_failure({"translate", "-m", model()}, 1, "standard input:1", std::string("a\0b\n", 4));
  expect_failure({"translate", "-m", model()}, 1, "standard input:2", "a\n" + std::string(1'100'000, 'x') + "\n");
  expect_failure({"translate", "-m", model(), "--beam", "0"}, 2, "beam");
  expect_failure({"translate", "-m", model(), "--beam", "2", "--nbest", "3"}, 1, "nbest", "a\n");
  expect_failure({"translate", "-m", model(), "--precision", "f16"}, 2, "one of auto, f32, bf16");
  expect_failure({"train", folder->file("no.toml")}, 1, "no.toml: cannot open");
  expect_failure({"train", recipe(), "--set", "folder=" + model()}, 1, "there is a training run already");
  expect_failure({"train", recipe()}, 1, "folder: expected a folder for the run");
  expect_failure({"train", "datse"}, 1,
                 "datse: there is no such recipe; did you mean dates? Recipes by name: answer, answer-en");
  expect_failure({"train", "dates", "--set", "data.train=a,b"}, 1,
                 "got both; --set data.generator= turns the generator off");
  expect_failure({"train", "bahdanau", "--set", "folder=" + folder->file("other")}, 1,
                 "data.train: train.source: no such file; set your own with --set data.train=");
  expect_failure({"score", "-m", model(), folder->file("a", "x\ny\n"), folder->file("b", "x\n")}, 1, "b");
  expect_failure({"evaluate", "--hypotheses", folder->file("a", "x\ny\n"), "-r", folder->file("b", "x\n")}, 1,
                 "expected 2 lines");
}

TEST_F(App, ARunIsNamedByItsFolder) {
  expect_failure({"train", model()}, 1, "there is a training run already");
  const Outcome resumed = fovea_command({"train", model(), "--resume", "--set", "training.steps=4"});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_NE(resumed.out.find("resuming"), std::string::npos) << resumed.out;
  EXPECT_EQ(fovea_command({"train", model() + "/recipe.toml", "--resume", "--set", "training.steps=5"}).status, 0);
  std::filesystem::create_directory(folder->file("empty"));
  expect_failure({"train", folder->file("empty"), "--resume"}, 1, "got a folder without recipe.toml");
}

TEST_F(App, DamagedModelsAreRefused) {
  const std::string damaged = folder->file("damaged");
  std::filesystem::copy(model(), damaged);
  const std::string weights = read_file(damaged + "/model.safetensors");
  write_file_atomically(damaged + "/model.safetensors", weights.substr(0, 1000));
  expect_failure({"translate", "-m", damaged}, 1, "model.safetensors", "a\n");
  write_file_atomically(damaged + "/model.safetensors", weights);
  write_file_atomically(damaged + "/target.vocab", read_file(damaged + "/target.vocab") + "more\n");
  expect_failure({"translate", "-m", damaged}, 1, "target.vocab", "a\n");
  expect_failure({"info", damaged}, 1, "target.vocab");
}

TEST_F(App, AFailureLeavesNoOutputFile) {
  const std::string output = folder->file("never.txt");
  expect_failure({"translate", "-m", model(), "-o", output}, 1, "standard input:2", "a\n\xff\n");
  EXPECT_FALSE(std::filesystem::exists(output));
  expect_failure({"translate", "-m", model(), "-o", "/dev/full"}, 1, "/dev/full", "a\n");
}

}  // namespace
}  // namespace fovea
