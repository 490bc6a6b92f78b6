// Models of CTranslate2.
#include <filesystem>

#include "interchange/samples.h"
#include "store/folder_config.h"
#include "support.h"
#include "temporary_folder.h"

namespace fovea {

namespace {

class CTranslate2 : public testing::TestWithParam<const char*> {};

TEST_P(CTranslate2, AnswersAsTheReference) {
  expect_as_reference(sample_folder(GetParam()), expected_of(GetParam()), read_ctranslate2(sample_folder(GetParam())));
}

INSTANTIATE_TEST_SUITE_P(Samples, CTranslate2, testing::Values("ctranslate2-shared", "ctranslate2-words"),
                         [](const auto& about) { return std::string(about.param).substr(12); });

TEST(CTranslate2Folder, DescribesItself) {
  const FolderConfig shared = read_folder_config(sample_folder("ctranslate2-shared")),
                     words = read_folder_config(sample_folder("ctranslate2-words"));
  EXPECT_EQ(shared.model.positions, "sinusoidal");
  EXPECT_EQ(shared.model.activation, "swish");
  EXPECT_TRUE(shared.end_source);
  EXPECT_EQ(words.model.positions, "learned");  // those that CTranslate2 computes are not the paper's
  EXPECT_EQ(words.model.norm, "pre");
  EXPECT_EQ(words.model.self_attention.heads, 8);
  EXPECT_FALSE(words.end_source);
}

TEST(CTranslate2Folder, RefusesDamagedFiles) {
  const std::string good = bytes_of_file(sample_folder("ctranslate2-shared") + "/model.bin");
  const TemporaryFolder folder;
  std::filesystem::copy(sample_folder("ctranslate2-shared"), folder.path(), kCopy);
  const auto refused = [&](std::string bytes, const std::string& message) {
    folder.file("model.bin", bytes);
    EXPECT_ERROR(load_model(folder.path(), Device::cpu()), message);
  };
  const auto changed = [&](size_t at, std::string_view bytes) {
    return std::string(good).replace(at, bytes.size(), bytes);
  };
  refused("", "truncated");
  refused(changed(0, "\x09"), "binary version 2 to 6, got 9");
  refused(changed(0, "\x01"), "binary version 2 to 6, got 1");
  refused(changed(6, "W"), "TransformerSpec");
  refused(changed(4, std::string_view("\x02\x00", 2)), "expected a name");
  const size_t name = good.find("decoder/alignment_heads") + sizeof("decoder/alignment_heads");
  refused(changed(name, "\xff"), "at most 8 axes");                     // its rank
  refused(changed(name + 1, "\x77"), "element type");                   // its type
  refused(changed(name + 2, "\xff\xff\xff\x7f"), "as its shape says");  // its bytes
  const size_t table = good.find(std::string("decoder/embeddings/weight\0\2", 27)) + 27;
  refused(changed(table, "\xff\xff\xff\xff\xff\xff\xff\xff"), "too short for its shape");
  refused(good + "x", ": expected ");
  for (size_t bytes = 0; bytes < good.size(); bytes += bytes < 200 ? 7 : 997) {
    folder.file("model.bin", good.substr(0, bytes));
    EXPECT_ERROR(load_model(folder.path(), Device::cpu()), ": ");
  }
}

TEST(CTranslate2Folder, RefusesDamagedVocabularies) {
  const TemporaryFolder folder;
  std::filesystem::copy(sample_folder("ctranslate2-shared"), folder.path(), kCopy);
  const auto refused = [&](const std::string& json, const std::string& message) {
    folder.file("shared_vocabulary.json", json);
    EXPECT_ERROR(load_model(folder.path(), Device::cpu()), message);
  };
  refused("{}", "expected a list of tokens");
  refused("[1, 2]", "expected strings");
  refused(R"(["a", "b"])", "</s>");
  refused(R"(["</s>", "<unk>", "a"])", "expected the shape");
  refused(std::string(100000, '['), "levels deep");
  std::filesystem::remove(folder.file("shared_vocabulary.json"));
  EXPECT_ERROR(load_model(folder.path(), Device::cpu()), "shared_vocabulary.json");
}

}  // namespace

}  // namespace fovea
