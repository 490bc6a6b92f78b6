// Feature maps are computed once; a cache of other pictures, settings or weights, or a damaged one, is computed again.
#include "tasks/feature_cache.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "base/files.h"
#include "support.h"
#include "temporary_folder.h"

namespace fovea {
namespace {

class FeatureCacheTest : public ::testing::Test {
 protected:
  FeatureCacheTest() {
    config.network = "resnet-small";
    config.size = 32;
    for (int i = 0; i < 19; ++i)
      pictures.push_back(folder.file(std::to_string(i) + ".pic", std::string(7 + i, 'a' + i)));
  }
  // A picture that depends on the content of the file.
  static Image read(const std::string& path) {
    const std::string bytes = read_file(path);
    Image image{32, 32, std::vector<uint8_t>(32 * 32 * 3)};
    for (size_t i = 0; i < image.pixels.size(); ++i) {
      image.pixels[i] = static_cast<uint8_t>(i * bytes.size() + static_cast<unsigned char>(bytes[i % bytes.size()]));
    }
    return image;
  }
  FeatureCache open(uint64_t seed = 1, DType element = DType::kF32) {
    return FeatureCache(path, FeatureExtractor(config, Device::cpu(), seed), pictures, read, {}, element);
  }

  TemporaryFolder folder;
  VisionConfig config;
  std::vector<std::string> pictures;
  std::string path = folder.file("cache/maps.bin");
};

TEST_F(FeatureCacheTest, HasTheMapsOfTheNetwork) {
  const FeatureExtractor extractor(config, Device::cpu(), 1);
  std::vector<Image> images;
  const std::vector<int64_t> some = {18, 0, 5, 5};
  for (const int64_t i : some) images.push_back(read(pictures[static_cast<size_t>(i)]));
  const std::vector<float> expected = to_host<float>(extractor(images));
  for (const DType element : {DType::kF32, DType::kBF16}) {
    std::vector<int64_t> seen;
    for (const bool again : {false, true}) {
      const FeatureCache cache(
          path, extractor, pictures, read, [&](int64_t done, int64_t total) { seen.push_back(done * 100 + total); },
          element);
      EXPECT_EQ(cache.computed(), !again);
      EXPECT_EQ(seen, (std::vector<int64_t>{1619, 1919}));
      const Tensor maps = cache.maps(some, Device::cpu());
      EXPECT_EQ(maps.shape(), extractor.map_shape().prepended(4));
      const std::vector<float> got = to_host<float>(maps);
      const float tolerance = element == DType::kF32 ? 1e-5f : 0.01f;
      for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], tolerance * (1 + std::abs(expected[i])));
      EXPECT_ERROR(cache.maps(std::vector<int64_t>{19}, Device::cpu()), "expected a picture below 19, got 19");
    }
  }
}

TEST_F(FeatureCacheTest, IsComputedAgainIfAnythingChanged) {
  EXPECT_TRUE(open().computed());
  EXPECT_FALSE(open().computed());
  EXPECT_TRUE(open(2).computed()) << "other weights";
  EXPECT_TRUE(open(2, DType::kBF16).computed()) << "another dtype";
  config.layer = "stages.1";
  EXPECT_TRUE(open().computed()) << "another layer";
  EXPECT_FALSE(open().computed());
  std::swap(pictures[0], pictures[1]);
  EXPECT_TRUE(open().computed()) << "another order";
  pictures.pop_back();
  EXPECT_TRUE(open().computed()) << "fewer pictures";
  EXPECT_FALSE(open().computed());
  const auto time = std::filesystem::last_write_time(pictures[3]);
  std::filesystem::last_write_time(pictures[3], time + std::chrono::seconds(1));
  EXPECT_TRUE(open().computed()) << "a newer picture";
  EXPECT_FALSE(open().computed());
}

TEST_F(FeatureCacheTest, ADamagedFileIsNotUsed) {
  open();
  const std::string whole = read_file(path);
  const auto damaged = [&](const std::string& bytes) {
    write_file_atomically(path, bytes);
    const bool computed = open().computed();
    EXPECT_EQ(read_file(path), whole);
    return computed;
  };
  EXPECT_FALSE(damaged(whole));
  EXPECT_TRUE(damaged(""));
  EXPECT_TRUE(damaged(whole.substr(0, whole.size() / 2)));
  EXPECT_TRUE(damaged(whole.substr(0, whole.size() - 1)));
  EXPECT_TRUE(damaged(whole + "x"));
  // A file of the right size whose end was never written.
  EXPECT_TRUE(damaged(whole.substr(0, whole.size() - 200) + std::string(200, '\0')));
  EXPECT_TRUE(damaged("x" + whole.substr(1)));
}

TEST_F(FeatureCacheTest, NothingIsLeftOfAnInterruptedComputation) {
  const FeatureExtractor extractor(config, Device::cpu(), 1);
  const auto stop = [](int64_t, int64_t) { throw std::runtime_error("stopped"); };
  EXPECT_THROW(FeatureCache(path, extractor, pictures, read, stop), std::runtime_error);
  EXPECT_TRUE(std::filesystem::is_empty(folder.file("cache")));
  pictures.push_back(folder.file("absent.pic"));
  EXPECT_ERROR(open(), "absent.pic: there is no such picture");
}

TEST_F(FeatureCacheTest, AnUnreadablePictureIsNamed) {
  const FeatureExtractor extractor(config, Device::cpu(), 1);
  const auto refuse = [&](const std::string& picture) {
    check(picture != pictures[7], "{}: not a picture", picture);
    return read(picture);
  };
  EXPECT_ERROR(FeatureCache(path, extractor, pictures, refuse), pictures[7] + ": not a picture");
}

}  // namespace
}  // namespace fovea
