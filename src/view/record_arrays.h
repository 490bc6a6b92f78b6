// Writes attention records as arrays: NPY for one attention, NPZ and safetensors for the records of a whole text.
// docs/record.md has the names of the arrays.
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

// The weights, or the scores, for numpy.load: f32 [layer, head, row, column], NaN in absent cells.
std::string to_npy(const RecordedAttention& attention, bool scores = false);

// Writes an uncompressed zip file of NPY arrays, one array at a time, for numpy.load. It becomes a zip64 file with more
// than 65,535 arrays or 4 GB.
class NpzWriter {
 public:
  explicit NpzWriter(std::function<void(const std::string&)> write) : write_(std::move(write)) {}

  // Adds the weights and scores of each attention, and the tokens of both sentences as strings. Throws an Error if a
  // record of the same line and rank was added before.
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

// The same for safetensors. Its index comes first in the file, so all records stay in memory until it is written.
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
