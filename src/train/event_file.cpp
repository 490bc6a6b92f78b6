#include "train/event_file.h"

#include <array>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/protobuf.h"

namespace fovea {

namespace {

// Numbers of fields of TensorFlow's Event, Summary, Summary.Value and SessionLog.
constexpr uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
constexpr uint32_t kSummaryValue = 1, kTag = 1, kSimpleValue = 2;
constexpr uint32_t kStatus = 1;
constexpr int64_t kStart = 1;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

ProtobufWriter new_event() {
  ProtobufWriter event;
  event.number(kWallTime, seconds_now());
  return event;
}

constexpr std::array<uint32_t, 256> crc_table() {
  constexpr uint32_t kPolynomial = 0x82F63B78;  // reflected
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? kPolynomial : 0);
    table[byte] = crc;
  }
  return table;
}

// A checksum of a file's bytes may be part of those bytes, so it is stored rotated and shifted.
uint32_t masked(uint32_t crc) { return (crc >> 15 | crc << 17) + 0xA282EAD8; }

std::string little_endian(uint64_t value, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> 8 * i);
  return bytes;
}

// TensorBoard reads the files of a folder in the order of their names.
std::string new_path(const std::string& folder) {
  const auto seconds = static_cast<int64_t>(seconds_now());
  for (int i = 0;; ++i) {
    std::string path = fmt::format("{}/events.out.tfevents.{:010}.{:03}", folder, seconds, i);
    if (!std::filesystem::exists(path)) return path;
  }
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = crc_table();
  uint32_t crc = 0xFFFFFFFF;
  for (const char byte : bytes) crc = crc >> 8 ^ kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xFF];
  return ~crc;
}

EventFile::EventFile(const std::string& folder, int64_t step)
    : path_(new_path(folder)), file_(path_, std::ios::binary) {
  check(file_.good(), "{}: cannot open for writing", path_);
  ProtobufWriter version = new_event();
  version.bytes(kFileVersion, "brain.Event:2");
  write_record(version.bytes());
  ProtobufWriter session, started = new_event();
  session.integer(kStatus, kStart);
  started.integer(kStep, step + 1);  // of the first event that is to be dropped
  started.message(kSessionLog, session);
  write_record(started.bytes());
}

void EventFile::write(const nlohmann::ordered_json& line) {
  const std::string event = line.at("event");
  ProtobufWriter summary;
  for (const auto& [key, number] : line.items()) {
    if (!number.is_number() || key == "step") continue;
    ProtobufWriter value;
    value.bytes(kTag, event + "/" + key);
    value.number(kSimpleValue, number.get<float>());
    summary.message(kSummaryValue, value);
  }
  ProtobufWriter written = new_event();
  written.integer(kStep, line.at("step").get<int64_t>());
  written.message(kSummary, summary);
  write_record(written.bytes());
}

void EventFile::write_record(const std::string& event) {
  const std::string length = little_endian(event.size(), 8);
  file_ << length << little_endian(masked(crc32c(length)), 4) << event << little_endian(masked(crc32c(event)), 4)
        << std::flush;
  check(file_.good(), "{}: cannot write (is the disk full?)", path_);
}

}  // namespace fovea
