// Attention records as arrays: NPY for one attention, NPZ and safetensors for the records of a whole text.
// docs/record.md says what the arrays are called.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attention/record.h"
#include "store/safetensors.h"

namespace fovea {

// The weights, or the scores: f32 [layer, head, row, column], NaN where absent. numpy.load reads it.
std::string to_npy(const RecordedAttention& attention, bool scores = false);

// A zip file of NPY arrays, not compressed, written piece by piece: numpy.load reads it. More than 65,535 arrays and
// 4 GB make it a zip64 file.
class NpzWriter {
 public:
  explicit NpzWriter(std::function<void(const std::string&)> write) : write_(std::move(write)) {}

  // The weights and scores of each attention, and the tokens of both sides as strings. Error for a line and rank that
  // is there already.
  void add(const AttentionRecord& record);
  void finish();

 private:
  struct Entry {
    std::string name;
    uint32_t crc, size;
    uint64_t offset;
  };
  void add(const std::string& name, const std::string& npy);

  std::function<void(const std::string&)> write_;
  std::set<std::string> records_;
  std::vector<Entry> entries_;
  uint64_t offset_ = 0;
};

// The same for safetensors, which has its index first: all records are in memory until it is written.
class SafetensorsRecords {
 public:
  void add(const AttentionRecord& record);
  void write(const std::string& path) const;  // the tokens of each record are in the metadata, as JSON

 private:
  std::set<std::string> records_;
  std::vector<NamedTensor> tensors_;
  std::map<std::string, std::string> tokens_;
};

}  // namespace fovea
