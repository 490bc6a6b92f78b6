// Records as arrays, read back by other readers than our own, and the selection of attentions.
#include "view/record_arrays.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>

#include "support.h"
#include "temporary_folder.h"
#include "view/record_selection.h"

namespace fovea {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

// Two layers of two heads, all weights different.
AttentionRecord some_record(int64_t line = 1) {
  AttentionRecord r;
  r.line = line;
  r.source = {{"北京", 0, 2}, {.text = "</s>", .begin = 2, .end = 2, .mark = true}};
  r.target = {{"a", 0, 1}};
  r.steps.resize(1);
  RecordedAttention cross{.kind = "cross", .selection = "soft", .layers = 2, .heads = 2, .rows = 1, .columns = 2};
  cross.weights = {0.1f, 0.9f, 0.2f, 0.8f, 0.3f, 0.7f, 1.0f, kNone};
  cross.scores = {1, 2, 3, 4, 5, 6, 7, kNone};
  cross.best = {"one", 2, 1};
  r.attentions = {cross, cross};
  r.attentions[1].kind = "encoder-self";
  return r;
}

TEST(RecordArrays, NpyIsReadByItsHeader) {
  const RecordedAttention a = some_record().attentions[0];
  const std::string npy = to_npy(a);
  EXPECT_EQ(npy.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  const size_t header = static_cast<unsigned char>(npy[8]) + 256u * static_cast<unsigned char>(npy[9]);
  EXPECT_EQ((10 + header) % 64, 0u);
  EXPECT_NE(npy.find("'shape': (2, 2, 1, 2)"), std::string::npos);
  EXPECT_EQ(npy.size(), 10 + header + 8 * sizeof(float));
  float last_but_one = 0;
  std::memcpy(&last_but_one, npy.data() + npy.size() - 2 * sizeof(float), sizeof(float));
  EXPECT_EQ(last_but_one, 1.0f);
  std::memcpy(&last_but_one, to_npy(a, true).data() + npy.size() - 2 * sizeof(float), sizeof(float));
  EXPECT_EQ(last_but_one, 7.0f);
  EXPECT_ERROR(to_npy({}, true), "scores: the record has none");
}

// More arrays than a zip file of the first kind can hold.
TEST(RecordArrays, NpzOfManyIsAZipFile) {
  const TemporaryFolder folder;
  const std::string path = folder.file("many.npz");
  std::ofstream file(path, std::ios::binary);
  NpzWriter npz([&](const std::string& bytes) { file << bytes; });
  constexpr int64_t kRecords = 11'000;  // of six arrays each
  for (int64_t line = 1; line <= kRecords; ++line) npz.add(some_record(line));
  EXPECT_ERROR(npz.add(some_record(7)), "expected one record for line 7");
  npz.finish();
  file.close();
  const std::string check = folder.file("check.py", R"(
import sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
names = archive.namelist()
assert len(names) == 66000 and names[0] == '1/source.npy' and names[-1] == '11000/encoder-self.scores.npy', names[-1]
for name in (names[0], names[-1]):
    assert archive.read(name)[1:6] == b'NUMPY'
assert '北京'.encode('utf-32-le') in archive.read(names[0])
)");
  EXPECT_EQ(std::system((std::string(FOVEA_PYTHON) + " '" + check + "' '" + path + "'").c_str()), 0);
}

TEST(RecordArrays, SafetensorsAreReadBack) {
  const TemporaryFolder folder;
  SafetensorsRecords records;
  AttentionRecord second = some_record(7);
  second.rank = 2;
  records.add(some_record());
  records.add(second);
  records.write(folder.file("r.safetensors"));
  const SafetensorsFile file(folder.file("r.safetensors"));
  EXPECT_EQ(file.names().size(), 8u);
  EXPECT_EQ(file.metadata().at("1/source"), "[\"北京\",\"</s>\"]");
  const Tensor read = empty({2, 2, 1, 2}, DType::kF32, Device::cpu());
  file.read("7.2/cross", read);
  EXPECT_EQ(to_host<float>(read)[5], 0.7f);
}

TEST(Select, LayersAndHeads) {
  AttentionRecord one = some_record();
  select(one, {.one_attention = true, .options = {.layer = 2, .head = 1}});
  ASSERT_EQ(one.attentions.size(), 1u);
  EXPECT_EQ(one.attentions[0].weights, (std::vector<float>{0.3f, 0.7f}));
  EXPECT_EQ(one.attentions[0].scores, (std::vector<float>{5, 6}));
  EXPECT_EQ(one.attentions[0].reduction, "cross attention, layer 2, head 1");
  EXPECT_EQ(reduce(one, {}).title, "cross attention, layer 2, head 1");

  AttentionRecord head = some_record();
  select(head, {.options = {.head = 2}});
  ASSERT_EQ(head.attentions.size(), 2u);
  EXPECT_EQ(head.attentions[1].layers, 2);
  EXPECT_EQ(head.attentions[1].heads, 1);
  EXPECT_EQ(head.attentions[1].weights[1], 0.8f);
  EXPECT_EQ(reduce(head, {}).title, "cross attention, head 2, mean of 2 layers");

  AttentionRecord best = some_record();
  select(best, {.one_attention = true, .combined = true, .options = {.heads = "best"}});
  EXPECT_EQ(best.attentions[0].scores, (std::vector<float>{5, 6}));

  AttentionRecord largest = some_record();
  select(largest, {.combined = true, .options = {.heads = "max"}});
  EXPECT_EQ(largest.attentions[1].weights, (std::vector<float>{1.0f, 0.9f}));
  EXPECT_TRUE(largest.attentions[1].scores.empty());
  EXPECT_EQ(largest.attentions[1].reduction, "encoder-self attention, max of 2 heads of 2 layers");

  AttentionRecord all = some_record();
  select(all, {});
  EXPECT_EQ(all.attentions[0].weights.size(), 8u);
  EXPECT_EQ(all.attentions[0].reduction, "");
  EXPECT_ERROR(select(all, {.options = {.layer = 3}}), "layer: expected at most 2, got 3");
  EXPECT_ERROR(select(all, {.one_attention = true, .options = {.attention = "decoder-self"}}), "it has: cross");
}

}  // namespace
}  // namespace fovea
