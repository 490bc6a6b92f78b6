#include "base/protobuf.h"

#include <bit>
#include <limits>

#include "base/error.h"

namespace fovea {

namespace {

constexpr uint64_t kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;

void append_varint(std::string& bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  bytes += static_cast<char>(value);
}

void append_key(std::string& bytes, uint32_t field, uint64_t type) {
  append_varint(bytes, uint64_t{field} << 3 | type);
}

}  // namespace

void ProtobufWriter::integer(uint32_t field, int64_t value) {
  append_key(bytes_, field, kVarint);
  append_varint(bytes_, static_cast<uint64_t>(value));
}

void ProtobufWriter::number(uint32_t field, float value) {
  append_key(bytes_, field, kFixed32);
  fixed(std::bit_cast<uint32_t>(value), 4);
}

void ProtobufWriter::number(uint32_t field, double value) {
  append_key(bytes_, field, kFixed64);
  fixed(std::bit_cast<uint64_t>(value), 8);
}

void ProtobufWriter::bytes(uint32_t field, std::string_view value) {
  append_key(bytes_, field, kBytes);
  append_varint(bytes_, value.size());
  bytes_ += value;
}

void ProtobufWriter::integers(uint32_t field, std::span<const int64_t> values) {
  std::string packed;
  for (const int64_t value : values) append_varint(packed, static_cast<uint64_t>(value));
  bytes(field, packed);
}

void ProtobufWriter::fixed(uint64_t value, int count) {
  for (int i = 0; i < count; ++i) bytes_ += static_cast<char>(value >> 8 * i);
}

bool ProtobufReader::next() {
  if (bytes_.empty()) return false;
  const uint64_t key = varint();
  if (key >> 3 == 0 || key >> 3 > std::numeric_limits<uint32_t>::max() >> 3) refuse("a field has an invalid number");
  field_ = static_cast<uint32_t>(key >> 3);
  value_ = 0;
  payload_ = {};
  switch (key & 7) {
    case kVarint: value_ = varint(); break;
    case kFixed64: value_ = fixed(8); break;
    case kBytes: payload_ = take(varint()); break;
    case kFixed32: value_ = fixed(4); break;
    default: refuse("a field has an unknown type");
  }
  type_ = key & 7;
  return true;
}

uint64_t ProtobufReader::value() const {
  expect(type_ != kBytes);
  return value_;
}

float ProtobufReader::number() const {
  expect(type_ == kFixed32);
  return std::bit_cast<float>(static_cast<uint32_t>(value_));
}

double ProtobufReader::double_number() const {
  expect(type_ == kFixed64);
  return std::bit_cast<double>(value_);
}

std::string_view ProtobufReader::payload() const {
  expect(type_ == kBytes);
  return payload_;
}

void ProtobufReader::refuse(std::string_view what) const { fail("{}: expected protocol buffers, but {}", name_, what); }

void ProtobufReader::expect(bool matches) const {
  check(matches, "{}: field {} has another type than expected", name_, field_);
}

uint64_t ProtobufReader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(take(1)[0]);
    value |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value;
  }
  refuse("an integer has more than ten bytes");
}

std::string_view ProtobufReader::take(uint64_t count) {
  if (count > bytes_.size()) refuse("the message is truncated");
  const std::string_view taken = bytes_.substr(0, count);
  bytes_.remove_prefix(taken.size());
  return taken;
}

uint64_t ProtobufReader::fixed(size_t count) {
  uint64_t value = 0;
  const std::string_view taken = take(count);
  for (size_t i = 0; i < count; ++i) value |= uint64_t{static_cast<unsigned char>(taken[i])} << 8 * i;
  return value;
}

}  // namespace fovea
