#include "text/lines.h"

#include <unistd.h>

#include "gzip.h"
#include "support.h"
#include "temporary_folder.h"

namespace fovea {
namespace {

using Lines = std::vector<std::string>;

TEST(Lines, EndAtNewlines) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_lines(folder.file("unix", "a\n\nb\n")), (Lines{"a", "", "b"}));
  EXPECT_EQ(read_lines(folder.file("windows",
                                   "\xEF\xBB\xBF"
                                   "a\r\nb\rc\r\n")),
            (Lines{"a", "b\rc"}));
  EXPECT_EQ(read_lines(folder.file("open", "a\nb")), (Lines{"a", "b"}));
  EXPECT_EQ(read_lines(folder.file("packed", gzip("ein\n中文 😀\n"))), (Lines{"ein", "中文 😀"}));
}

TEST(Lines, LongFilesCrossBlocks) {
  const TemporaryFolder folder;
  Lines lines;
  std::string text;
  for (size_t i = 0; i < 3000; ++i) text += lines.emplace_back(i % 300, static_cast<char>('a' + i % 26)) + "\n";
  EXPECT_EQ(read_lines(folder.file("plain", text)), lines);
  EXPECT_EQ(read_lines(folder.file("packed", gzip(text))), lines);
}

TEST(Lines, ErrorsNameFileAndLine) {
  const TemporaryFolder folder;
  const auto place = [&](const char* name, int line) { return folder.file(name) + ":" + std::to_string(line) + ": "; };
  EXPECT_ERROR(read_lines(folder.file("none")), folder.file("none") + ": cannot open: No such file or directory");
  EXPECT_ERROR(read_lines(folder.path()), folder.path() + ": expected a file, got a directory");
  EXPECT_ERROR(read_lines(folder.file("latin", "ok\nok\nf\xFCr\n")),
               place("latin", 3) + "not valid UTF-8: byte 0xFC at position 2");
  EXPECT_ERROR(read_lines(folder.file("nul", std::string("ok\na\0b\n", 7))),
               place("nul", 2) + "expected text, got a NUL byte at position 2");
  EXPECT_ERROR(read_lines(folder.file("empty", "")), folder.file("empty") + ": expected text, got an empty file");
  EXPECT_ERROR(read_lines(folder.file("packed", gzip(""))), "packed: expected text, got an empty file");
  EXPECT_ERROR(read_lines(folder.file("blank", "\n")), "blank: expected text, got 1 empty line");
  EXPECT_ERROR(read_lines(folder.file("blanks", "\r\n\n\n")), "blanks: expected text, got 3 empty lines");
}

TEST(Lines, TruncatedGzipSaysWhereItBroke) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 2000; ++i) text += std::to_string(i * 7919) + "\n";
  const std::string whole = gzip(text);
  const std::string path = folder.file("truncated.gz", whole.substr(0, whole.size() - 9));
  EXPECT_ERROR(read_lines(path), path + ": the gzip file is truncated (line ");
}

TEST(Lines, LongLinesAreRefused) {
  const TemporaryFolder folder;
  const std::string most(kMaxLineBytes, 'x');
  EXPECT_EQ(read_lines(folder.file("most", "a\n" + most + "\r\n")), (Lines{"a", most}));
  EXPECT_ERROR(read_lines(folder.file("more", "a\n" + most + "x\n")),
               folder.file("more") + ":2: expected a line of at most 1000000 bytes, got more");
  EXPECT_ERROR(read_lines(folder.file("much", most + most + most)), ":1: expected a line of at most 1000000 bytes");
  EXPECT_ERROR(read_lines(folder.file("short", "abc\nabcd\n"), 3), "short:2: expected a line of at most 3 bytes");
}

TEST(Lines, ComeFromAPipeAsTheyAreWritten) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int before = dup(STDIN_FILENO);
  dup2(ends[0], STDIN_FILENO);
  const auto say = [&](std::string_view text) {
    ASSERT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  };
  say("\n");
  LineReader reader("-");
  std::string line = "?";
  EXPECT_TRUE(reader.next(line));
  EXPECT_EQ(line, "");
  say("first\nsec");
  EXPECT_TRUE(reader.next(line));
  EXPECT_EQ(line, "first");
  say("ond\n");
  EXPECT_TRUE(reader.next(line));
  EXPECT_EQ(line, "second");
  EXPECT_EQ(reader.place(), "standard input:3");
  close(ends[1]);
  EXPECT_FALSE(reader.next(line));
  EXPECT_FALSE(reader.next(line));
  EXPECT_EQ(reader.line_number(), 3);
  dup2(before, STDIN_FILENO);
  close(before);
  close(ends[0]);
}

TEST(Lines, PairsHaveEqualCounts) {
  const TemporaryFolder folder;
  const std::string a = folder.file("a", "1\n2\n3\n"), b = folder.file("b", "1\n2\n"), c = folder.file("c", "x\n\nz\n");
  EXPECT_ERROR(read_parallel(a, b), "corpus: expected as many lines in " + b + " as in " + a + ", got 2 and 3");
  const ParallelLines lines = read_parallel(a, c);
  EXPECT_EQ(lines.source, (Lines{"1", "2", "3"}));
  EXPECT_EQ(lines.target, (Lines{"x", "", "z"}));
}

TEST(Lines, TsvHasTwoColumns) {
  const TemporaryFolder folder;
  const ParallelLines lines = read_tsv(folder.file("good.tsv.gz", gzip("a b\tc d\n\té\n")));
  EXPECT_EQ(lines.source, (Lines{"a b", ""}));
  EXPECT_EQ(lines.target, (Lines{"c d", "é"}));
  EXPECT_ERROR(read_tsv(folder.file("one.tsv", "a\tb\nc\n")),
               folder.file("one.tsv") + ":2: expected two columns separated by a tab, got 1 column");
  EXPECT_ERROR(read_tsv(folder.file("three.tsv", "a\tb\tc\n")), "three.tsv:1: expected two columns");
  EXPECT_ERROR(read_tsv(folder.file("none.tsv", "")), "none.tsv: expected text, got an empty file");
  EXPECT_ERROR(read_tsv(folder.file("blank.tsv", "\ta\n\tb\n")), "blank.tsv: expected text, got 2 empty lines");
}

}  // namespace
}  // namespace fovea
