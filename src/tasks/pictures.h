// The pictures of a run or of a request, by number: what an image encoder reads of them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decode/search.h"
#include "store/caption_folder.h"
#include "tasks/feature_cache.h"

namespace fovea {

// A picture as the network wants it: a square of `size` pixels. The whole picture is squashed, so that the grid of
// attention covers it.
Image network_input(const Image& image, int64_t size);

// Of a frozen network, the feature maps of the pictures are computed once.
class Pictures final : public ImageSource {
 public:
  Pictures(const LoadedCaptioner& captioner, std::span<const Image> images);
  // Pictures of files. The maps of a frozen network are kept in the file `cache`, unless it is empty.
  Pictures(const LoadedCaptioner& captioner, std::span<const std::string> files, const std::string& cache = {},
           const FeatureCache::Done& done = {});

  Tensor images(std::span<const int32_t> numbers, Device device) const override;
  int64_t states() const override { return states_; }

 private:
  explicit Pictures(const LoadedCaptioner& captioner);
  void add(std::span<const Image> images);

  const FeatureExtractor* extractor_;
  const ImageNetwork* network_;  // of a network that is trained
  int64_t size_, states_;
  Shape shape_;                        // of one picture or feature map, [height,width,channels]
  std::vector<float> maps_;            // of a frozen network, in memory ...
  std::optional<FeatureCache> cache_;  // ... or in a file
  std::vector<Image> pixels_;          // of one that is trained
};

}  // namespace fovea
