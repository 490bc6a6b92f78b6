#include "text/corpus.h"

#include <set>

#include "base/threads.h"
#include "support.h"

namespace fovea {
namespace {

using Ids = std::vector<int32_t>;

Ids copy_of(std::span<const int32_t> ids) { return {ids.begin(), ids.end()}; }

std::unique_ptr<Vocabulary> words() {
  VocabularyOptions options;
  options.kind = "word";
  return train_vocabulary(std::vector<std::string>{"a a a a b b b c c d"}, options).vocabulary;
}

TEST(Corpus, LeavesOutWithAReason) {
  const ParallelLines lines{{"a b", " ", "a", "a a a a a", "b", "c", "a b", "a a a a", "d"},
                            {"b a", "a", "", "a", "b b b b b", "c", "b a", "c", "d d"}};
  const auto vocabulary = words();
  CorpusOptions options;
  options.max_source = options.max_target = 4;
  options.max_ratio = 2;
  options.drop_duplicates = true;
  const auto [corpus, report] = build_corpus(lines, *vocabulary, *vocabulary, options);
  EXPECT_EQ(corpus.lines, (std::vector<int64_t>{0, 5, 8}));
  EXPECT_EQ(copy_of(corpus.source[0]), (Ids{4, 5}));
  EXPECT_EQ(copy_of(corpus.target[0]), (Ids{5, 4}));
  EXPECT_EQ(copy_of(corpus.target[2]), (Ids{7, 7}));
  EXPECT_EQ(report.total, 9);
  EXPECT_EQ(report.kept, 3);
  EXPECT_EQ(report.text(),
            "kept 3 of 9 pairs; skipped: 1 with an empty source, 1 with an empty target, 1 with a source that is too "
            "long, 1 with a target that is too long, 1 over the length ratio, 1 duplicate");
  options = {.max_source = 0, .max_target = 0};
  EXPECT_EQ(build_corpus(lines, *vocabulary, *vocabulary, options).report.text(),
            "kept 7 of 9 pairs; skipped: 1 with an empty source, 1 with an empty target");
}

TEST(BuildCorpus, TruncatesSourcesInsteadOfSkippingThem) {
  const std::vector<std::string> text = {"a b c d", "a b", "c"};
  const auto vocabulary = train_vocabulary(text, {.kind = "word"}).vocabulary;
  CorpusOptions options;
  options.max_source = 3;
  EXPECT_EQ(build_corpus({text, {"a", "b", "c"}}, *vocabulary, *vocabulary, options).report.kept, 2);
  options.truncate = true;
  const auto [corpus, report] = build_corpus({text, {"a", "b", "c"}}, *vocabulary, *vocabulary, options);
  EXPECT_EQ(report.text(), "kept 3 of 3 pairs; truncated 1 source");
  EXPECT_EQ(corpus.source.length(0), 3);
  EXPECT_EQ(vocabulary->decode(corpus.source[0]), "a b c");
}

TEST(Corpus, ReportsLargeNumbersReadably) {
  EXPECT_EQ((FilterReport{.total = 1234567, .kept = 1000}).text(), "kept 1,000 of 1,234,567 pairs");
  EXPECT_EQ((FilterReport{.total = 20, .kept = 0, .duplicate = 20}).text(),
            "kept 0 of 20 pairs; skipped: 20 duplicate");
}

TEST(Corpus, NothingLeftIsAnError) {
  const auto vocabulary = words();
  EXPECT_ERROR(build_corpus({{"", "a"}, {"a", ""}}, *vocabulary, *vocabulary, {}),
               "corpus: no pairs left: kept 0 of 2 pairs; skipped: 1 with an empty source");
  EXPECT_ERROR(build_corpus({{"a"}, {}}, *vocabulary, *vocabulary, {}),
               "corpus: expected as many target lines as source lines, got 0 and 1");
}

TEST(Corpus, DecodingKeepsEveryLine) {
  const auto vocabulary = words();
  const auto encoded = encode_lines(std::vector<std::string>{"a", "", "x b"}, *vocabulary);
  ASSERT_EQ(encoded.size(), 3U);
  EXPECT_TRUE(encoded[1].empty());
  EXPECT_EQ(encoded[2], (Ids{kUnknown, 5}));
}

TEST(Corpus, SamplingDependsOnSeedAndEpochAlone) {
  const std::vector<std::string> text(300, "the lowest newest house is lower than the new low house");
  VocabularyOptions kind;
  kind.size = 40;
  const auto vocabulary = train_vocabulary(text, kind).vocabulary;
  CorpusOptions options;
  options.sampling = 0.2;
  const auto all = [&](SamplingSeed seed) {
    std::vector<Ids> ids;
    const ParallelCorpus corpus = build_corpus({text, text}, *vocabulary, *vocabulary, options, seed).corpus;
    for (int64_t i = 0; i < corpus.size(); ++i) {
      ids.push_back(copy_of(corpus.source[i]));
      ids.push_back(copy_of(corpus.target[i]));
    }
    return ids;
  };
  const int threads = thread_count();
  const auto first = all({.seed = 3, .epoch = 5});
  set_thread_count(3);
  EXPECT_EQ(first, all({.seed = 3, .epoch = 5}));
  set_thread_count(threads);
  EXPECT_NE(first, all({.seed = 3, .epoch = 6}));
  EXPECT_NE(first, all({.seed = 4, .epoch = 5}));
  EXPECT_GT(std::set<Ids>(first.begin(), first.end()).size(), 200u);
}

}  // namespace
}  // namespace fovea
