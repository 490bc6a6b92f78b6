// Labelled texts from TSV and CSV files; word vectors.
#include "text/labelled_text.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "support.h"
#include "temporary_folder.h"
#include "text/word_vectors.h"

namespace fovea {
namespace {

using Lines = std::vector<std::string>;

TEST(LabelledText, ATsvWithoutAHeaderHasLabelsAndTexts) {
  const TemporaryFolder folder;
  const LabelledText got = read_labelled(folder.file("x.tsv", "1\ta good film\r\n0\t\"quoted, \n1\t\n"), {});
  EXPECT_EQ(got.labels, (Lines{"1", "0", "1"}));
  EXPECT_EQ(got.texts, (Lines{"a good film", "\"quoted, ", ""}));
  EXPECT_EQ(got.lines, (std::vector<int64_t>{1, 2, 3}));
}

TEST(LabelledText, AHeaderNamesTheColumns) {
  const TemporaryFolder folder;
  const std::string path = folder.file("x.tsv", "id\ttext\tlabel\n7\tgood\tyes\n8\tbad\tno\n");
  const LabelledText got = read_labelled(path, {});
  EXPECT_EQ(got.labels, (Lines{"yes", "no"}));
  EXPECT_EQ(got.texts, (Lines{"good", "bad"}));
  EXPECT_EQ(got.lines, (std::vector<int64_t>{2, 3}));
  const LabelledText ids = read_labelled(path, {.label_column = "id", .text_column = "text"});
  EXPECT_EQ(ids.labels, (Lines{"7", "8"}));
}

TEST(LabelledText, CsvHasQuotes) {
  const TemporaryFolder folder;
  const LabelledText got = read_labelled(
      folder.file(
          "x.csv",
          "text,label\n\"one, two\",a\n\"she said \"\"no\"\"\",b\n\"two\nlines\r\nthree\",a\n\nplain,b\n\"\",a\n"),
      {});
  EXPECT_EQ(got.texts, (Lines{"one, two", "she said \"no\"", "two lines three", "plain", ""}));
  EXPECT_EQ(got.labels, (Lines{"a", "b", "a", "b", "a"}));
  EXPECT_EQ(got.lines, (std::vector<int64_t>{2, 3, 4, 8, 9}));
}

TEST(LabelledText, LabelsHaveParts) {
  const TemporaryFolder folder;
  const std::string path = folder.file("x.tsv", "1:书籍\ta\n0:酒店:x\tb\n");
  LabelledTextOptions options{.label_separator = ":"};
  EXPECT_EQ(read_labelled(path, options).labels, (Lines{"1", "0"}));
  options.label_part = 2;
  EXPECT_EQ(read_labelled(path, options).labels, (Lines{"书籍", "酒店"}));
  options.label_part = 3;
  EXPECT_ERROR(read_labelled(path, options), "x.tsv:1: expected a label with at least 3 parts");
}

TEST(LabelledText, MistakesAreNamedByLine) {
  const TemporaryFolder folder;
  const auto expect = [&](const std::string& name, const std::string& text, const std::string& message) {
    EXPECT_ERROR(read_labelled(folder.file(name, text), {}), message);
  };
  expect("x.tsv", "1\ta\n1\ta\tb\n", "x.tsv:2: expected 2 columns, got 3");
  expect("x.tsv", "1\ta\n\n", "x.tsv:2: expected 2 columns, got 1");
  expect("x.tsv", "only text\n", "x.tsv:1: expected a label and a text separated by a tab");
  expect("x.tsv", "1\ta\n\tb\n", "x.tsv:2: expected a label, got an empty one");
  expect("x.tsv", "", "expected labels and texts, got none");
  expect("x.tsv", "label\ttext\n", "expected labels and texts, got none");
  expect("x.tsv", "label\tbody\n1\ta\n", "x.tsv:1: expected a header with the columns label and text, got label, body");
  expect("x.tsv", "class\ttext\n1\ta\n", "x.tsv:1: expected a header with the columns label and text");
  expect("x.tsv", "1\t\xff\n", "x.tsv:1: not valid UTF-8");
  expect("x.csv", "1,a\n", "x.csv:1: expected a header with the columns label and text, got 1, a");
  expect("x.csv", "label,text\na,\"b\nc\n", "x.csv:2: expected a closing quote, got the end of the file");
  expect("x.csv", "label,text\na,b\na,\"b\"c\n", "x.csv:3: expected a comma after a closing quote, got 'c'");
  expect("x.csv", "label,text\na,b,c\n", "x.csv:2: expected 2 columns, got 3");
  EXPECT_ERROR(read_labelled(folder.file("z.tsv", "label\ttext\n1\ta\n"), {.label_column = "stars"}),
               "z.tsv:1: expected a header with the columns stars and text, got label, text");
  EXPECT_EQ(read_labelled(folder.file("t.tsv", "text\ta page\nimage\ta photo\n"), {}).labels, (Lines{"text", "image"}));
  std::string endless = "label,text\na,\"";
  for (int i = 0; i < 1000; ++i) endless += "line\n";
  EXPECT_ERROR(read_labelled(folder.file("y.csv", endless), {}, 1000), "y.csv:2: expected a field of at most 1000");
  EXPECT_ERROR(read_labelled(folder.file("none"), {}), "none");
}

TEST(WordVectors, AreReadInBothFormats) {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& text, int64_t size) {
    std::string got;
    read_word_vectors(folder.file("v.txt", text), size, [&](std::string_view word, std::span<const float> vector) {
      got += fmt::format("{}={}|", word, fmt::join(vector, ","));
    });
    return got;
  };
  EXPECT_EQ(read("2 3\na 1 2 3\nb -1 .5 1e-2 \n", 3), "a=1,2,3|b=-1,0.5,0.01|");
  EXPECT_EQ(read("a 1 2 3\n. . . 4 5 6\n", 3), "a=1,2,3|. . .=4,5,6|");
  EXPECT_ERROR(read("2 4\na 1 2 3 4\n", 3), "v.txt:1: expected vectors of 3 numbers (model.embedding), got 4");
  EXPECT_ERROR(read("a 1 2 3\nb 1 2\n", 3), "v.txt:2: expected a word and 3 numbers (model.embedding), got 2");
  EXPECT_ERROR(read("a 1 2 3 4\n", 3), "v.txt:1: expected a word and 3 numbers (model.embedding), got 4");
  EXPECT_ERROR(read("a 1 x 3\n", 3), "v.txt:1: expected a number, got \"x\"");
  EXPECT_ERROR(read("", 3), "expected word vectors, got none");
}

}  // namespace
}  // namespace fovea
