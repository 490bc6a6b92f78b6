// An extended vocabulary goes on: old ids, old segmentation of old text, and pieces for what the new text repeats.
#include "text/extend_vocabulary.h"

#include <algorithm>
#include <map>

#include "support.h"
#include "temporary_folder.h"

namespace fovea {
namespace {

using Ids = std::vector<int32_t>;

const std::vector<std::string>& old_text() {
  static const std::vector<std::string> lines = [] {
    std::vector<std::string> made;
    for (int i = 0; i < 30; ++i) {
      made.emplace_back("the new house is lower than the old low house");
      made.emplace_back("a red fox ran over the wet grass and into the house");
      made.emplace_back("我喜欢读书 she gave him 12 yen");
    }
    return made;
  }();
  return lines;
}
const std::vector<std::string>& new_text() {
  static const std::vector<std::string> lines = [] {
    std::vector<std::string> made;
    for (int i = 0; i < 20; ++i) {
      made.emplace_back("transformers transform the transformed text, §2 of the déjà vu");
      made.emplace_back("我喜欢注意力，注意力");
    }
    made.emplace_back("ж once");
    return made;
  }();
  return lines;
}

// Characters of a piece that no old piece covers.
int64_t count_unknown(const Vocabulary& vocabulary, const std::string& piece) {
  int64_t count = 0;
  for (const int32_t id : vocabulary.encode(piece)) {
    const std::string text = vocabulary.piece(id);
    count += id == kUnknown || (text.starts_with("<0x") && text.size() == 6) ? 1 : 0;
  }
  return count;
}

class Extension : public testing::TestWithParam<const char*> {
 protected:
  static std::shared_ptr<const Vocabulary> old() {
    VocabularyOptions options;
    options.kind = std::string(GetParam()) == "bytes" ? "bpe" : GetParam();
    options.byte_fallback = std::string(GetParam()) == "bytes";
    options.size = options.byte_fallback ? 330 : 80;
    return train_vocabulary(old_text(), options).vocabulary;
  }
};
INSTANTIATE_TEST_SUITE_P(Vocabulary, Extension,
                         testing::Values("unigram", "bpe", "bytes", "word", "token", "character"));

TEST_P(Extension, KeepsOldPiecesAndHowTheySplitText) {
  const auto before = old();
  const VocabularyExtension extension = extend_vocabulary(*before, new_text(), 40);
  const Vocabulary& after = *extension.vocabulary;
  ASSERT_GT(after.size(), before->size());
  ASSERT_EQ(after.size(), before->size() + std::ssize(extension.parts));
  EXPECT_LE(std::ssize(extension.parts), 40);
  EXPECT_EQ(after.kind(), before->kind());
  for (int32_t id = 0; id < before->size(); ++id) ASSERT_EQ(after.piece(id), before->piece(id));
  for (const std::string& line : old_text()) {
    Ids parts;  // with each new piece as the old ones that it is made of
    for (const int32_t id : after.encode(line)) {
      const int64_t index = id - before->size();
      const Ids of_piece = index < 0 ? Ids{id} : extension.parts[static_cast<size_t>(index)];
      parts.insert(parts.end(), of_piece.begin(), of_piece.end());
    }
    ASSERT_EQ(parts, before->encode(line)) << line;
  }
}

TEST_P(Extension, ItsPiecesOccurInTheTextAndShortenIt) {
  const auto before = old();
  const VocabularyExtension extension = extend_vocabulary(*before, new_text(), 40);
  size_t was = 0, is = 0;
  std::map<int32_t, int64_t> uses;
  for (const std::string& line : new_text()) {
    const Ids old_ids = before->encode(line), ids = extension.vocabulary->encode(line);
    was += old_ids.size();
    is += ids.size();
    for (const int32_t id : ids) ++uses[id];
    EXPECT_LE(std::count(ids.begin(), ids.end(), kUnknown), std::count(old_ids.begin(), old_ids.end(), kUnknown));
  }
  const bool list = before->extension() == "vocab";
  EXPECT_LE(is, list ? was : was - was / 3);
  EXPECT_EQ(extension.vocabulary->decode(extension.vocabulary->encode(new_text()[0])), new_text()[0]);
  const auto words = extension.vocabulary->encode("ж once");
  const bool knows_bytes = std::string(GetParam()) == "bytes";
  EXPECT_EQ(std::count(words.begin(), words.end(), kUnknown) > 0, !knows_bytes) << "seen once, so not added";
}

TEST_P(Extension, PartsAreTheOldPiecesOfANewOne) {
  const auto before = old();
  const VocabularyExtension extension = extend_vocabulary(*before, new_text(), 40);
  for (size_t i = 0; i < extension.parts.size(); ++i) {
    const std::string piece =
        extension.vocabulary->piece(static_cast<int32_t>(before->size()) + static_cast<int32_t>(i));
    std::string joined;
    for (const int32_t id : extension.parts[i]) {
      ASSERT_GT(id, kEnd);
      ASSERT_LT(id, before->size());
      joined += before->piece(id);
    }
    // A character that the old pieces lack is part of the new piece only.
    if (before->extension() == "vocab") {
      EXPECT_TRUE(joined.empty());
    } else if (const bool known = before->encode(piece).size() > 0 && count_unknown(*before, piece) == 0; known) {
      EXPECT_EQ(piece, joined);
    } else {
      EXPECT_LT(joined.size(), piece.size()) << piece;
    }
  }
}

TEST_P(Extension, SurvivesItsFileAndIsTheSameEveryTime) {
  const auto before = old();
  const VocabularyExtension one = extend_vocabulary(*before, new_text(), 25),
                            two = extend_vocabulary(*before, new_text(), 25);
  EXPECT_EQ(one.vocabulary->bytes(), two.vocabulary->bytes());
  EXPECT_EQ(one.parts, two.parts);
  const TemporaryFolder folder;
  save_vocabulary(*one.vocabulary, folder.path(), "source");
  const auto loaded = load_vocabulary(folder.path(), "source");
  EXPECT_EQ(loaded->size(), one.vocabulary->size());
  for (const std::string& line : new_text()) EXPECT_EQ(loaded->encode(line), one.vocabulary->encode(line));
}

TEST_P(Extension, OfKnownTextIsNothingNew) {
  const auto before = old();
  const VocabularyExtension none = extend_vocabulary(*before, new_text(), 0);
  EXPECT_EQ(none.vocabulary->size(), before->size());
  EXPECT_TRUE(extend_vocabulary(*before, {}, 10).parts.empty());
}

TEST(Vocabulary, AnExtensionMergesNoMarksAndNoSpaces) {
  VocabularyOptions options;
  options.kind = "bpe";
  options.size = 60;
  const auto before = train_vocabulary(old_text(), options).vocabulary;
  const std::vector<std::string> lines(10, "is-low is-low 12 12x a,a a,a lowis lowis");
  const VocabularyExtension extension = extend_vocabulary(*before, lines, 100);
  ASSERT_FALSE(extension.parts.empty());
  for (int64_t id = before->size(); id < extension.vocabulary->size(); ++id) {
    const std::string piece = extension.vocabulary->piece(static_cast<int32_t>(id));
    const bool character = piece == "-" || piece == ",";
    EXPECT_TRUE(character || piece.find_first_of("-,") == std::string::npos) << piece;
    EXPECT_NE(piece, "12x");
    const size_t space = piece.rfind("\u2581");
    EXPECT_TRUE(space == 0 || space == std::string::npos) << piece;
  }
}

}  // namespace
}  // namespace fovea
