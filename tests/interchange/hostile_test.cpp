// Files that attack the readers: pickles that call functions, archives and headers that lie about their sizes.
#include <filesystem>
#include <random>

#include "interchange/samples.h"
#include "store/foreign_tensors.h"
#include "store/foreign_vocabulary.h"
#include "store/pickle.h"
#include "support.h"
#include "temporary_folder.h"

namespace fovea {

namespace {

std::string little_endian(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i);
  return text;
}

Pickle pickle_of(const std::string& operations) {
  static std::string bytes;
  bytes = "\x80\x02" + operations + ".";
  return Pickle(bytes, "file");
}

TEST(PickleReader, CallsNothing) {
  const TemporaryFolder folder;
  const std::string touched = folder.file("touched");
  const std::string command = "touch " + touched;
  const std::string text = "X" + little_endian(command.size(), 4) + command;
  EXPECT_ERROR(pickle_of("cos\nsystem\n" + text + "\x85R"), "asks for os.system, which is refused and was not run");
  EXPECT_ERROR(pickle_of("cposix\nsystem\n" + text + "\x85R"), "posix.system");
  EXPECT_ERROR(pickle_of("cbuiltins\neval\n" + text + "\x85R"), "builtins.eval");
  EXPECT_ERROR(pickle_of("ctorch.storage\n_load_from_bytes\n" + text + "\x85R"), "_load_from_bytes");
  EXPECT_ERROR(pickle_of("X\x02" + std::string(3, '\0') + "osX\x06" + std::string(3, '\0') + "system\x93"),
               "os.system");
  EXPECT_ERROR(pickle_of("ctorch\nFloatStorage\n)R"), "does not make a tensor");  // a name, which is not called
  EXPECT_ERROR(pickle_of("(ios\nsystem\n"), "operation");                         // INST
  EXPECT_ERROR(pickle_of("(" + text + "o"), "operation");                         // OBJ
  EXPECT_ERROR(pickle_of(")\x81"), "operation");                                  // NEWOBJ
  EXPECT_ERROR(pickle_of("\x82\x01"), "operation");                               // EXT1
  EXPECT_ERROR(pickle_of("P123\n"), "operation");                                 // PERSID
  EXPECT_FALSE(std::filesystem::exists(touched));
}

TEST(PickleReader, RefusesNonsense) {
  for (const char* operations : {"",
                                 "0",
                                 "R",
                                 "b",
                                 "t",
                                 "a",
                                 "e",
                                 "s",
                                 "u",
                                 "(u",
                                 "\x85",
                                 "\x87",
                                 "N\x86",
                                 "Q",
                                 "K\x01Q",
                                 "h\x01",
                                 "j\xff\xff\xff\xff",
                                 "Nr\xff\xff\xff\xff",
                                 "X\xff\xff\xff\xff",
                                 "\x8a\xff",
                                 "cos",
                                 "cos\nsystem",
                                 "Na",
                                 "NNb",
                                 "}(Nu",
                                 "(0"}) {
    EXPECT_ERROR(pickle_of(operations), "expected a pickle of tensors");
  }
}

TEST(PickleReader, IsNotExhausted) {
  // A list in a list in a list: no recursion reads or destroys it.
  std::string deep;
  for (int i = 0; i < 400'000; ++i) deep += "]";
  for (int i = 0; i < 399'999; ++i) deep += "a";
  EXPECT_EQ(pickle_of(deep).root().items.size(), 1u);
  EXPECT_ERROR(pickle_of(std::string(2'000'000, 'N')), "too many values");
  // A large tuple that is copied again and again.
  std::string copies = "(" + std::string(1000, 'N') + "tq\x01";
  for (int i = 0; i < 1000; ++i) copies += "h\x01Q";
  EXPECT_ERROR(pickle_of(copies), "not a short tuple");
}

// An archive of stored files, as PyTorch writes them. `lie` is added to the sizes in the directory.
std::string archive_of(const std::vector<std::pair<std::string, std::string>>& files, uint32_t lie = 0) {
  std::string bytes, directory;
  for (const auto& [name, content] : files) {
    uint32_t crc = 0xFFFFFFFF;
    for (const char c : content) {
      crc ^= static_cast<unsigned char>(c);
      for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320u : 0u);
    }
    const std::string about = little_endian(~crc, 4) + little_endian(content.size() + lie, 4) +
                              little_endian(content.size() + lie, 4) + little_endian(name.size(), 2) +
                              little_endian(0, 2);
    directory += "PK\1\2" + little_endian(20, 2) + little_endian(20, 2) + std::string(8, '\0') + about +
                 std::string(10, '\0') + little_endian(bytes.size(), 4) + name;
    bytes += "PK\3\4" + little_endian(20, 2) + std::string(8, '\0') + about + name + content;
  }
  const size_t at = bytes.size();
  return bytes + directory + "PK\5\6" + std::string(4, '\0') + little_endian(files.size(), 2) +
         little_endian(files.size(), 2) + little_endian(directory.size(), 4) + little_endian(at, 4) +
         little_endian(0, 2);
}

// A state_dict of one tensor "x" of so many elements in its storage, with this shape and these strides (one axis).
std::string state_dict(int32_t elements, int32_t offset, int32_t size, int32_t stride) {
  const auto number = [](int32_t value) { return "J" + little_endian(static_cast<uint32_t>(value), 4); };
  const auto text = [](const std::string& value) { return "X" + little_endian(value.size(), 4) + value; };
  return "\x80\x02}" + text("x") + "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") +
         "ctorch\nFloatStorage\n" + text("0") + text("cpu") + number(elements) + "tQ" + number(offset) + number(size) +
         "\x85" + number(stride) + "\x85\x89NtRs.";
}

TEST(PyTorchFile, TensorsStayInsideTheirStorage) {
  const TemporaryFolder folder;
  const std::string path = folder.file("pytorch_model.bin"), four(16, '\1');
  const auto open = [&](int32_t elements, int32_t offset, int32_t size, int32_t stride) {
    const std::string pickle = state_dict(elements, offset, size, stride);
    folder.file("pytorch_model.bin", archive_of({{"m/data.pkl", pickle}, {"m/data/0", four}}));
    return open_pytorch(path)->read("x");
  };
  EXPECT_EQ(open(4, 0, 4, 1).size(), 4u);
  EXPECT_EQ(open(4, 1, 2, 2).size(), 2u);
  EXPECT_ERROR(open(4, 0, 5, 1), "inside of its 4 elements");
  EXPECT_ERROR(open(4, 1, 2, 3), "inside of its 4 elements");
  EXPECT_ERROR(open(4, 0, 4, 2), "inside of its 4 elements");
  EXPECT_ERROR(open(4, -1, 4, 1), "inside of its 4 elements");
  EXPECT_ERROR(open(4, 0, -4, 1), "inside of its 4 elements");
  EXPECT_ERROR(open(4, 0, 2147483647, 0), "inside of its 4 elements");
  EXPECT_ERROR(open(4, 0, 2147483647, 2147483647), "inside of its 4 elements");
  EXPECT_ERROR(open(2147483647, 0, 2147483647, 1), "bytes, got 16");
  EXPECT_ERROR(open(3, 0, 3, 1), "expected 12 bytes, got 16");
}

TEST(PyTorchFile, RefusesArchivesThatLie) {
  const TemporaryFolder folder;
  const std::string path = folder.file("pytorch_model.bin");
  const auto refused = [&](const std::string& bytes, const std::string& message) {
    folder.file("pytorch_model.bin", bytes);
    EXPECT_ERROR(open_pytorch(path), message);
  };
  refused(archive_of({{"m/other", "x"}}), "data.pkl");
  refused(archive_of({{"m/data.pkl", "}."}}, 1'000'000), ": ");
  refused(archive_of({{"m/data.pkl",
                       "\x80\x02"
                       "cos\nsystem\nX\x01" +
                           std::string(3, '\0') + "x\x85R."}}),
          "os.system");
  refused(archive_of({{"m/data.pkl", "}."}, {"m/byteorder", "big"}}), "little-endian");
  refused("not an archive", "expected a pickle of tensors");
  refused("", "expected a pickle of tensors");
}

class DamagedFiles : public testing::TestWithParam<const char*> {};

// Cut anywhere, or with some bytes changed, a file gives an error or the same shapes; it never crashes.
TEST_P(DamagedFiles, AreErrors) {
  const std::string sample = GetParam();
  const TemporaryFolder folder;
  std::filesystem::copy(sample_folder(sample), folder.path(), kCopy);
  const std::string name = std::filesystem::path(weights_file(folder.path())).filename().string();
  const std::string good = bytes_of_file(folder.file(name));
  for (size_t bytes = 0; bytes < good.size(); bytes += bytes < 300 ? 13 : good.size() / 20) {
    folder.file(name, good.substr(0, bytes));
    EXPECT_ERROR(load_model(folder.path(), Device::cpu()), ": ");
  }
  std::mt19937 random(7);
  for (int i = 0; i < 60; ++i) {
    std::string changed = good;
    for (int n = 0; n < 4; ++n) changed[random() % (i % 2 == 0 ? 4000 : good.size())] = static_cast<char>(random());
    folder.file(name, changed);
    try {
      load_model(folder.path(), Device::cpu());
    } catch (const Error&) {
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, DamagedFiles,
                         testing::Values("shared-relu", "separate-swish", "pre-norm", "ctranslate2-words"),
                         [](const auto& about) {
                           std::string name = about.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(TokenIds, AreAFlatObject) {
  const TemporaryFolder folder;
  const std::string path = folder.file("vocab.json");
  const auto refused = [&](const std::string& json) {
    folder.file("vocab.json", json);
    EXPECT_ERROR(read_token_ids(path), "expected a JSON object of tokens and their ids");
  };
  for (const char* json : {"", "[]", "1", "{\"a\": 1", "{\"a\": {}}", "{\"a\": [1]}", "{\"a\": \"1\"}", "{\"a\": 1.5}",
                           "{\"a\": 99999999999}", "{\"a\": null}", "{\"a\": 1} x"}) {
    refused(json);
  }
  refused(std::string(1'000'000, '{'));
  refused("{\"a\":" + std::string(1'000'000, '['));
  // As many as a real vocabulary has, in linear time.
  std::string many = "{\"t0\": 0";
  for (int i = 1; i < 200'000; ++i) many += fmt::format(",\"t{}\":{}", i, i);
  folder.file("vocab.json", many + "}");
  EXPECT_EQ(read_token_ids(path).size(), 200'000u);
}

}  // namespace

}  // namespace fovea
