// The time of a picture through the convolutional networks, one at a time, with random weights.
#include <string>
#include <vector>

#include "base/random.h"
#include "base/threads.h"
#include "bench/harness.h"
#include "models/image_encoder.h"

namespace {

using namespace fovea;

std::vector<Image> pictures(int64_t count, int64_t size) {
  Random random(1);
  std::vector<Image> all;
  for (int64_t i = 0; i < count; ++i) {
    Image image{size, size, std::vector<uint8_t>(static_cast<size_t>(size * size * 3))};
    for (uint8_t& pixel : image.pixels) pixel = static_cast<uint8_t>(random.below(256));
    all.push_back(std::move(image));
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options = bench::parse(argc, argv, "The time of a picture through a convolutional network");
  set_thread_count(options.threads > 0 ? options.threads : 2);
  bench::Table table("vision", {"network", "batch", "f32 ms", "bf16 ms", "f32 spread"});
  for (const std::string network : {"mobilenet-edgetpu", "resnet-small"}) {
    for (const int64_t batch : {1, 8}) {
      VisionConfig config;
      config.network = network;
      const FeatureExtractor extractor(config, Device::cpu(), 1);
      const std::vector<Image> images = pictures(batch, config.size);
      const auto run = [&](Precision precision) {
        return [&, precision] {
          const PrecisionScope scope(precision);
          extractor(images);
        };
      };
      const auto time = bench::measure(options, {run(Precision::kF32), run(Precision::kBF16)});
      const double per_picture = 1e3 / static_cast<double>(batch);
      table.add(network, batch, time[0].median * per_picture, time[1].median * per_picture, bench::spread(time[0]));
    }
  }
  bench::report(options, {&table});
}
