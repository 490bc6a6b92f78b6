#include "text/vocabulary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/files.h"
#include "support.h"
#include "temporary_folder.h"
#include "text/utf8.h"

namespace fovea {
namespace {

using Ids = std::vector<int32_t>;

const std::vector<std::string>& corpus() {
  static const std::vector<std::string> lines = [] {
    std::vector<std::string> made;
    const std::vector<std::string> sentences = {"the lowest newest house is lower than the new low house",
                                                "ein neues Haus steht in der Straße über dem Fluss",
                                                "我 喜欢 学习 新 的 语言",
                                                "我喜欢学习新的语言，也喜欢读书。",
                                                "cafe\u0301 is not café, but e\u0301 is é",
                                                "smile 😀 and wave 👋🏽 and smile 😀 again",
                                                "日本語を勉強しています",
                                                "a\tb"};
    for (int i = 0; i < 4; ++i) made.insert(made.end(), sentences.begin(), sentences.end());
    Random random(1);
    const std::string_view sounds = "lowenisthr";
    for (int i = 0; i < 60; ++i) {
      std::string& line = made.emplace_back("low");
      for (int letter = 0; letter < 30; ++letter) line += letter % 6 ? sounds[random.below(sounds.size())] : ' ';
    }
    return made;
  }();
  return lines;
}

VocabularyOptions options(const std::string& kind, int64_t size = 8000) {
  VocabularyOptions made;
  made.kind = kind;
  made.size = size;
  made.coverage = 1;
  return made;
}

std::unique_ptr<Vocabulary> train(const VocabularyOptions& with) { return train_vocabulary(corpus(), with).vocabulary; }

class EveryKind : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Vocabulary, EveryKind, testing::Values("unigram", "bpe", "word", "character"),
                         [](const auto& kind) { return kind.param; });

// Marks that a user defines are one token each, in every kind of vocabulary, also after it was saved and loaded, and
// whatever subword sampling does to the words around them.
TEST_P(EveryKind, SymbolsAreOneToken) {
  VocabularyOptions with = options(GetParam(), 200);
  with.symbols = {"<turn>", "<a>", "<ab>"};
  const auto trained = train(with);
  const TemporaryFolder folder;
  save_vocabulary(*trained, folder.path(), "source");
  const auto loaded = load_vocabulary(folder.path(), "source");
  EXPECT_EQ(loaded->size(), trained->size());
  const std::string line = "<a> the low house <turn> <ab> the new house";
  for (const Vocabulary* vocabulary : {trained.get(), loaded.get()}) {
    std::vector<std::string> marks;
    for (const Token& token : vocabulary->tokenise(line)) {
      if (token.text.starts_with("<")) marks.push_back(token.text);
      EXPECT_NE(token.id, kUnknown) << token.text;
    }
    EXPECT_EQ(marks, (std::vector<std::string>{"<a>", "<turn>", "<ab>"}));
    EXPECT_EQ(vocabulary->decode(vocabulary->encode(line)), line);
    EXPECT_EQ(vocabulary->encode("<turn>").size(), 1u);
    Random random(3);
    for (int i = 0; i < 20; ++i) {
      const Ids sampled = vocabulary->sample(line, 0.5, random);
      EXPECT_EQ(std::count(sampled.begin(), sampled.end(), vocabulary->encode("<turn>").front()), 1);
      EXPECT_EQ(vocabulary->decode(sampled), line);
    }
  }
  for (const char* wrong : {"", "two words", "a,b", "<s>"}) {
    with.symbols = {wrong};
    EXPECT_ERROR(train(with), "vocabulary: symbols: ");
  }
  with.symbols = {"<a>", "<a>"};
  EXPECT_ERROR(train(with), "expected each symbol once");
}

TEST_P(EveryKind, DecodesWhatItEncodes) {
  const auto vocabulary = train(options(GetParam(), 400));
  EXPECT_EQ(vocabulary->kind(), GetParam());
  for (const std::string& line : corpus()) {
    const Ids ids = vocabulary->encode(line);
    std::string expected = line;
    if (vocabulary->kind() != "character") std::replace(expected.begin(), expected.end(), '\t', ' ');
    EXPECT_EQ(std::count(ids.begin(), ids.end(), kUnknown), 0) << line;
    EXPECT_EQ(vocabulary->decode(ids), expected);
  }
}

TEST_P(EveryKind, AcceptsAnOverlongWord) {
  const std::string word(900'000, 'w');
  std::vector<std::string> lines = corpus();
  lines.push_back("a " + word);
  lines.push_back(std::string("NBSP") + [] {
    std::string text;
    for (int i = 0; i < 40'000; ++i) text += "x\u00A0";  // one word to SentencePiece
    return text;
  }());
  VocabularyOptions with = options(GetParam(), 200);
  with.normalisation = "nmt_nfkc";
  const auto vocabulary = train_vocabulary(lines, with).vocabulary;
  EXPECT_FALSE(vocabulary->encode(word).empty());
  EXPECT_EQ(vocabulary->tokenise(word).size(), vocabulary->encode(word).size());
}

TEST_P(EveryKind, TokensPointIntoTheText) {
  const auto vocabulary = train(options(GetParam(), 200));
  for (const std::string line :
       {"the  new Straße 我喜欢 😀 cafe\u0301", " leading", "trailing ", "ungesehen ☃ \u3000x"}) {
    const std::vector<Token> tokens = vocabulary->tokenise(line);
    Ids ids;
    size_t covered = 0;
    for (const Token& token : tokens) {
      ids.push_back(token.id);
      EXPECT_EQ(line.substr(token.begin, token.end - token.begin), token.text);
      // Only spaces are between tokens.
      const std::string between = line.substr(covered, token.begin - covered);
      EXPECT_EQ(between.find_first_not_of(" \u3000"), std::string::npos) << line << " | " << between;
      covered = token.end;
    }
    EXPECT_EQ(line.substr(covered).find_first_not_of(' '), std::string::npos);
    EXPECT_EQ(ids, vocabulary->encode(line));
  }
}

TEST_P(EveryKind, DecodedTokensPointIntoTheResult) {
  const auto vocabulary = train(options(GetParam(), 200));
  Ids ids = vocabulary->encode("the new house 我喜欢 😀");
  ids.insert(ids.begin(), kBegin);
  ids.insert(ids.begin() + 3, kUnknown);
  ids.push_back(kEnd);
  ids.push_back(kPad);
  std::vector<Token> tokens;
  const std::string text = vocabulary->decode(ids, &tokens);
  ASSERT_EQ(tokens.size(), ids.size());
  EXPECT_NE(text.find(kUnknownText), std::string::npos);
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(tokens[i].id, ids[i]);
    EXPECT_EQ(text.substr(tokens[i].begin, tokens[i].end - tokens[i].begin), tokens[i].text);
    EXPECT_EQ(tokens[i].text.empty(), is_control_token(ids[i]) || vocabulary->piece(ids[i]) == "\u2581") << i;
  }
  EXPECT_TRUE(tokens[0].starts_word);
  EXPECT_TRUE(tokens[1].starts_word);
  EXPECT_TRUE(tokens[ids.size() - 2].starts_word);
}

TEST_P(EveryKind, WordsMerge) {
  const auto vocabulary = train(options(GetParam(), 150));
  const std::string text = "lowest Haus 😀 newest";
  std::vector<std::string> words;
  for (const Token& token : vocabulary->tokenise(text)) {
    if (token.starts_word) words.emplace_back();
    words.back() += token.text;
  }
  for (std::string& word : words)
    if (word.ends_with(' ')) word.pop_back();  // a character of its own
  EXPECT_EQ(words, (std::vector<std::string>{"lowest", "Haus", "😀", "newest"}));
}

TEST_P(EveryKind, SurvivesItsFile) {
  const TemporaryFolder folder;
  const auto vocabulary = train(options(GetParam(), 200));
  save_vocabulary(*vocabulary, folder.path(), "source");
  const auto loaded = load_vocabulary(folder.path(), "source");
  EXPECT_EQ(loaded->kind(), vocabulary->kind());
  ASSERT_EQ(loaded->size(), vocabulary->size());
  for (int32_t id = 0; id < loaded->size(); ++id) EXPECT_EQ(loaded->piece(id), vocabulary->piece(id));
  for (const std::string& line : corpus()) EXPECT_EQ(loaded->encode(line), vocabulary->encode(line));
  EXPECT_EQ(loaded->bytes(), vocabulary->bytes());
}

TEST_P(EveryKind, IsTheSameEveryTime) {
  EXPECT_EQ(train(options(GetParam()))->bytes(), train(options(GetParam()))->bytes());
}

TEST_P(EveryKind, BeginsWithTheSpecialPieces) {
  const auto vocabulary = train(options(GetParam(), 200));
  EXPECT_EQ(vocabulary->piece(kPad), "<pad>");
  EXPECT_EQ(vocabulary->piece(kUnknown), "<unk>");
  EXPECT_EQ(vocabulary->piece(kBegin), "<s>");
  EXPECT_EQ(vocabulary->piece(kEnd), "</s>");
  // Text that spells a special piece is encoded as text.
  for (const int32_t id : vocabulary->encode("<s> </s> <pad>")) EXPECT_FALSE(is_control_token(id));
  EXPECT_EQ(vocabulary->decode(Ids{kBegin, kEnd, kPad}), "");
}

TEST_P(EveryKind, EmptyAndInvalidText) {
  const auto vocabulary = train(options(GetParam(), 200));
  EXPECT_TRUE(vocabulary->encode("").empty());
  EXPECT_TRUE(vocabulary->tokenise("").empty());
  EXPECT_EQ(vocabulary->decode({}), "");
  EXPECT_NO_THROW(vocabulary->tokenise(std::string("\xFF\xE4 a\0b \x80", 8)));
  EXPECT_ERROR(vocabulary->decode(Ids{5, static_cast<int32_t>(vocabulary->size())}),
               "vocabulary: expected token ids from 0 to");
  EXPECT_ERROR(vocabulary->decode(Ids{-1}), ", got -1");
  EXPECT_ERROR(vocabulary->piece(-1), "vocabulary: expected an id from 0 to");
  const std::vector<std::string> nothing, blank = {"", "  ", "\u3000"};
  EXPECT_ERROR(train_vocabulary(nothing, options(GetParam())), "vocabulary: expected text");
  if (vocabulary->kind() != "character") {
    EXPECT_ERROR(train_vocabulary(blank, options(GetParam())), "vocabulary: expected text");
  }
  EXPECT_ERROR(train_vocabulary(corpus(), options(GetParam(), 4)), "vocabulary: expected a size of at least 5, got 4");
}

TEST_P(EveryKind, SamplesRepeatablyAndLosesNothing) {
  const auto vocabulary = train(options(GetParam(), 200));
  const std::string text = "the lowest newest house 我 喜欢 😀";
  std::set<Ids> seen;
  Random first(7), second(7);
  for (int i = 0; i < 50; ++i) {
    const Ids ids = vocabulary->sample(text, 0.3, first);
    EXPECT_EQ(ids, vocabulary->sample(text, 0.3, second));
    EXPECT_EQ(vocabulary->decode(ids), text);
    seen.insert(ids);
  }
  const bool list = vocabulary->kind() == "word" || vocabulary->kind() == "character";
  EXPECT_EQ(seen.size() > 10, !list);
}

TEST(Vocabulary, UnigramSamplesFollowTheirProbabilities) {
  const auto vocabulary =
      train_vocabulary(std::vector<std::string>(5, "ab abc bc aabb cab"), options("unigram", 40)).vocabulary;
  std::map<Ids, int> counts;
  Random random(1);
  constexpr int kDraws = 20'000;
  for (int i = 0; i < kDraws; ++i) ++counts[vocabulary->sample("abc", 1e-9, random)];
  ASSERT_GT(counts.size(), 1u);
  // With an exponent of nearly zero every segmentation is equally likely.
  const double expected = static_cast<double>(kDraws) / static_cast<double>(counts.size());
  for (const auto& [ids, count] : counts) EXPECT_NEAR(count, expected, 5 * std::sqrt(expected));
  // With a large exponent only the best segmentation is drawn.
  for (int i = 0; i < 20; ++i) EXPECT_EQ(vocabulary->sample("abc", 1e4, random), vocabulary->encode("abc"));
}

TEST(Vocabulary, BpeDropoutGoesFromNoneToAll) {
  const auto vocabulary = train(options("bpe", 200));
  Random random(1);
  for (const std::string& line : corpus()) EXPECT_EQ(vocabulary->sample(line, 0, random), vocabulary->encode(line));
  EXPECT_EQ(vocabulary->sample("low", 1, random).size(), 4u);  // a space and three letters
}

TEST(Vocabulary, SmallTextLowersTheSizeWithAWarning) {
  for (const char* kind : {"unigram", "bpe"}) {
    const TrainedVocabulary trained = train_vocabulary(corpus(), options(kind, 8000));
    EXPECT_LT(trained.vocabulary->size(), 8000);
    EXPECT_EQ(trained.warning,
              fmt::format("the text is too small for 8000 {} tokens; trained {}", kind, trained.vocabulary->size()));
    EXPECT_EQ(train_vocabulary(corpus(), options(kind, 150)).warning, "");
    EXPECT_EQ(train_vocabulary(corpus(), options(kind, 150)).vocabulary->size(), 150);
    EXPECT_ERROR(train_vocabulary(corpus(), options(kind, 20)),
                 "vocabulary: this text has so many different characters that the size must be at least ");
    for (const char* tiny : {"a", "😀", "a a a", "▁", "\u2585 x\u2585", "a\tb"}) {
      try {
        EXPECT_GE(train_vocabulary(std::vector<std::string>{tiny}, options(kind)).vocabulary->size(), 5) << tiny;
      } catch (const Error& error) {
        EXPECT_EQ(std::string(error.what()), "vocabulary: expected text to train on, got none") << tiny;
      }
    }
  }
}

TEST(Vocabulary, CoverageIsForLargeScripts) {
  VocabularyOptions with = options("unigram", 2000);
  with.coverage = 0.99;
  std::vector<std::string> lines(2000, "the new house is low");
  lines.emplace_back("7");
  EXPECT_EQ(train_vocabulary(lines, with).vocabulary->encode("7").back() == kUnknown, false);
  std::string rare;
  for (char32_t value = 0x4E00; value < 0x4E00 + 400; ++value) append_code_point(rare, value);
  lines.push_back(rare);
  const auto vocabulary = train_vocabulary(lines, with).vocabulary;
  EXPECT_LT(vocabulary->size(), 350);
  with.coverage = 1;
  EXPECT_GT(train_vocabulary(lines, with).vocabulary->size(), 400);
}

TEST(Vocabulary, ByteFallbackEncodesUnknownCharacters) {
  for (const char* kind : {"unigram", "bpe"}) {
    VocabularyOptions with = options(kind, 500);
    EXPECT_NE(train(with)->decode(train(with)->encode("snow ☃")), "snow ☃");
    with.byte_fallback = true;
    const auto vocabulary = train(with);
    const Ids ids = vocabulary->encode("the ☃ Ж");
    EXPECT_EQ(vocabulary->decode(ids), "the ☃ Ж");
    std::vector<std::string> words;
    for (const Token& token : vocabulary->tokenise("the ☃ Ж")) {
      if (token.starts_word) words.emplace_back();
      words.back() += token.text;
    }
    EXPECT_EQ(words, (std::vector<std::string>{"the", "☃", "Ж"}));
    Random random(3);
    EXPECT_EQ(vocabulary->decode(vocabulary->sample("the ☃ Ж", 0.5, random)), "the ☃ Ж");
    // Half a character is not a character, and a sentence is one line.
    for (int32_t id = 0; id < vocabulary->size(); ++id) {
      const std::string text = vocabulary->decode(Ids{id});
      EXPECT_EQ(text.find('\n'), std::string::npos);
      EXPECT_EQ(text.find('\0'), std::string::npos);
    }
    EXPECT_EQ(vocabulary->decode(Ids{vocabulary->encode("☃")[1]}), "\uFFFD");
  }
}

TEST(Vocabulary, NormalisationIsAChoice) {
  VocabularyOptions with = options("unigram", 200);
  EXPECT_EQ(train(with)->decode(train(with)->encode("e\u0301")), "e\u0301");
  with.normalisation = "nmt_nfkc";
  const auto vocabulary = train(with);
  EXPECT_EQ(vocabulary->decode(vocabulary->encode("cafe\u0301")), "café");
  const std::string text = "\uFF4Cow cafe\u0301";  // a full-width l
  const std::vector<Token> tokens = vocabulary->tokenise(text);
  std::string joined;
  for (const Token& token : tokens) joined += token.text;
  EXPECT_EQ(joined, "\uFF4Cowcafe\u0301");
  EXPECT_ERROR(train_vocabulary(std::vector<std::string>{"\u200B", "\u00AD\u2060"}, with), "vocabulary: expected text");
}

TEST(Vocabulary, EveryPieceOfChineseIsAWord) {
  const auto vocabulary = train(options("unigram", 300));
  const std::vector<Token> tokens = vocabulary->tokenise("我喜欢学习 low");
  size_t words = 0;
  for (const Token& token : tokens) words += token.starts_word;
  EXPECT_GE(words, 3u);
  const auto characters = train(options("character"))->tokenise("我low喜");
  std::vector<bool> starts;
  starts.reserve(characters.size());
  for (const Token& token : characters) starts.push_back(token.starts_word);
  EXPECT_EQ(starts, (std::vector<bool>{true, true, false, false, true}));
}

TEST(Vocabulary, ListsAreSortedByCountThenByBytes) {
  const std::vector<std::string> lines = {"b a c", "a b", "d a"};
  const auto words = train_vocabulary(lines, options("word")).vocabulary;
  std::string order;
  for (int32_t id = 4; id < words->size(); ++id) order += words->piece(id);
  EXPECT_EQ(order, "abcd");
  EXPECT_EQ(words->encode("a zebra\td"), (Ids{4, kUnknown, 7}));
  EXPECT_EQ(words->decode(Ids{4, kUnknown, 7}), "a ⁇ d");
  EXPECT_EQ(train_vocabulary(lines, options("word", 6)).vocabulary->encode("a b c"), (Ids{4, 5, kUnknown}));
  VocabularyOptions frequent = options("word");
  frequent.min_count = 2;
  EXPECT_EQ(train_vocabulary(lines, frequent).vocabulary->size(), 6);
  frequent.min_count = 9;
  EXPECT_ERROR(train_vocabulary(lines, frequent), "vocabulary: expected text with words that occur at least 9 times");
}

TEST(Vocabulary, ListsMayIgnoreCase) {
  const TemporaryFolder folder;
  const std::vector<std::string> lines = {"The DOG the Ängste", "ängste"};
  for (const char* kind : {"word", "character"}) {
    VocabularyOptions options{.kind = kind, .lowercase = true};
    save_vocabulary(*train_vocabulary(lines, options).vocabulary, folder.path(), "source");
    const auto vocabulary = load_vocabulary(folder.path(), "source");
    EXPECT_EQ(vocabulary->encode("THE dog ÄNGSTE"), vocabulary->encode("the dog ängste"));
    for (const int32_t id : vocabulary->encode("ÄNGSTE DOG")) EXPECT_NE(id, kUnknown);
    const std::vector<Token> tokens = vocabulary->tokenise("The ÄNGSTE");
    EXPECT_EQ(tokens.front().text, std::string(kind) == "word" ? "The" : "T");  // as it is written
    EXPECT_EQ(tokens.back().end, 11u);
  }
}

TEST(Vocabulary, FilesOfListsAreChecked) {
  const TemporaryFolder folder;
  const auto load = [&](std::string_view text) {
    folder.file("source.vocab", text);
    return load_vocabulary(folder.path(), "source");
  };
  const std::string path = folder.file("source.vocab");
  EXPECT_EQ(load("fovea character vocabulary, 3 entries\n\\t\n\\\\\n \n")->encode("\t\\ "), (Ids{4, 5, 6}));
  EXPECT_ERROR(load(""), path + ": expected a vocabulary, got an empty file");
  EXPECT_ERROR(load("words\na\n"), path + ":1: expected \"fovea word vocabulary, N entries\"");
  EXPECT_ERROR(load("fovea word vocabulary, 1x entries\na\n"), path + ":1: expected");
  EXPECT_ERROR(load("fovea word vocabulary, 2 entries\na\na\n"), path + ":3: duplicate entry \"a\"");
  EXPECT_ERROR(load("fovea word vocabulary, 2 entries\na\n\n"), path + ":3: expected an entry, got an empty line");
  EXPECT_ERROR(load("fovea word vocabulary, 2 entries\na\n"), path + ": expected 2 entries, got 1");
  EXPECT_ERROR(load("fovea word vocabulary, 1 entries\na\nb\n"), path + ": expected 1 entries, got 2");
  EXPECT_ERROR(load("fovea word vocabulary, 1 entries\na\\q\n"), path + ":2: expected \\\\, \\n, \\r or \\t");
  EXPECT_ERROR(load("fovea word vocabulary, 1 entries\na\\\n"), path + ":2: expected \\\\, \\n, \\r or \\t");
  EXPECT_ERROR(load("fovea word vocabulary, 1 entries\n\xFF\n"), path + ":2: not valid UTF-8");
  EXPECT_ERROR(load_vocabulary(folder.path(), "target"), "target.vocab, found neither");
}

TEST(Vocabulary, FilesOfModelsAreChecked) {
  const TemporaryFolder folder;
  const std::string whole = train(options("bpe", 200))->bytes();
  const std::string path = folder.file("source.spm");
  const auto load = [&](std::string_view bytes) {
    folder.file("source.spm", bytes);
    return load_vocabulary(folder.path(), "source");
  };
  EXPECT_ERROR(load("not a model"), path + ": not a SentencePiece model");
  EXPECT_ERROR(load(""), path + ": not a SentencePiece model");
  for (size_t length = 1; length < whole.size(); length += 7) {
    try {
      load(std::string_view(whole).substr(0, length));
    } catch (const Error& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with(path + ": ")) << error.what();
    }
  }
}

TEST(Vocabulary, OneKindReplacesAnother) {
  const TemporaryFolder folder;
  save_vocabulary(*train(options("bpe", 200)), folder.path(), "source");
  save_vocabulary(*train(options("word")), folder.path(), "source");
  EXPECT_EQ(load_vocabulary(folder.path(), "source")->kind(), "word");
  save_vocabulary(*train(options("unigram", 200)), folder.path(), "source");
  EXPECT_EQ(load_vocabulary(folder.path(), "source")->kind(), "unigram");
}

TEST(Vocabulary, UnknownKindsAreRefused) {
  EXPECT_ERROR(train_vocabulary(corpus(), options("syllable")),
               "expected unigram, bpe, word, token or character as kind, got \"syllable\"");
}

TEST(Vocabulary, CaseFoldingKeepsTheOffsetsOfTheText) {
  const std::vector<std::string> lines(50, "the cat saw a straße in the City");
  VocabularyOptions options{.kind = "bpe", .size = 60};
  options.normalisation = "nmt_nfkc_cf";
  const auto vocabulary = train_vocabulary(lines, options).vocabulary;
  EXPECT_EQ(vocabulary->encode("The CAT"), vocabulary->encode("the cat"));
  const std::string text = "THE Cat saw";
  std::string covered;
  for (const Token& token : vocabulary->tokenise(text)) covered += text.substr(token.begin, token.end - token.begin);
  EXPECT_EQ(covered, "THECatsaw");
}

}  // namespace
}  // namespace fovea
