// SentencePiece models that others trained, with their special pieces in other places and under other names.
#include "text/sentencepiece_import.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include "base/files.h"
#include "base/random.h"
#include "support.h"
#include "temporary_folder.h"

namespace fovea {
namespace {

const std::vector<std::string> kLines = {"the new house is lower than the old low house",
                                         "a red fox ran over the wet grass",
                                         "我喜欢读书 and she gave him 12 yen <turn>"};

// The path of a model that SentencePiece trains with these options.
std::string trained(const TemporaryFolder& folder, const std::string& name, const std::string& options) {
  std::string text;
  for (int i = 0; i < 20; ++i) {
    for (const std::string& line : kLines) text += line + "\n";
  }
  const std::string command = fmt::format("--input={} --model_prefix={} --hard_vocab_limit=false --minloglevel=3 {}{}",
                                          folder.file("text", text), folder.file(name), options,
                                          options.find("vocab_size") == std::string::npos ? " --vocab_size=90" : "");
  EXPECT_TRUE(sentencepiece::SentencePieceTrainer::Train(command).ok()) << command;
  return folder.file(name + ".model");
}

struct Case {
  const char *name, *options, *begin;
  int64_t added;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }  // NOLINT(readability-identifier-naming)

class Import : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(
    SentencePiece, Import,
    testing::Values(Case{"defaults", "", "<s>", 1},                                                      //
                    Case{"bpe", "--model_type=bpe", "<s>", 1},                                           //
                    Case{"padded", "--pad_id=0 --eos_id=1 --unk_id=2 --bos_id=-1", "<s>", 1},            //
                    Case{"ours", "--pad_id=0 --unk_id=1 --bos_id=2 --eos_id=3", "<s>", 0},               //
                    Case{"last", "--pad_id=3", "<s>", 0},                                                //
                    Case{"named", "--bos_piece=[CLS] --eos_piece=[SEP] --unk_piece=[UNK]", "[CLS]", 1},  //
                    Case{"symbols", "--user_defined_symbols=<turn> --byte_fallback=true --vocab_size=360", "<s>", 1}),
    [](const auto& c) { return c.param.name; });

TEST_P(Import, HasOurSpecialIdsAndSplitsAsBefore) {
  const TemporaryFolder folder;
  const std::string path = trained(folder, "theirs", GetParam().options);
  sentencepiece::SentencePieceProcessor theirs;
  ASSERT_TRUE(theirs.Load(path).ok());
  const auto imported = import_sentencepiece(path);
  EXPECT_EQ(imported->size(), theirs.GetPieceSize() + GetParam().added);
  EXPECT_EQ(imported->piece(kPad), "<pad>");
  EXPECT_EQ(imported->piece(kBegin), GetParam().begin);
  EXPECT_EQ(imported->decode(std::vector<int32_t>{kPad, kBegin, kEnd}), "");
  EXPECT_EQ(imported->decode(std::vector<int32_t>{kUnknown}), kUnknownText);
  for (const std::string& line : kLines) {
    std::vector<std::string> expected, got;
    for (const int id : theirs.EncodeAsIds(line)) expected.push_back(theirs.IdToPiece(id));
    for (const int32_t id : imported->encode(line)) got.push_back(imported->piece(id));
    EXPECT_EQ(got, expected);
    EXPECT_EQ(imported->decode(imported->encode(line)), line);
  }
  // It is as good as one of ours: it is saved, loaded, and imported again as it is.
  save_vocabulary(*imported, folder.path(), "source");
  EXPECT_EQ(load_vocabulary(folder.path(), "source")->bytes(), imported->bytes());
  const auto again = import_sentencepiece(folder.file("source.spm"));
  EXPECT_EQ(again->size(), imported->size());
  for (const std::string& line : kLines) EXPECT_EQ(again->encode(line), imported->encode(line));
}

TEST(SentencePieceImport, OtherFilesAreNamedErrors) {
  const TemporaryFolder folder;
  EXPECT_ERROR(import_sentencepiece(folder.file("none")), "none: cannot open");
  EXPECT_ERROR(import_sentencepiece(folder.file("empty", "")), "empty: not a SentencePiece model");
  EXPECT_ERROR(import_sentencepiece(folder.file("list", "fovea word vocabulary, 2 entries\na\nb\n")),
               "list: not a SentencePiece model");
  EXPECT_ERROR(import_sentencepiece(trained(folder, "words", "--model_type=word")),
               "words.model: expected a SentencePiece model of type unigram or bpe");
}

TEST(SentencePieceImport, DamagedFilesAreErrorsOrModels) {
  const TemporaryFolder folder;
  const std::string bytes = read_file(trained(folder, "m", "--normalization_rule_name=identity"));
  Random random(1);
  int64_t refused = 0;
  for (int i = 0; i < 300; ++i) {
    std::string damaged = bytes.substr(0, i % 2 == 0 ? random.below(bytes.size()) : bytes.size());
    for (uint64_t flips = random.below(4) + (i % 2); flips > 0 && !damaged.empty(); --flips) {
      damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    }
    try {
      EXPECT_GT(import_sentencepiece(folder.file("damaged", damaged))->size(), 4);
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("damaged"), std::string::npos) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace fovea
