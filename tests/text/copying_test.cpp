#include "text/copying.h"

#include "support.h"
#include "temporary_folder.h"
#include "text/batches.h"
#include "text/words.h"

namespace fovea {
namespace {

using Ids = std::vector<int32_t>;
using Words = std::vector<std::string>;

std::shared_ptr<const Vocabulary> trained(const std::string& kind, const Words& lines, int64_t min_count = 1,
                                          const Words& symbols = {}) {
  return train_vocabulary(lines, {.kind = kind, .size = 60, .min_count = min_count, .symbols = symbols}).vocabulary;
}

struct Encoded {
  CopiedSource source;
  Ids target;
  std::string text;  // of the target, decoded again
};
Encoded encode(const std::shared_ptr<const Vocabulary>& from, const std::shared_ptr<const Vocabulary>& to,
               const std::string& source, const std::string& target) {
  const CopyTable table(*from, *to);
  Encoded encoded;
  encoded.source = table.source(from->encode(source), unknown_entries(*from, source));
  encoded.target = table.target(to->encode(target), unknown_entries(*to, target), encoded.source.words);
  encoded.text = ExtendedVocabulary(to, encoded.source.words).decode(encoded.target);
  return encoded;
}

TEST(Copying, UnknownWordsHaveExtendedIds) {
  const auto words = trained("word", {"the king of"});  // ids 4 to 6, V = 7
  const Encoded e = encode(words, words, "Gondor the Rohan Gondor", "the king of Gondor and Rohan");
  const int32_t the = words->encode("the")[0];
  EXPECT_EQ(e.source.ids, (Ids{7, the, 8, 7}));
  EXPECT_EQ(e.source.words, (Words{"Gondor", "Rohan"}));
  EXPECT_EQ(e.target[3], 7);
  EXPECT_EQ(e.target[4], kUnknown);  // not in the source
  EXPECT_EQ(e.target[5], 8);
  EXPECT_EQ(e.text, "the king of Gondor ⁇ Rohan");
  EXPECT_EQ(encode(words, words, "Bree", "Bree").text, "Bree");
}

TEST(Copying, SeparateVocabulariesAreMappedByEntry) {
  const auto from = trained("word", {"rouge vin Paris"}), to = trained("word", {"red wine vin"});
  const Encoded e = encode(from, to, "vin Paris rouge Lyon", "wine Paris Lyon vin");
  EXPECT_EQ(e.source.ids[0], to->encode("vin")[0]);
  EXPECT_EQ(e.source.words, (Words{"Paris", "rouge", "Lyon"}));
  EXPECT_EQ(e.text, "wine Paris Lyon vin");
  EXPECT_ERROR(CopyTable(*from, *trained("character", {"abc"})),
               "model.copy: expected vocabularies with the same unit, because source tokens are copied to the target, "
               "got word and character");
}

TEST(Copying, CharactersAndSubwords) {
  const auto characters = trained("character", {"abc "});
  EXPECT_EQ(encode(characters, characters, "a☃b", "☃☃ a").text, "☃☃ a");
  const Words lines(20, "the low lower lowest newer newest wide widest");
  for (const char* kind : {"unigram", "bpe"}) {
    const auto subwords = trained(kind, lines);
    EXPECT_EQ(encode(subwords, subwords, "low ☃ newer", "the ☃ low").text, "the ☃ low") << kind;
    EXPECT_EQ(encode(subwords, subwords, "low x☃y", "lower ☃").text, "lower ⁇") << kind;
  }
}

TEST(Copying, DecodedTokensHaveTheirPlaces) {
  const auto words = trained("word", {"the of"});
  const ExtendedVocabulary vocabulary(words, {"Gondor"});
  std::vector<Token> tokens;
  const std::string text = vocabulary.decode(Ids{words->encode("the")[0], 6, 4, kEnd}, &tokens);
  ASSERT_EQ(tokens.size(), 4u);
  EXPECT_EQ(text.substr(tokens[1].begin, tokens[1].end - tokens[1].begin), "Gondor");
  EXPECT_EQ(tokens[1].text, "Gondor");
  EXPECT_EQ(tokens[1].id, 6);
  EXPECT_EQ(tokens[3].begin, text.size());
  EXPECT_EQ(vocabulary.piece(6), "Gondor");
  EXPECT_ERROR(vocabulary.decode(Ids{7}), "expected token ids from 0 to 6, got 7");
}

TEST(TokenVocabulary, SeparatesPunctuationAndJoinsItAgain) {
  const Words lines = {"Rome, (Italy): 3.5 km, \"18L/36R\" - don't. <triple> x|y 1,000,000!"};
  const auto tokens = trained("token", lines, 1, {"<triple>"});
  EXPECT_EQ(tokens->decode(tokens->encode(lines[0])), lines[0]);
  EXPECT_EQ(tokens->piece(tokens->encode("Rome,")[1]), "\uFFED,");
  EXPECT_EQ(tokens->encode("<triple>").size(), 1u);
  EXPECT_EQ(tokens->encode("3.5").size(), 1u);
  EXPECT_EQ(tokens->encode("Rome,")[0], tokens->encode("Rome")[0]);
  const TemporaryFolder folder;
  save_vocabulary(*tokens, folder.path(), "source");
  const auto loaded = load_vocabulary(folder.path(), "source");
  EXPECT_EQ(loaded->bytes(), tokens->bytes());
  EXPECT_EQ(loaded->encode(lines[0]), tokens->encode(lines[0]));
  EXPECT_EQ(loaded->kind(), "token");
  // Unknown marks are copied with their joiners, words without.
  const Encoded e = encode(tokens, tokens, "Oslo–Bergen", "Rome (Oslo–Bergen).");
  EXPECT_EQ(e.source.words, (Words{"Oslo", "\uFFED–\uFFED", "Bergen"}));
  EXPECT_EQ(e.text.find("Oslo–Bergen") != std::string::npos, true) << e.text;
}

TEST(Identifiers, AreReadAsWords) {
  EXPECT_EQ(split_identifiers("A B | cityServed | is_part_of  x"), "A B | city served | is part of  x");
  EXPECT_EQ(split_identifiers("elevationAboveTheSeaLevel runwayICAOCode"),
            "elevation above the sea level runway icao code");
  for (const char* same : {"McDonald iOS? eMail@x plain 18L _x x_ ÉcoleDeux", "", " ", "ABC", "a"}) {
    EXPECT_EQ(split_identifiers(same), same);
  }
  EXPECT_EQ(split_identifiers(split_identifiers("cityServed")), "city served");
}

// A corpus of two pairs with V = 10.
struct CopyCorpus {
  CopyCorpus() {
    corpus.source.append(Ids{kUnknown, 5, kUnknown});
    corpus.copied.append(Ids{10, 5, 11});
    corpus.target.append(Ids{5, 11, kUnknown});
    corpus.source.append(Ids{6});
    corpus.copied.append(Ids{6});
    corpus.target.append(Ids{6, 7});
    corpus.lines = {0, 1};
  }
  ParallelCorpus corpus;
};

TEST(CopyBatches, HaveCopiedAndGeneratedIds) {
  const CopyCorpus made;
  const std::vector<int64_t> rows{0, 1};
  const Batch batch = make_batch(made.corpus, rows, {}, Device::cpu(), {.vocabulary = 10});
  EXPECT_EQ(to_host<int32_t>(batch.copied), (Ids{10, 5, 11, kEnd, 6, kEnd, kPad, kPad}));
  EXPECT_EQ(to_host<int32_t>(batch.target_out), (Ids{5, 6, 11, 7, kUnknown, kEnd, kEnd, kPad}));
  EXPECT_EQ(to_host<int32_t>(batch.target_in), (Ids{kBegin, kBegin, 5, 6, kUnknown, 7, kUnknown, kPad}));
  EXPECT_EQ(to_host<int32_t>(batch.generated), (Ids{5, 6, kPad, 7, kUnknown, kEnd, kEnd, kPad}));
  EXPECT_EQ(batch.extended, kExtendedMultiple);
  BatchOptions reversed;
  reversed.reverse_source = true;
  EXPECT_EQ(to_host<int32_t>(make_batch(made.corpus, rows, reversed, Device::cpu(), {.vocabulary = 10}).copied),
            (Ids{11, 5, 10, kEnd, 6, kEnd, kPad, kPad}));
  EXPECT_FALSE(make_batch(made.corpus, rows, {}, Device::cpu()).copied);
  ParallelCorpus without;
  without.source.append(Ids{5});
  EXPECT_ERROR(make_batch(without, std::vector<int64_t>{0}, {}, Device::cpu(), {.vocabulary = 10}),
               "batches: expected a corpus with copied ids");
}

TEST(CopyBatches, HideWordsOfBothSides) {
  const CopyCorpus made;
  const std::vector<int64_t> rows{0, 1};
  const Batch all = make_batch(made.corpus, rows, {}, Device::cpu(), {.vocabulary = 10, .hidden = 1});
  EXPECT_EQ(to_host<int32_t>(all.copied), (Ids{10, 12, 11, kEnd, 10, kEnd, kPad, kPad}));
  EXPECT_EQ(to_host<int32_t>(all.source), (Ids{kUnknown, kUnknown, kUnknown, kEnd, kUnknown, kPad, kEnd, kPad}));
  EXPECT_EQ(to_host<int32_t>(all.target_out), (Ids{12, 10, 11, 7, kUnknown, kEnd, kEnd, kPad}));
  // Half of the words, in every epoch others; the same in every batch of an epoch.
  int64_t hidden = 0;
  for (uint64_t epoch = 0; epoch < 200; ++epoch) {
    const CopyOptions options{.vocabulary = 10, .hidden = 0.5, .seed = 3, .epoch = epoch};
    const Batch batch = make_batch(made.corpus, rows, {}, Device::cpu(), options);
    const int32_t second = to_host<int32_t>(batch.copied)[4];
    hidden += second >= 10 ? 1 : 0;
    const Batch alone = make_batch(made.corpus, std::vector<int64_t>{1}, {}, Device::cpu(), options);
    EXPECT_EQ(to_host<int32_t>(alone.copied)[0], second);
  }
  EXPECT_NEAR(static_cast<double>(hidden), 100, 35);
}

}  // namespace
}  // namespace fovea
