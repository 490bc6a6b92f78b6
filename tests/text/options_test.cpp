#include "base/fields.h"
#include "support.h"
#include "text/batches.h"

namespace fovea {
namespace {

TEST(TextOptions, AreSetByName) {
  VocabularyOptions vocabulary;
  CorpusOptions corpus;
  BatchOptions batches;
  Fields fields;
  fields.section("vocabulary", vocabulary);
  fields.section("corpus", corpus);
  fields.section("batches", batches);
  fields.find("vocabulary.kind").set_text("character");
  fields.find("corpus.max_source").set_text("80");
  fields.find("batches.reverse_source").set_text("true");
  EXPECT_EQ(vocabulary.kind, "character");
  EXPECT_EQ(corpus.max_source, 80);
  EXPECT_TRUE(batches.reverse_source);
  EXPECT_ERROR(fields.find("vocabulary.kind").set_text("syllable"), "unigram");
  EXPECT_ERROR(fields.find("vocabulary.size").set_text("4"), "at least 5");
  EXPECT_ERROR(fields.find("batches.multiple").set_text("0"), "at least 1");
}

// The code accepts every value that recipes allow.
TEST(TextOptions, ChoicesAreUnderstood) {
  const std::vector<std::string> lines = {"ein kleiner Text, ein zweiter Text"};
  for (const char* kind : {"unigram", "bpe", "word", "character"}) {
    for (const char* normalisation : {"identity", "nmt_nfkc", "nmt_nfkc_cf"}) {
      VocabularyOptions options;
      Fields fields = fields_of(options);
      fields.find("kind").set_text(kind);
      fields.find("normalisation").set_text(normalisation);
      EXPECT_EQ(train_vocabulary(lines, options).vocabulary->kind(), kind);
    }
  }
}

}  // namespace
}  // namespace fovea
