// Event files of TensorBoard: records (a length, a checksum of it, the bytes, a checksum of them) that are protocol
// buffers. Every start of a run writes a file of its own.
#pragma once

#include <cstdint>
#include <fstream>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace fovea {

class EventFile {
 public:
  // Creates the file in the folder. `step` is the last step before this start: TensorBoard drops what an earlier file
  // has of later steps.
  EventFile(const std::string& folder, int64_t step);
  // Writes the numbers of a line of metrics.jsonl as scalars named EVENT/KEY, for instance train/loss.
  void write(const nlohmann::ordered_json& line);

 private:
  void write_record(const std::string& event);

  std::string path_;
  std::ofstream file_;
};

uint32_t crc32c(std::string_view bytes);  // Castagnoli's polynomial, as in RFC 3720

}  // namespace fovea
