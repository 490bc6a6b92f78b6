// The pictures of a run or of a request, by number: what an image encoder reads of them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attention/record.h"
#include "decode/search.h"
#include "store/caption_folder.h"
#include "store/classifier_folder.h"
#include "tasks/feature_cache.h"
#include "vision/augment.h"

namespace fovea {

// A picture as the network wants it: a square of `size` pixels. The whole picture is squashed, so that the grid of
// attention covers it.
Image network_input(const Image& image, int64_t size);

// The file of a run's feature maps: data.features or, if that is empty, one in the run's folder. Creates its folder.
std::string feature_file(const std::string& features, const std::string& run_folder);

// A picture as a record shows it, with the grid of attention over a feature map [rows,columns,C].
RecordImage record_image(const Image& image, const std::string& name, const Shape& map);

// The part of a model that reads pictures. The model must outlive it.
struct PictureReader {
  PictureReader(const LoadedCaptioner& captioner);
  PictureReader(const LoadedClassifier& classifier);

  const ImageEncoder* encoder;
  const FeatureExtractor* extractor;  // of a frozen network; otherwise null
  int64_t size;                       // vision.size
};

// Of a frozen network, the feature maps of the pictures are computed once.
class Pictures final : public ImageSource {
 public:
  Pictures(const PictureReader& reader, std::span<const Image> images);
  // Pictures of files. The maps of a frozen network are kept in the file `cache`, unless it is empty.
  Pictures(const PictureReader& reader, std::span<const std::string> files, const std::string& cache = {},
           const FeatureCache::Done& done = {});

  // The pictures with a change each, as training reads them. The network must not be frozen.
  Tensor augmented(std::span<const int32_t> numbers, std::span<const Augmentation> changes, Device device) const;
  int64_t size() const { return size_; }  // height and width of the pictures that the network reads
  Tensor images(std::span<const int32_t> numbers, Device device) const override;
  int64_t states() const override { return map_[0] * map_[1]; }
  const Shape& map_shape() const { return map_; }  // of the feature map: [rows,columns,channels]

 private:
  explicit Pictures(const PictureReader& reader);
  void add(std::span<const Image> images);

  const FeatureExtractor* extractor_;
  const ImageNetwork* network_;  // of a network that is trained
  int64_t size_;
  Shape map_;                          // as map_shape()
  Shape shape_;                        // of one picture or feature map, [height,width,channels]
  std::vector<float> maps_;            // of a frozen network, in memory ...
  std::optional<FeatureCache> cache_;  // ... or in a file
  std::vector<Image> pixels_;          // of one that is trained
};

}  // namespace fovea
