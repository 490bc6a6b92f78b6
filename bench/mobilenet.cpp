// The time of a picture (batch 1, 224x224) through MobileNetEdgeTPU with its ImageNet weights: ours, from 8-bit pixels
// to the feature map, and onnxruntime's, from normalised floats. Each runs in a process of its own; they are timed in
// turns, on two cores and on one.
//   npm install --ignore-scripts --prefix DIR onnxruntime-node@1.30.0   # its CPU library is inside the package
//   bench/mobilenet --data FOLDER --node DIR [--threads N] [--quick] [--json FILE]
// FOLDER has model.safetensors and reference.npz. Before that, feature maps are compared with the reference's and with
// one another, and the classes that they give.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/files.h"
#include "base/threads.h"
#include "bench/harness.h"
#include "bench/worker.h"
#include "store/safetensors.h"
#include "store/vision_weights.h"
#include "tests/npz.h"

namespace {

using namespace fovea;  // NOLINT(google-build-using-namespace): a benchmark uses most of the library's names

constexpr int64_t kSide = 224, kPixels = kSide * kSide * 3, kChannels = 1280, kPlaces = 49, kClasses = 1001;

template <class T> void write_elements(const std::string& path, const std::vector<T>& elements) {
  std::string bytes(elements.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), elements.data(), bytes.size());
  write_file_atomically(path, bytes);
}
template <class T> std::vector<T> read_elements(const std::string& path) {
  const std::string bytes = read_file(path);
  std::vector<T> elements(bytes.size() / sizeof(T));
  std::memcpy(elements.data(), bytes.data(), elements.size() * sizeof(T));
  return elements;
}

// mobilenet --worker WEIGHTS PICTURES MAPS THREADS, with pictures of 8 bits.
int run_worker(char** arguments) {
  set_thread_count(std::stoi(arguments[3]));
  const double before = bench::peak_memory_mb();
  const auto extractor = load_feature_extractor({}, arguments[0], Device::cpu());
  const auto rgb = read_elements<uint8_t>(arguments[1]);
  std::vector<Image> images;
  for (auto at = rgb.begin(); at != rgb.end(); at += kPixels) images.push_back({kSide, kSide, {at, at + kPixels}});
  std::vector<float> maps;
  for (const Image& image : images) {
    const std::vector<float> map = to_host<float>((*extractor)({&image, 1}));
    maps.insert(maps.end(), map.begin(), map.end());
  }
  write_elements(arguments[2], maps);
  bench::serve({.name = "fovea",
                .calls = {{"picture",
                           [&] {
                             (*extractor)({images.data(), 1});
                           }}},
                .memory_before = before});
  return 0;
}

class Classifier {
 public:
  explicit Classifier(const std::string& weights)
      : weight_(empty({kClasses, kChannels}, DType::kF32, Device::cpu())),
        bias_(empty({kClasses}, DType::kF32, Device::cpu())) {
    const SafetensorsFile file(weights);
    file.read("classifier.weight", weight_);
    file.read("classifier.bias", bias_);
  }
  std::vector<int32_t> classes(const std::vector<float>& maps) const {
    const Tensor map = from_host(maps, {std::ssize(maps) / kPlaces / kChannels, kPlaces, kChannels}, Device::cpu());
    return to_host<int32_t>(argmax(linear(mean(Var(map), 1), weight_, bias_).value(), 1));
  }

 private:
  Tensor weight_, bias_;
};

struct Contender {
  std::unique_ptr<bench::Worker> worker;
  std::vector<float> maps;
};

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) bench::wrong(fmt::format("expected {} features, got {}", b.size(), a.size()));
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(double{a[i]} - double{b[i]}));
  return most;
}

void check_maps(const std::vector<Contender>& contenders, const std::vector<float>& expected,
                const Classifier& classifier) {
  for (const Contender& contender : contenders) {
    const double off = distance(contender.maps, expected), apart = distance(contender.maps, contenders[0].maps);
    fmt::print("{}: features at most {:.1e} from the reference's, {:.1e} from fovea's\n", contender.worker->name(), off,
               apart);
    if (!(std::max(off, apart) < 1e-3)) bench::wrong(contender.worker->name() + " computes other features");
    if (classifier.classes(contender.maps) != classifier.classes(expected)) {
      bench::wrong(contender.worker->name() + " sees other classes");
    }
  }
}

class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / fmt::format("fovea-mobilenet-{}", getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 6 && std::string(argv[1]) == "--worker") return run_worker(argv + 2);
  const bench::Options options = bench::parse(argc, argv, "A picture through MobileNetEdgeTPU: ours and onnxruntime's");
  if (options.data.empty() || options.node.empty()) bench::wrong("expected --data and --node");
  const std::string weights = options.data + "/model.safetensors";
  const NpzFile reference(options.data + "/reference.npz");
  const auto rgb = reference.read<uint8_t>("rgb");
  std::vector<float> normalised;
  for (const uint8_t x : rgb) normalised.push_back((static_cast<float>(x) - 128.0f) * 0.007874015718698502f);
  const Folder folder;
  write_elements(folder.file("rgb"), rgb);
  write_elements(folder.file("normalised"), normalised);

  bench::Table table("a picture of 224x224, f32", {"threads", "contender", "ms", "it / ours", "peak MB"});
  for (const int threads : options.threads > 0 ? std::vector{options.threads} : std::vector{2, 1}) {
    std::vector<Contender> contenders;
    const auto start = [&](std::vector<std::string> command, const std::string& pictures) {
      for (const std::string& argument : {weights, folder.file(pictures), folder.file("maps"), std::to_string(threads)})
        command.push_back(argument);
      auto worker = std::make_unique<bench::Worker>(command, std::vector<std::string>{});
      if (worker->name().empty()) bench::wrong(command[0] + " could not be started");
      contenders.push_back({std::move(worker), read_elements<float>(folder.file("maps"))});
    };
    start({"/proc/self/exe", "--worker"}, "rgb");
    start({"node", bench::peer_script("mobilenet.mjs"), options.node}, "normalised");
    check_maps(contenders, reference.read<float>("feat_float"), Classifier(weights));
    std::vector<bench::Worker*> workers;
    for (const Contender& contender : contenders) workers.push_back(contender.worker.get());
    const std::vector<double> times =
        bench::time_in_turns(workers, {"picture", options.quick ? 5 : 41, options.quick ? 0.05 : 0.2});
    for (size_t i = 0; i < workers.size(); ++i) {
      table.add(threads, workers[i]->name(), times[i] * 1e3, times[i] / times[0], workers[i]->memory().peak);
    }
  }
  bench::report(options, {&table});
}
