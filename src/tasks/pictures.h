// The pictures of a run or of a request, by number: what an image encoder reads of them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "decode/search.h"
#include "store/caption_folder.h"

namespace fovea {

// A picture as the network wants it: a square of `size` pixels. The whole picture is squashed, so that the grid of
// attention covers it.
Image network_input(const Image& image, int64_t size);

// Pictures in memory. Of a frozen network, their feature maps are computed once.
class Pictures final : public ImageSource {
 public:
  using Done = std::function<void(int64_t done, int64_t total)>;
  Pictures(const LoadedCaptioner& captioner, std::span<const Image> images);
  Pictures(const LoadedCaptioner& captioner, std::span<const std::string> files, const Done& done);

  Tensor images(std::span<const int32_t> numbers, Device device) const override;
  int64_t states() const override { return states_; }

 private:
  explicit Pictures(const LoadedCaptioner& captioner);
  void add(std::span<const Image> images);

  const FeatureExtractor* extractor_;
  const ImageNetwork* network_;  // of a network that is trained
  int64_t size_, states_;
  Shape shape_;                // of one picture or feature map, [height,width,channels]
  std::vector<float> maps_;    // of a frozen network
  std::vector<Image> pixels_;  // of one that is trained
};

}  // namespace fovea
