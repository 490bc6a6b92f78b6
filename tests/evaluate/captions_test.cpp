// Compares every case under captions/ with what the usual caption evaluation scripts say of it, in
// captions/expected.json, which make_caption_scores.py writes.
#include "evaluate/captions.h"

#include <gtest/gtest.h>

#include <fmt/ranges.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "evaluate/caption_set.h"
#include "evaluate/caption_words.h"
#include "evaluate/cider.h"
#include "support.h"
#include "temporary_folder.h"

namespace fovea {
namespace {

using Json = nlohmann::json;

std::string case_file(const std::string& name) { return std::string(FOVEA_EVALUATE_DATA) + "/../captions/" + name; }

const Json& expected() {
  static const Json json = Json::parse(std::ifstream(case_file("expected.json")));
  return json;
}

std::string words(std::string_view caption) { return fmt::format("{}", fmt::join(caption_words(caption), " ")); }

// The scripts write brackets as -lrb- and -rrb-.
std::string with_brackets(std::string text) {
  for (const auto& [from, to] : {std::pair{"-lrb-", "("}, std::pair{"-rrb-", ")"}}) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from)) text.replace(at, 5, to);
  }
  return text;
}

TEST(Captions, EqualTheUsualScripts) {
  ASSERT_GE(expected().size(), 7u);
  for (const Json& one : expected()) {
    const std::string name = one["case"], documents = one["documents"];
    SCOPED_TRACE(name + " with the document frequencies of " + documents);
    const CaptionSet references = read_captions(case_file(name + ".tsv"));
    const std::vector<Segment> segments = read_caption_hypotheses(case_file(name + ".hyp.tsv"), references);
    const CaptionSet others = read_captions(case_file(documents + ".tsv"));
    const CaptionScore score = documents == name ? caption_score(segments) : caption_score(segments, others.captions);
    for (size_t n = 0; n < kBleuOrder; ++n) EXPECT_NEAR(score.bleu[n], 100 * one["bleu"][n].get<double>(), 1e-9);
    EXPECT_NEAR(score.rouge_l, 100 * one["rouge_l"].get<double>(), 1e-9);
    EXPECT_NEAR(score.cider_d, 100 * one["cider_d"].get<double>(), 1e-9);

    std::vector<ImageCaptions> images, frequencies;
    for (const auto& captions : references.captions) images.push_back(image_captions(captions));
    for (const auto& captions : others.captions) frequencies.push_back(image_captions(captions));
    const CiderScorer scorer(images, frequencies);
    for (size_t i = 0; i < segments.size(); ++i) {
      EXPECT_NEAR(scorer.score(i, segments[i].hypothesis), one["ciders"][i].get<double>(), 1e-11) << "image " << i;
      EXPECT_EQ(words(segments[i].hypothesis), with_brackets(one["tokens"][i])) << "image " << i;
    }
  }
}

TEST(Captions, AreLowerCaseWordsWithoutPunctuation) {
  // As CoreNLP's PTBTokenizer 3.4.1, without coco-caption's punctuation.
  EXPECT_EQ(words("A man's T-shirt isn't red; it's blue."), "a man 's t-shirt is n't red it 's blue");
  EXPECT_EQ(words("The dogs' bowl , a child 's toy and the boys ' bats ."),
            "the dogs bowl a child 's toy and the boys bats");
  EXPECT_EQ(words("We can't, won't, don't, cannot and are gonna"), "we ca n't wo n't do n't can not and are gon na");
  EXPECT_EQ(words("It's 10:30 at 3,000 ft. and 2.5 miles on 9/11/2001"),
            "it 's 10:30 at 3,000 ft. and 2.5 miles on 9/11/2001");
  EXPECT_EQ(words("Mr. Smith vs. Dr. Jones at St. Mary's Ave. in the U.S."),
            "mr. smith vs. dr. jones at st. mary 's ave. in the u.s.");
  EXPECT_EQ(words("Rock 'n' roll in the '80s at five o'clock, ma'am; c'mon!"),
            "rock 'n' roll in the '80s at five o'clock ma'am c'mon");
  EXPECT_EQ(words("\"Quoted\" text, 100% & #1"), "quoted text 100 % & # 1");
  EXPECT_EQ(words("wait... what? no -- dash - and \u2013 \u2014\u2026"), "wait what no dash and");
  EXPECT_EQ(words("black/white merry-go-round two- -three"), "black/white merry-go-round two three");
  EXPECT_EQ(words("End.Start the letter A. No. 5"), "end.start the letter a. no. 5");
  EXPECT_EQ(words("\u201Ccurly\u201D man\u2019s isn\u2019t"), "curly man 's is n't");
  EXPECT_EQ(words("I'm you're he'd they've we'll"), "i 'm you 're he 'd they 've we 'll");
  EXPECT_EQ(words("Ein Mädchen in ZÜRICH."), "ein mädchen in zürich");
}

TEST(Captions, ChineseIsReadByCharacters) {
  EXPECT_EQ(words("一个男孩，穿T恤。"), "一 个 男 孩 穿 t 恤");
  EXPECT_EQ(words("“狗”有3只！（两只黑）"), "狗 有 3 只 两 只 黑");
}

TEST(Captions, HostileTextIsRead) {
  EXPECT_EQ(words(""), "");
  EXPECT_EQ(words(" ' - . \t"), "");
  EXPECT_EQ(words("\xFF\xFE a"), "\uFFFD \uFFFD a") << "bytes that are not UTF-8 are U+FFFD";
  EXPECT_EQ(caption_words(std::string(100'000, '\'')).size(), 0u);
  EXPECT_EQ(caption_words(std::string(100'000, 'x')).size(), 1u);
}

TEST(Captions, ScoresHaveNames) {
  const Segment segment{"a dog runs", {"a dog runs"}};
  const CaptionScore score = caption_score(std::span(&segment, 1));
  EXPECT_NEAR(score.named("bleu-3"), 100, 1e-6);
  EXPECT_NEAR(score.named("rouge-l"), 100, 1e-6);
  EXPECT_EQ(score.named("cider-d"), 0) << "with one image every n-gram is in every document";
  for (const std::string& name : caption_metrics()) EXPECT_GE(score.named(name), 0);
  EXPECT_ERROR(score.named("bleu"), "expected one of bleu-1, bleu-2");
}

TEST(Cider, ManyThreadsScoreWithOneTable) {
  const CaptionSet references = read_captions(case_file("english.tsv"));
  std::vector<ImageCaptions> images;
  for (const auto& captions : references.captions) images.push_back(image_captions(captions));
  const CiderScorer scorer(images);
  ASSERT_EQ(scorer.images(), 10);
  const double once = scorer.score(0, "a boy flies a red kite");
  EXPECT_GT(once, 0);
  std::vector<double> scores(8);
  std::vector<std::thread> threads;
  for (double& score : scores) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) score = scorer.score(0, "a boy flies a red kite");
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const double score : scores) EXPECT_EQ(score, once);
  EXPECT_ERROR(scorer.score(10, "a"), "expected the index of one of 10 images, got 10");
  EXPECT_ERROR(CiderScorer({}, {}), "expected captions of at least one image");
}

TEST(CaptionSet, GroupsLinesByImage) {
  const TemporaryFolder folder;
  const CaptionSet set = read_captions(folder.file("a.tsv", "b.jpg\tone\na.jpg\ttwo\nb.jpg\tthree\n"));
  EXPECT_EQ(set.images, (std::vector<std::string>{"b.jpg", "a.jpg"}));
  EXPECT_EQ(set.captions[0], (std::vector<std::string>{"one", "three"}));
  EXPECT_ERROR(read_captions(folder.file("b.tsv", "b.jpg\tone\nb.jpg\n")),
               "b.tsv:2: expected image<TAB>caption, got b.jpg");
  EXPECT_ERROR(read_captions(folder.file("b.tsv", "b.jpg\tone\ttwo\n")), "b.tsv:1: expected two columns");
  EXPECT_ERROR(read_captions(folder.file("b.tsv", "\tone\n")), "b.tsv:1: expected the name of an image, got none");
  EXPECT_ERROR(read_captions(folder.file("b.tsv", "")), "b.tsv: expected captions, got an empty file");
}

TEST(CaptionSet, ReadsCocoJson) {
  const TemporaryFolder folder;
  const std::string list = R"([{"image_id": 7, "caption": "one\ntwo"}, {"image_id": "x", "caption": "three"}])";
  const CaptionSet set = read_captions(folder.file("a.json", R"({"images": [], "annotations": )" + list + "}"));
  EXPECT_EQ(set.images, (std::vector<std::string>{"7", "x"}));
  EXPECT_EQ(set.captions[0], (std::vector<std::string>{"one two"}));
  const std::vector<Segment> segments = read_caption_hypotheses(folder.file("h.json", list), set);
  EXPECT_EQ(segments[1].hypothesis, "three");
  EXPECT_ERROR(read_captions(folder.file("b.json", R"({"images": []})")), "b.json: expected a list of captions");
  EXPECT_ERROR(read_captions(folder.file("b.json", R"([{"image_id": 7}])")),
               "b.json: caption 1: expected an object with caption");
  EXPECT_ERROR(read_captions(folder.file("b.json", R"([{"image_id": 7.5, "caption": ""}])")),
               "caption 1: image_id: expected a text, got 7.5");
  EXPECT_ERROR(read_captions(folder.file("b.json", "[]")), "b.json: expected captions, got none");
}

TEST(CaptionSet, HypothesesAreOneForEachImage) {
  const TemporaryFolder folder;
  const CaptionSet set = read_captions(folder.file("a.tsv", "b\tone\na\ttwo\n"));
  const auto read = [&](const std::string& text) { return read_caption_hypotheses(folder.file("h", text), set); };
  EXPECT_EQ(read("x\ny\n")[1].hypothesis, "y");
  EXPECT_EQ(read("x\ny\n")[1].references.front(), "two");
  EXPECT_EQ(read("a\tx\nb\ty\n")[1].hypothesis, "x") << "in the order of the references";
  EXPECT_ERROR(read("x\n"), "expected a caption for each of 2 images, got 1 lines");
  EXPECT_ERROR(read("x\na\ty\n"), ":2: expected a caption without a tab");
  EXPECT_ERROR(read("a\tx\n"), "expected a caption of every image of the references, got none of b");
  EXPECT_ERROR(read("a\tx\nc\ty\n"), ":2: expected an image of the references, got c");
  EXPECT_ERROR(read("a\tx\na\ty\n"), ":2: expected one caption an image, got another one of a");
}

}  // namespace
}  // namespace fovea
