#include "base/protobuf.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace fovea {
namespace {

using namespace std::string_literals;

// The examples of the format's description: field 1 = 150; field 2 = "testing"; field 3 is a message with field 1 =
// 150; field 6 is packed 3, 270, 86942.
TEST(Protobuf, WritesTheBytesOfItsDescription) {
  ProtobufWriter nested, writer;
  nested.integer(1, 150);
  EXPECT_EQ(nested.bytes(), "\x08\x96\x01");
  writer.bytes(2, "testing");
  EXPECT_EQ(writer.bytes(), "\x12\x07testing");
  writer = {};
  writer.message(3, nested);
  EXPECT_EQ(writer.bytes(), "\x1a\x03\x08\x96\x01");
  writer = {};
  const int64_t values[] = {3, 270, 86942};
  writer.integers(6, values);
  EXPECT_EQ(writer.bytes(), "\x32\x06\x03\x8e\x02\x9e\xa7\x05");
}

TEST(Protobuf, ReadsWhatItWrites) {
  ProtobufWriter writer;
  writer.integer(1, -2);
  writer.number(2, 1.5F);
  writer.number(3, -0.1);
  writer.bytes(5000, "\0\xff"s);
  ProtobufReader reader(writer.bytes(), "here");
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.field(), 1U);
  EXPECT_EQ(static_cast<int64_t>(reader.value()), -2);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.number(), 1.5F);
  EXPECT_THROW(reader.double_number(), Error);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.double_number(), -0.1);
  EXPECT_THROW(reader.payload(), Error);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.field(), 5000U);
  EXPECT_EQ(reader.payload(), "\0\xff"s);
  EXPECT_THROW(reader.value(), Error);
  EXPECT_FALSE(reader.next());
}

TEST(Protobuf, RefusesWhatIsTruncatedOrMalformed) {
  const std::string bad[] = {
      "\x08"s,                                              // no value
      "\x08\xff"s,                                          // a value without its end
      "\x12\x05test"s,                                      // fewer bytes than announced
      "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s,      // 2^64 - 1 bytes
      "\x0d\x01\x02\x03"s,                                  // three bytes of four
      "\x00\x01"s,                                          // field 0
      "\x0b"s,                                              // a group
      "\x0f"s,                                              // type 7
      "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s,  // eleven bytes
  };
  for (const std::string& bytes : bad) {
    ProtobufReader reader(bytes, "here");
    EXPECT_THROW(reader.next(), Error) << testing::PrintToString(bytes);
  }
}

}  // namespace
}  // namespace fovea
