#include "tasks/pictures.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <mutex>

#include "base/error.h"
#include "base/threads.h"

namespace fovea {

namespace {

constexpr size_t kAtOnce = 32;  // pictures that a frozen network reads at a time

}  // namespace

Image network_input(const Image& image, int64_t size) {
  return image.width == size && image.height == size ? image : resize(image, size, size);
}

std::string feature_file(const std::string& features, const std::string& run_folder) {
  std::string file = features.empty() ? run_folder + "/features" : features;
  std::filesystem::create_directories(std::filesystem::absolute(file).parent_path());
  return file;
}

RecordImage record_image(const Image& image, const std::string& name, const Shape& map) {
  RecordImage shown{.name = name, .width = image.width, .height = image.height};
  shown.rows = map[0];
  shown.columns = map[1];
  const int64_t longer = std::max(image.width, image.height);
  if (longer <= RecordImage::kMaxSide) {
    shown.jpeg = encode_jpeg(image);
  } else {
    const auto side = [&](int64_t pixels) { return std::max<int64_t>(1, pixels * RecordImage::kMaxSide / longer); };
    shown.jpeg = encode_jpeg(resize(image, side(image.width), side(image.height)));
  }
  return shown;
}

PictureReader::PictureReader(const LoadedCaptioner& captioner)
    : encoder(captioner.encoder), extractor(captioner.extractor.get()), size(captioner.loaded.config.vision.size) {}

PictureReader::PictureReader(const LoadedClassifier& classifier)
    : encoder(&classifier.image_encoder()),
      extractor(classifier.extractor.get()),
      size(classifier.config.vision.size) {}

Pictures::Pictures(const PictureReader& reader)
    : extractor_(reader.extractor),
      network_(reader.encoder->network()),
      size_(reader.size),
      map_(reader.encoder->map_shape()),
      shape_(extractor_ != nullptr ? map_ : Shape{size_, size_, 3}) {}

Pictures::Pictures(const PictureReader& reader, std::span<const Image> images) : Pictures(reader) {
  std::vector<Image> inputs;
  for (const Image& image : images) inputs.push_back(network_input(image, size_));
  add(inputs);
}

Pictures::Pictures(const PictureReader& reader, std::span<const std::string> files, const std::string& cache,
                   const FeatureCache::Done& done)
    : Pictures(reader) {
  if (extractor_ != nullptr && !cache.empty()) {
    const auto read = [this](const std::string& path) { return network_input(read_image(path, size_), size_); };
    cache_.emplace(cache, *extractor_, files, read, done);
    return;
  }
  for (size_t at = 0; at < files.size(); at += kAtOnce) {
    const auto part = files.subspan(at, std::min(kAtOnce, files.size() - at));
    std::vector<Image> inputs(part.size());
    std::exception_ptr error;
    std::mutex mutex;  // for `error`
    parallel_for(std::ssize(part), 1, [&](int64_t begin, int64_t end) {
      try {
        for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
          inputs[i] = network_input(read_image(part[i], size_), size_);
        }
      } catch (...) {
        const std::lock_guard lock(mutex);
        error = std::current_exception();
      }
    });
    if (error) std::rethrow_exception(error);
    add(inputs);
    if (done) done(static_cast<int64_t>(at + part.size()), std::ssize(files));
  }
}

void Pictures::add(std::span<const Image> images) {
  if (extractor_ == nullptr) {
    pixels_.insert(pixels_.end(), images.begin(), images.end());
    return;
  }
  for (size_t at = 0; at < images.size(); at += kAtOnce) {
    const std::vector<float> maps =
        to_host<float>((*extractor_)(images.subspan(at, std::min(kAtOnce, images.size() - at))));
    maps_.insert(maps_.end(), maps.begin(), maps.end());
  }
}

Tensor Pictures::augmented(std::span<const int32_t> numbers, std::span<const Augmentation> changes,
                           Device device) const {
  check(extractor_ == nullptr, "augmentation: expected a network that is trained, got a frozen one");
  std::vector<Image> changed(numbers.size());
  parallel_for(std::ssize(numbers), 1, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      changed[i] = augment(pixels_[static_cast<size_t>(numbers[i])], changes[i], size_, size_);
    }
  });
  return network_->normalise(changed, device);
}

Tensor Pictures::images(std::span<const int32_t> numbers, Device device) const {
  if (extractor_ == nullptr) {
    std::vector<Image> chosen;
    for (const int32_t n : numbers) chosen.push_back(pixels_[static_cast<size_t>(n)]);
    return network_->normalise(chosen, device);
  }
  if (cache_) return cache_->maps(std::vector<int64_t>(numbers.begin(), numbers.end()), device);
  const auto size = static_cast<size_t>(shape_.count());
  std::vector<float> chosen(numbers.size() * size);
  for (size_t i = 0; i < numbers.size(); ++i) {
    std::copy_n(maps_.begin() + static_cast<int64_t>(static_cast<size_t>(numbers[i]) * size), size,
                chosen.begin() + static_cast<int64_t>(i * size));
  }
  return from_host(chosen, {std::ssize(numbers), shape_[0], shape_[1], shape_[2]}, device);
}

}  // namespace fovea
