// fovea data import and fovea data clean as a user meets them.
#include <gtest/gtest.h>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "app/app.h"
#include "base/files.h"

namespace fovea {
namespace {

constexpr const char* kTmx =
    R"(<tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="en-US"><seg>Open the file.</seg></tuv><tuv xml:lang="zh-CN"><seg>打开文件。</seg></tuv></tu>
<tu><tuv xml:lang="en-US"><seg>Open the file.</seg></tuv><tuv xml:lang="zh-CN"><seg>打开文件。</seg></tuv></tu>
<tu><tuv xml:lang="en-US"><seg>OK now</seg></tuv><tuv xml:lang="zh-CN"><seg>OK now</seg></tuv></tu>
<tu><tuv xml:lang="en-US"><seg>How are you?</seg></tuv><tuv xml:lang="zh-CN"><seg>你好吗？</seg></tuv></tu>
</body></tmx>)";

size_t files_in(const std::string& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(DataImport, WritesAlignedFiles) {
  const TemporaryFolder folder;
  const std::string memory = folder.file("a.tmx", kTmx), out = folder.file("out");
  const Outcome got = fovea_command({"data", "import", memory, "--source", "en", "--target", "zh", "-o", out});
  ASSERT_EQ(got.status, 0) << got.err;
  EXPECT_EQ(got.out, "");
  EXPECT_EQ(read_file(out + ".en"), "Open the file.\nOpen the file.\nOK now\nHow are you?\n");
  EXPECT_EQ(read_file(out + ".zh"), "打开文件。\n打开文件。\nOK now\n你好吗？\n");
  EXPECT_NE(got.err.find("wrote 4 pairs to "), std::string::npos) << got.err;
  EXPECT_EQ(fovea_command({"data", "import", memory, "--source", "zh", "--target", "en"}).out,
            "打开文件。\tOpen the file.\n打开文件。\tOpen the file.\nOK now\tOK now\n你好吗？\tHow are you?\n");
}

TEST(DataImport, CleansAndSaysWhatWasDropped) {
  const TemporaryFolder folder;
  const std::string memory = folder.file("a.tmx", kTmx), out = folder.file("out.tsv"), bad = folder.file("bad.tsv");
  const Outcome got = fovea_command({"data", "import", memory, "--source", "en", "--target", "zh", "--clean",
                                     "--held-out", folder.file("test.en", "how are you\n"), "--rejected", bad,
                                     "--report", folder.file("report.json"), "-o", out});
  ASSERT_EQ(got.status, 0) << got.err;
  EXPECT_EQ(read_file(out), "Open the file.\t打开文件。\n");
  EXPECT_EQ(read_file(bad), "duplicate\t" + memory + ":3\tOpen the file.\t打开文件。\nidentical sides\t" + memory +
                                ":4\tOK now\tOK now\nheld out\t" + memory + ":5\tHow are you?\t你好吗？\n");
  const auto report = nlohmann::json::parse(read_file(folder.file("report.json")));
  EXPECT_EQ(report["read"], 4);
  EXPECT_EQ(report["kept"], 1);
  EXPECT_EQ(report["dropped"]["held out"], 1);
  EXPECT_NE(got.err.find("wrote 1 pair of 4 to " + out), std::string::npos) << got.err;
  EXPECT_NE(got.err.find("25.0%  duplicate"), std::string::npos) << got.err;
}

TEST(DataImport, MistakesLeaveNoFile) {
  const TemporaryFolder folder;
  const std::string broken = folder.file("a.tmx", "<tmx><body><tu>"), out = folder.file("out");
  const auto fails = [&](std::vector<std::string> more, int status, const std::string& says) {
    more.insert(more.begin(), {"data", "import"});
    const Outcome got = fovea_command(more);
    EXPECT_EQ(got.status, status) << got.err;
    EXPECT_NE(got.err.find(says), std::string::npos) << got.err;
  };
  fails({broken, "--source", "en", "--target", "zh", "-o", out}, 1, "a.tmx:1: not valid XML");
  fails({folder.file("none.tmx"), "--source", "en", "--target", "zh", "-o", out}, 1, "none.tmx: cannot open");
  fails({broken, "--source", "en", "--target", "en-US"}, 1, "expected two languages, got en and en-US");
  fails({broken, "--held-out", broken}, 1, "--held-out: expected --clean, too");
  fails({broken, "--keep", "0.5"}, 2, "--forward");
  fails({broken, "--sorce", "en"}, 2, "data import: unknown option --sorce; did you mean --source?");
  fails({}, 2, "files is required");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(DataClean, ReadsTwoFilesOrTsv) {
  const TemporaryFolder folder;
  const std::string en = folder.file("a.en", "a b\n\nx <b>y</b>\n"), zh = folder.file("a.zh", "甲乙\n丙\n丁\n");
  EXPECT_EQ(fovea_command({"data", "clean", en, zh}).out, "a b\t甲乙\n");
  EXPECT_EQ(fovea_command({"data", "clean", en, zh, "--markup", "strip"}).out, "a b\t甲乙\nx y\t丁\n");
  const std::string tsv = folder.file("a.tsv", "a b\t甲乙\na b\t甲乙\n");
  EXPECT_EQ(fovea_command({"data", "clean", tsv}).out, "a b\t甲乙\n");
  EXPECT_EQ(fovea_command({"data", "clean", tsv, "--duplicates", "keep"}).out, "a b\t甲乙\na b\t甲乙\n");
  const Outcome uneven = fovea_command({"data", "clean", en, tsv});
  EXPECT_EQ(uneven.status, 1);
  EXPECT_NE(uneven.err.find("a.tsv: expected as many lines as in"), std::string::npos) << uneven.err;
}

// A model that reverses its input also reverses the result: it is the model of both directions.
TEST_F(App, DataCleanScoresNoiseWithTwoModels) {
  const std::string tsv = folder->file("noise.tsv", "a b c\tc b a\na b c\tf f f f f f\nd e\te d\n");
  const std::vector<std::string> models = {"data", "clean", tsv, "--forward", model(), "--backward", model()};
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), models.begin(), models.end());
    return fovea_command(more);
  };
  const Outcome all = run({"--max-score", "1e9"});
  EXPECT_EQ(all.out, "a b c\tc b a\na b c\tf f f f f f\nd e\te d\n") << all.err;
  const Outcome none = run({"--max-score", "0.001"});
  EXPECT_EQ(none.out, "");
  EXPECT_NE(none.err.find("noisy"), std::string::npos) << none.err;
  EXPECT_NE(none.err.find("warning: no pair is left"), std::string::npos) << none.err;
  const Outcome half = run({"--keep", "0.6"});
  EXPECT_EQ(std::count(half.out.begin(), half.out.end(), '\n'), 2) << half.out;
  EXPECT_NE(run({}).err.find("expected --keep or --max-score"), std::string::npos);
}

TEST(DataClean, CtrlCLeavesNoFile) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo(folder.file("pipe").c_str(), 0600), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::string pipe = folder.file("pipe"), out = folder.file("out.tsv");
    execl(FOVEA_BINARY, FOVEA_BINARY, "data", "clean", pipe.c_str(), "-o", out.c_str(), nullptr);
    _exit(127);
  }
  FILE* pipe = fopen(folder.file("pipe").c_str(), "r+");  // does not wait for the program
  for (int i = 0; i < 1000; ++i) fprintf(pipe, "a %d\tb %d\n", i, i);
  fflush(pipe);
  for (int i = 0; i < 500 && files_in(folder.path()) < 2; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(files_in(folder.path()), 2u);  // the temporary file is there
  kill(child, SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  fprintf(pipe, "a\tb\n");  // the next pair ends the program
  fflush(pipe);
  int status = 0;
  waitpid(child, &status, 0);
  fclose(pipe);
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_EQ(files_in(folder.path()), 1u);
}

}  // namespace
}  // namespace fovea
