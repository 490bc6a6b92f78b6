#include "store/safetensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/files.h"
#include "support.h"
#include "temporary_folder.h"

namespace fovea {
namespace {

std::string file_of(const std::string& header, size_t data_bytes) {
  uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + std::string(data_bytes, '\0');
}

TEST(Safetensors, WhatIsWrittenIsRead) {
  const TemporaryFolder folder;
  const Device cpu = Device::cpu();
  const Tensor a = from_host(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3}, cpu);
  const Tensor b = from_host(std::vector<int32_t>{7, 8}, {2}, cpu);
  const Tensor none = zeros({0, 3}, DType::kF32, cpu);
  write_safetensors(folder.file("x"), {{"a", a}, {"b", b}, {"none", none}}, {{"who", "me"}});
  const SafetensorsFile file(folder.file("x"));
  EXPECT_EQ(file.names(), (std::vector<std::string>{"a", "b", "none"}));
  EXPECT_EQ(file.metadata().at("who"), "me");
  const Tensor again = zeros({2, 3}, DType::kF32, cpu), ints = zeros({2}, DType::kI32, cpu);
  file.read("a", again);
  file.read("b", ints);
  EXPECT_EQ(to_host<float>(again), to_host<float>(a));
  EXPECT_EQ(to_host<int32_t>(ints), to_host<int32_t>(b));
  EXPECT_ERROR(file.read("c", again), "there is no tensor c");
  EXPECT_ERROR(file.read("a", zeros({3, 2}, DType::kF32, cpu)), "expected shape [3,2], got [2,3]");
  EXPECT_ERROR(file.read("b", zeros({2}, DType::kF32, cpu)), "expected F32, got I32");
}

TEST(Safetensors, PackedRowsComeBackWithinHalfAStep) {
  const TemporaryFolder folder;
  const Device cpu = Device::cpu();
  const std::vector<float> values = {1.0f, -0.5f, 0.003f, 0.0f, 0.0f, 0.0f, -127.0f, 126.6f, 1.0f};
  const Tensor a = from_host(values, {3, 3}, cpu), bias = from_host(std::vector<float>{0.1f, 0.2f}, {2}, cpu);
  write_packed_safetensors(folder.file("x"), {{"a", a}, {"bias", bias}}, {});
  const SafetensorsFile file(folder.file("x"));
  EXPECT_EQ(file.names(), (std::vector<std::string>{"a", "a.scale", "bias"}));
  const Tensor again = zeros({3, 3}, DType::kF32, cpu), same = zeros({2}, DType::kF32, cpu);
  file.read("a", again);
  file.read("bias", same);
  EXPECT_EQ(to_host<float>(same), to_host<float>(bias));
  const std::vector<float> got = to_host<float>(again);
  const float steps[3] = {1.0f / 127, 0.0f, 1.0f};
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], values[i], 0.5f * steps[i / 3] + 1e-6f) << i;

  // Without its scales it is nothing.
  std::string bytes = read_file(folder.file("x"));
  bytes.replace(bytes.find("a.scale"), 7, "b.scale");
  write_file_atomically(folder.file("y"), bytes);
  EXPECT_ERROR(SafetensorsFile(folder.file("y")).read("a", again), "expected a.scale beside it, f32 [3]");
}

// Rows of 8 bits are read from the file until their f32 elements are; a change of these ends it.
TEST(Safetensors, PackedRowsStayInEightBits) {
  const TemporaryFolder folder;
  const std::vector<float> values = {1.0f, -0.5f, 0.25f, 0.0f, 2.0f, -2.0f, 3.0f, 3.0f};
  write_packed_safetensors(folder.file("x"), {{"a", from_host(values, {4, 2}, Device::cpu())}}, {});
  const Tensor all = zeros({12}, DType::kF32, Device::cpu()), a = all.slice(2, 10).reshape({4, 2});
  all.data<float>()[1] = all.data<float>()[10] = 5.0f;
  {
    const SafetensorsFile file(folder.file("x"));
    file.read("a", a);
  }
  const QuantisedRow row = a.quantised_row(2, 2);  // after the file is closed
  ASSERT_TRUE(row);
  EXPECT_EQ(row.values[0], 127);
  EXPECT_FLOAT_EQ(row.scale, 0.25f / 127);
  EXPECT_TRUE(a.slice(3, 4).quantised_row(0, 2)) << "a slice has its rows";
  EXPECT_FALSE(a.quantised_row(1, 2)) << "not the begin of a row";
  EXPECT_FALSE(a.quantised_row(0, 4)) << "two rows";
  EXPECT_FALSE(all.quantised_row(0, 2)) << "before the matrix";
  EXPECT_FALSE(all.quantised_row(10, 2)) << "after the matrix";
  const std::vector<float> got = to_host<float>(all);
  EXPECT_EQ(got[1], 5.0f);
  EXPECT_EQ(got[10], 5.0f);
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(got[i + 2], values[i], 0.02f) << i;
  EXPECT_TRUE(a.quantised_row(2, 2)) << "reading changes nothing";
  a.data<float>()[0] = 7.0f;
  a.contents_changed();
  EXPECT_FALSE(a.quantised_row(2, 2));
  EXPECT_EQ(to_host<float>(a)[0], 7.0f);
}

// What changes before it is read in f32 has the elements of the file everywhere else.
TEST(Safetensors, PackedRowsThatChangeUnread) {
  const TemporaryFolder folder;
  write_packed_safetensors(folder.file("x"), {{"a", from_host(std::vector<float>{1, 1, 2, 2}, {2, 2}, Device::cpu())}},
                           {});
  const Tensor a = zeros({2, 2}, DType::kF32, Device::cpu());
  SafetensorsFile(folder.file("x")).read("a", a);
  a.contents_changed();
  EXPECT_FALSE(a.quantised_row(0, 2));
  EXPECT_EQ(to_host<float>(a), (std::vector<float>{1, 1, 2, 2}));
}

TEST(Safetensors, TheLayoutIsTheOneOthersRead) {
  const TemporaryFolder folder;
  write_safetensors(folder.file("x"), {{"w", from_host(std::vector<float>{1.5f}, {1}, Device::cpu())}}, {});
  const std::string bytes = read_file(folder.file("x"));
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  EXPECT_EQ((8 + length) % 64, 0u);
  EXPECT_EQ(bytes.size(), 8 + length + 4);
  EXPECT_TRUE(bytes.substr(8).starts_with(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})"));
}

TEST(Safetensors, HalfPrecisionIsWidened) {
  const TemporaryFolder folder;
  // 1, -2, the smallest subnormal, infinity in f16; then 1 and -2 in bf16.
  const uint16_t halves[] = {0x3C00, 0xC000, 0x0001, 0x7C00, 0x3F80, 0xC000};
  std::string bytes = file_of(
      R"({"h":{"dtype":"F16","shape":[4],"data_offsets":[0,8]},"b":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]}})",
      12);
  std::memcpy(bytes.data() + bytes.size() - 12, halves, 12);
  const SafetensorsFile file(folder.file("x", bytes));
  const Tensor h = zeros({4}, DType::kF32, Device::cpu()), b = zeros({2}, DType::kF32, Device::cpu());
  file.read("h", h);
  file.read("b", b);
  EXPECT_EQ(to_host<float>(h), (std::vector<float>{1, -2, 0x1p-24f, INFINITY}));
  EXPECT_EQ(to_host<float>(b), (std::vector<float>{1, -2}));
}

TEST(Safetensors, HostileFilesAreRefusedWithTheReason) {
  const TemporaryFolder folder;
  const auto expect = [&](const std::string& bytes, const char* reason) {
    const std::string path = folder.file("x", bytes);
    EXPECT_ERROR(SafetensorsFile(path), reason);
    EXPECT_ERROR(SafetensorsFile(path), path);
  };
  const auto tensor = [](const std::string& about) { return R"({"a":)" + about + "}"; };
  EXPECT_ERROR(SafetensorsFile(folder.file("missing")), "cannot open");
  EXPECT_ERROR(SafetensorsFile(folder.path()), "not a regular file");
  expect("", "got 0 bytes");
  expect("short", "got 5 bytes");
  expect(std::string(8, '\xff'), "at most 100000000 bytes");
  expect(file_of("{}", 0).substr(0, 9), "truncated, or not a safetensors file");
  expect("\x89PNG\r\n\x1a\n and so on", "expected a");
  expect(file_of("not json", 0), "safetensors header: expected JSON in UTF-8");
  expect(file_of("[1]", 0), "expected a JSON object");
  expect(file_of(std::string(100'000, '['), 0), "expected JSON nested at most 64 levels deep");
  expect(file_of(tensor("1"), 0), "expected a list shape");
  expect(file_of(tensor(R"({"dtype":"F32","shape":[1]})"), 4), "expected a list data_offsets");
  expect(file_of(tensor(R"({"dtype":"F99","shape":[1],"data_offsets":[0,4]})"), 4), "expected a known dtype");
  expect(file_of(tensor(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})"), 4), "expected non-negative integers");
  expect(file_of(tensor(R"({"dtype":"F32","shape":[1],"data_offsets":[0,8]})"), 4), "within 4 bytes");
  expect(file_of(tensor(R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})"), 4), "expected data_offsets");
  expect(file_of(tensor(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})"), 4), "as many bytes as shape");
  // Sizes whose product wraps around to the right number.
  expect(file_of(tensor(R"({"dtype":"F32","shape":[4294967297,4294967295,1],"data_offsets":[0,4]})"), 4),
         "as many bytes as shape");
  expect(file_of(tensor(R"({"dtype":"F32","shape":[0,5],"data_offsets":[0,4]})"), 4), "as many bytes as shape");
  expect(file_of(tensor(R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})"), 8), "a gap or an overlap");
  expect(file_of(tensor(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})"), 8), "expected 4 bytes of tensors");
  expect(file_of(R"({"__metadata__":{"a":1}})", 0), "expected strings as metadata");
}

TEST(Safetensors, AnOldFileSurvivesAFailedWrite) {
  const TemporaryFolder folder;
  const Tensor one = from_host(std::vector<float>{1}, {1}, Device::cpu());
  write_safetensors(folder.file("x"), {{"a", one}}, {});
  const std::string before = read_file(folder.file("x"));
  EXPECT_ERROR(write_safetensors(folder.file("no/such/folder"), {{"a", one}}, {}), "cannot create");
  EXPECT_EQ(read_file(folder.file("x")), before);
}

}  // namespace
}  // namespace fovea
