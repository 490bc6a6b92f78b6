// The wire format of protocol buffers, without schemas: fields are named by their numbers. A nested message is a field
// of bytes, written and read by a writer and a reader of its own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace fovea {

class ProtobufWriter {
 public:
  void integer(uint32_t field, int64_t value);  // int32, int64, bool and enum; a negative number takes ten bytes
  void number(uint32_t field, float value);
  void number(uint32_t field, double value);
  void bytes(uint32_t field, std::string_view value);  // bytes, string and messages
  void message(uint32_t field, const ProtobufWriter& value) { bytes(field, value.bytes_); }
  void integers(uint32_t field, std::span<const int64_t> values);  // repeated and packed

  const std::string& bytes() const { return bytes_; }

 private:
  void fixed(uint64_t value, int count);

  std::string bytes_;
};

// Reads the fields of one message in their order. The bytes must outlive the reader.
class ProtobufReader {
 public:
  // Errors start with `name`.
  ProtobufReader(std::string_view bytes, std::string_view name) : bytes_(bytes), name_(name) {}

  // Moves to the next field; returns false at the end. Throws an Error if the message is truncated or malformed.
  bool next();
  uint32_t field() const { return field_; }
  // The value of an integer, and the bits of a number of 4 or 8 bytes. Throws an Error if the field has bytes.
  uint64_t value() const;
  float number() const;          // of 4 bytes
  double double_number() const;  // of 8 bytes
  // The value of bytes, of a string or a message. Throws an Error if the field has another type.
  std::string_view payload() const;

 private:
  [[noreturn]] void refuse(std::string_view what) const;
  void expect(bool matches) const;
  uint64_t varint();
  std::string_view take(uint64_t count);
  uint64_t fixed(size_t count);

  std::string_view bytes_, name_;
  uint32_t field_ = 0;
  uint64_t type_ = 0;  // the wire type
  uint64_t value_ = 0;
  std::string_view payload_;
};

}  // namespace fovea
