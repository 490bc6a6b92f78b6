// The reader of SentencePiece models for web pages against SentencePiece itself.
#include "web/subwords.h"

#include <sentencepiece_processor.h>

#include <cstdlib>
#include <filesystem>
#include <functional>

#include "base/files.h"
#include "base/random.h"
#include "support.h"
#include "text/utf8.h"
#include "text/vocabulary.h"

namespace fovea::web {
namespace {

const std::vector<std::string>& sentences() {
  static const std::vector<std::string> lines = [] {
    std::vector<std::string> made = {"",
                                     " ",
                                     "\t",
                                     "  two  spaces  ",
                                     " a",
                                     "a ",
                                     "\u3000全角\u3000空白\u3000",
                                     "ﬁnancial ①②③ ｆｕｌｌ ｗｉｄｔｈ ½ ™ Ⅷ",
                                     "e\u0301 é Å A\u030A",
                                     "한국어 조합 \u1112\u1161\u11AB",
                                     "smile 😀 and wave 👋🏽",
                                     "\u2581 written \u2581\u2581 spaces",
                                     "<s> </s> <unk> <pad> <0x0A>",
                                     "broken \xC3 bytes \xE2\x82 and \xFF\xFE",
                                     "line\nbreak\r\n",
                                     "\u00A0no\u00A0break\u200B\uFEFF",
                                     "<turn><a><ab> <a b> x<ab>y",
                                     "don't—“quote”…",
                                     "ＡＢＣ１２３",
                                     std::string("zero \0 byte", 11)};
    // Prose in English and Chinese, and code.
    for (const char* name :
         {"README.md", "CHANGELOG.md", "docs/attention.md", "docs/data.md", "models/zh-en/README.md",
          "models/sentiment-zh/about.json", "web/src/i18n/zh.ts", "tests/text/vocabulary_test.cpp"}) {
      const std::string text = read_file(std::string(FOVEA_SOURCE) + "/" + name);
      for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        made.push_back(text.substr(begin, end - begin));
        begin = end + 1;
      }
    }
    if (const char* more = std::getenv("FOVEA_SENTENCES")) {
      std::string text = read_file(more);
      for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        made.push_back(text.substr(begin, end - begin));
        begin = end + 1;
      }
    }
    // Any bytes, any characters, and a few letters and spaces.
    Random random(5);
    const auto random_line = [&](const std::function<void(std::string&)>& add) {
      std::string& line = made.emplace_back();
      for (uint64_t n = random.below(40); n > 0; --n) add(line);
    };
    for (int i = 0; i < 400; ++i) {
      random_line([&](std::string& line) { line += static_cast<char>(random.below(256)); });
      random_line([&](std::string& line) {
        const auto point = static_cast<char32_t>(random.below(random.below(2) == 0 ? 0x3000 : 0x11000));
        if (point < 0xD800 || point > 0xDFFF) append_code_point(line, point);
      });
      random_line([&](std::string& line) { line += "eno tis\u00E9 "[random.below(9)]; });
    }
    return made;
  }();
  return lines;
}

std::string without_tabs(std::string text) {
  for (char& c : text) c = c == '\t' ? ' ' : c;
  return text;
}

// All places, as a text that a failure shows.
template <class Pieces> std::string listed(const Pieces& pieces) {
  std::string list;
  for (const auto& p : pieces) list += fmt::format("{}[{},{}) ", p.id(), p.begin(), p.end());
  return list;
}
std::string listed(const std::vector<SubwordModel::Place>& places) {
  std::string list;
  for (const auto& p : places) list += fmt::format("{}[{},{}) ", p.id, p.begin, p.end);
  return list;
}

void expect_equal(const std::string& bytes) {
  sentencepiece::SentencePieceProcessor library;
  ASSERT_TRUE(library.LoadFromSerializedProto(bytes).ok());
  const SubwordModel own(bytes, "model");
  ASSERT_EQ(std::ssize(own.pieces()), library.GetPieceSize());
  for (int id = 0; id < library.GetPieceSize(); ++id) {
    const SubwordModel::Piece& piece = own.pieces()[static_cast<size_t>(id)];
    ASSERT_EQ(piece.text, library.IdToPiece(id));
    ASSERT_EQ(piece.score, library.GetScore(id));
    ASSERT_EQ(piece.type == SubwordModel::Type::kControl, library.IsControl(id));
    ASSERT_EQ(piece.type == SubwordModel::Type::kByte, library.IsByte(id));
  }
  Random random(9);
  for (const std::string& sentence : sentences()) {
    const std::string text = without_tabs(sentence);
    ASSERT_EQ(listed(own.encode(text)), listed(library.EncodeAsImmutableProto(text).pieces())) << text;
    // Its own ids, and any others.
    std::vector<int> ids = library.EncodeAsIds(text);
    for (int round = 0; round < 2; ++round) {
      std::vector<SubwordModel::Place> places;
      const std::string decoded = own.decode(ids, places);
      const auto expected = library.DecodeIdsAsImmutableProto(ids);
      ASSERT_EQ(decoded, expected.text()) << text;
      ASSERT_EQ(listed(places), listed(expected.pieces())) << text;
      for (int& id : ids) {
        id = static_cast<int>(random.below(random.below(2) == 0 ? 300 : static_cast<uint64_t>(library.GetPieceSize())) %
                              static_cast<uint64_t>(library.GetPieceSize()));
      }
    }
  }
}

TEST(WebSubwords, EqualTheLibraryOnShippedModels) {
  int models = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(std::string(FOVEA_SOURCE) + "/models")) {
    if (file.path().extension() != ".spm") continue;
    SCOPED_TRACE(file.path().string());
    expect_equal(read_file(file.path().string()));
    ++models;
  }
  EXPECT_GE(models, 4);
}

struct Case {
  const char *kind, *normalisation;
  bool byte_fallback;
  std::vector<std::string> symbols;
};
class Trained : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(WebSubwords, Trained,
                         testing::Values(Case{"unigram", "identity", false, {}}, Case{"unigram", "nmt_nfkc", true, {}},
                                         Case{"unigram", "nfkc_cf", false, {"<turn>", "<a>", "<ab>"}},
                                         Case{"bpe", "identity", true, {}}, Case{"bpe", "nmt_nfkc_cf", false, {}},
                                         Case{"bpe", "nfkc", true, {"<turn>", "<a>", "<ab>"}}));

TEST_P(Trained, EqualTheLibrary) {
  VocabularyOptions options;
  options.kind = GetParam().kind;
  options.size = 1500;
  options.normalisation = GetParam().normalisation;
  options.byte_fallback = GetParam().byte_fallback;
  options.symbols = GetParam().symbols;
  const std::vector<std::string> lines(sentences().begin() + 20, sentences().begin() + 400);
  expect_equal(train_vocabulary(lines, options).vocabulary->bytes());
}

// Every damaged file is refused or read; none makes the reader leave its memory.
TEST(WebSubwords, RefuseDamagedModels) {
  const std::string bytes = read_file(std::string(FOVEA_SOURCE) + "/models/en-zh/source.spm");
  EXPECT_ERROR(SubwordModel("", "a.spm"), "a.spm: expected a SentencePiece model, got no pieces");
  EXPECT_THROW(SubwordModel("no model at all", "a.spm"), Error);
  EXPECT_THROW(SubwordModel(bytes.substr(0, bytes.size() / 2) + "\x0A", "a.spm"), Error);
  Random random(3);
  int refused = 0;
  for (int i = 0; i < 200; ++i) {
    std::string damaged = bytes;
    for (int n = 0; n < 8; ++n) damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    if (i % 2 == 0) damaged.resize(random.below(damaged.size()));
    try {
      const SubwordModel model(damaged, "a.spm");
      for (size_t line = 0; line < 40; ++line) model.encode(sentences()[line]);
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 50);
}

}  // namespace
}  // namespace fovea::web
