// The feature maps of a frozen network for a list of pictures, computed once and kept in a file that is mapped into
// memory.
//
// The file is a header, one map after another, and the header once more. The header has a digest of everything that the
// maps depend on: the network's settings and weights, and names, sizes and times of the picture files. A file with
// another digest, or that was not written to its end, is computed again and never used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/image_encoder.h"

namespace fovea {

class FeatureCache {
 public:
  // Reads one picture, of any size in the file, as one of vision.size.
  using Read = std::function<Image(const std::string& path)>;
  using Done = std::function<void(int64_t done, int64_t total)>;  // is called while maps are computed

  // Opens the file `path` if it has the maps of these pictures, else computes and writes it. `element` is the dtype of
  // the stored maps, bf16 or f32.
  FeatureCache(const std::string& path, const FeatureExtractor& extractor, std::span<const std::string> pictures,
               const Read& read, const Done& done = {}, DType element = DType::kBF16);
  ~FeatureCache();
  FeatureCache(const FeatureCache&) = delete;
  FeatureCache& operator=(const FeatureCache&) = delete;

  int64_t size() const { return count_; }
  Shape map_shape() const { return map_; }
  bool computed() const { return computed_; }  // by this object; else they were in the file
  // The maps of some pictures, by their index in the list: f32 [B,y,x,C] on the device.
  Tensor maps(std::span<const int64_t> pictures, Device device) const;

 private:
  bool open(const std::string& path, const std::string& header);
  const std::byte* map_at(int64_t picture) const { return maps_ + picture * map_bytes_; }

  int64_t count_ = 0, map_bytes_ = 0;
  Shape map_;
  DType element_;
  bool computed_ = false;
  void* file_ = nullptr;  // mapped
  size_t file_bytes_ = 0;
  const std::byte* maps_ = nullptr;
};

}  // namespace fovea
