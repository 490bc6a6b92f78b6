#include "view/record_arrays.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/utf8.h"

namespace fovea {

namespace {

// NPY, version 1.0: magic bytes, the length of the header, a Python dictionary padded to a multiple of 64, the data.
std::string npy(std::string_view type, const std::string& shape, const void* data, size_t bytes) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, shape);
  constexpr size_t kPrefix = 10;
  header.append(63 - (kPrefix + header.size()) % 64, ' ');
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size() & 0xFF);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  out.append(static_cast<const char*>(data), bytes);
  return out;
}

std::string npy(const RecordedAttention& a, const std::vector<float>& numbers) {
  const std::string shape = fmt::format("{}, {}, {}, {}", a.layers, a.heads, a.rows, a.columns);
  return npy("<f4", shape, numbers.data(), numbers.size() * sizeof(float));
}

// Strings as numpy's <U: UCS-4, all of one length, padded with zeros.
std::string npy(const std::vector<RecordToken>& tokens) {
  std::vector<std::u32string> texts;
  size_t longest = 1;
  for (const RecordToken& token : tokens) {
    std::u32string& text = texts.emplace_back();
    for (const CodePoint& c : code_points(token.text)) text += c.value;
    longest = std::max(longest, text.size());
  }
  std::u32string all;
  for (std::u32string& text : texts) {
    text.resize(longest);
    all += text;
  }
  return npy(fmt::format("<U{}", longest), fmt::format("{},", tokens.size()), all.data(),
             all.size() * sizeof(char32_t));
}

// "3" for line 3, "3.2" for its second candidate.
std::string name_of(const AttentionRecord& record) {
  return record.rank > 1 ? fmt::format("{}.{}", record.line, record.rank) : fmt::format("{}", record.line);
}
// "3/cross", "3/cross.model2" of an ensemble.
std::string name_of(const AttentionRecord& record, const RecordedAttention& a) {
  const std::string model = a.model > 0 ? fmt::format(".model{}", a.model + 1) : "";
  return fmt::format("{}/{}{}", name_of(record), a.kind, model);
}

void check_new(const AttentionRecord& record, std::set<std::string>& names) {
  check(names.insert(name_of(record)).second,
        "arrays are named by the line of their record: expected one record for line {}, rank {}, got another",
        record.line, record.rank);
}

// Appends little-endian numbers of a given number of bytes.
struct Bytes {
  std::string text;
  Bytes& add(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xFF);
    return *this;
  }
};

constexpr uint64_t kMost32 = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kUtf8Names = 0x0800, kFirstDay = 0x0021;  // 1 January 1980, so that files are reproducible

}  // namespace

std::string to_npy(const RecordedAttention& a, bool scores) {
  check(!scores || !a.scores.empty(), "scores: the record has none; fovea view -m MODEL --scores keeps them");
  return npy(a, scores ? a.scores : a.weights);
}

void NpzWriter::add(const AttentionRecord& record) {
  check_new(record, records_);
  add(name_of(record) + "/source", npy(record.source));
  add(name_of(record) + "/target", npy(record.target));
  for (const RecordedAttention& a : record.attentions) {
    add(name_of(record, a), npy(a, a.weights));
    if (!a.scores.empty()) add(name_of(record, a) + ".scores", npy(a, a.scores));
  }
}

void NpzWriter::add(const std::string& name, const std::string& npy) {
  check(npy.size() < kMost32, "npz: expected arrays below 4 GB, got {} bytes for {}", npy.size(), name);
  const auto crc =
      static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(npy.data()), static_cast<uInt>(npy.size())));
  const Entry& entry = entries_.emplace_back(Entry{name + ".npy", crc, static_cast<uint32_t>(npy.size()), offset_});
  Bytes header;
  header.add(0x04034b50, 4).add(20, 2).add(kUtf8Names, 2).add(0, 2).add(0, 2).add(kFirstDay, 2);
  header.add(entry.crc, 4).add(entry.size, 4).add(entry.size, 4).add(entry.name.size(), 2).add(0, 2);
  write_(header.text + entry.name);
  write_(npy);
  offset_ += header.text.size() + entry.name.size() + npy.size();
}

void NpzWriter::finish() {
  const uint64_t begin = offset_;
  for (const Entry& entry : entries_) {
    const bool far = entry.offset >= kMost32;
    Bytes header;
    header.add(0x02014b50, 4).add(45, 2).add(far ? 45 : 20, 2).add(kUtf8Names, 2).add(0, 2).add(0, 2).add(kFirstDay, 2);
    header.add(entry.crc, 4).add(entry.size, 4).add(entry.size, 4).add(entry.name.size(), 2).add(far ? 12 : 0, 2);
    header.add(0, 2).add(0, 2).add(0, 2).add(0, 4).add(far ? kMost32 : entry.offset, 4);
    header.text += entry.name;
    if (far) header.add(0x0001, 2).add(8, 2).add(entry.offset, 8);
    write_(header.text);
    offset_ += header.text.size();
  }
  const uint64_t count = entries_.size(), size = offset_ - begin;
  Bytes end;
  if (count >= 0xFFFF || begin >= kMost32 || size >= kMost32) {
    end.add(0x06064b50, 4).add(44, 8).add(45, 2).add(45, 2).add(0, 4).add(0, 4).add(count, 8).add(count, 8);
    end.add(size, 8).add(begin, 8);
    end.add(0x07064b50, 4).add(0, 4).add(offset_, 8).add(1, 4);
  }
  const uint64_t shown = std::min<uint64_t>(count, 0xFFFF);
  end.add(0x06054b50, 4).add(0, 2).add(0, 2).add(shown, 2).add(shown, 2);
  end.add(std::min(size, kMost32), 4).add(std::min(begin, kMost32), 4).add(0, 2);
  write_(end.text);
}

void SafetensorsRecords::add(const AttentionRecord& record) {
  check_new(record, records_);
  const auto side = [&](const char* name, const std::vector<RecordToken>& tokens) {
    nlohmann::json list = nlohmann::json::array();
    for (const RecordToken& token : tokens) list.push_back(token.text);
    using Handler = nlohmann::json::error_handler_t;
    tokens_[fmt::format("{}/{}", name_of(record), name)] = list.dump(-1, ' ', false, Handler::replace);
  };
  side("source", record.source);
  side("target", record.target);
  for (const RecordedAttention& a : record.attentions) {
    const Shape shape{a.layers, a.heads, a.rows, a.columns};
    tensors_.push_back({name_of(record, a), from_host(a.weights, shape, Device::cpu())});
    if (a.scores.empty()) continue;
    tensors_.push_back({name_of(record, a) + ".scores", from_host(a.scores, shape, Device::cpu())});
  }
}

void SafetensorsRecords::write(const std::string& path) const { write_safetensors(path, tensors_, tokens_); }

}  // namespace fovea
