#include "tasks/feature_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "base/threads.h"

namespace fovea {

namespace {

constexpr std::string_view kMagic = "fovea feature cache 1\n";
constexpr size_t kHeader = 128;  // bytes
constexpr int64_t kBatch = 16;   // pictures in one pass of the network

// Two 64-bit hashes of words, in the manner of FNV-1a: not against attacks, but enough that no other list of
// pictures and no other weights have the same digest by accident.
class Digest {
 public:
  void add(std::string_view bytes) {
    add_number(bytes.size());
    for (size_t i = 0; i < bytes.size(); i += sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, bytes.data() + i, std::min(sizeof word, bytes.size() - i));
      add_number(word);
    }
  }
  void add_number(uint64_t word) {
    a_ = std::rotl((a_ ^ word) * 0x100000001B3ull, 29);
    b_ = std::rotl((b_ + word) * 0x9E3779B97F4A7C15ull, 31) ^ a_;
  }
  std::string text() const { return fmt::format("{:016x}{:016x}", a_, b_); }

 private:
  uint64_t a_ = 0xCBF29CE484222325ull, b_ = 0x84222325CBF29CE4ull;
};

std::string digest_of(const FeatureExtractor& extractor, std::span<const std::string> pictures) {
  Digest digest;
  const VisionConfig& config = extractor.config();
  digest.add(config.network);
  digest.add(config.layer);
  digest.add_number(static_cast<uint64_t>(config.size));
  for (const Parameter& p : extractor.parameters().list()) {
    digest.add(p.name());
    const std::vector<float> values = to_host<float>(p.value());
    digest.add({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  }
  for (const std::string& picture : pictures) {
    struct stat about {};
    check(::stat(picture.c_str(), &about) == 0, "{}: there is no such picture", picture);
    digest.add(picture);
    digest.add_number(static_cast<uint64_t>(about.st_size));
    digest.add_number(static_cast<uint64_t>(about.st_mtim.tv_sec));
    digest.add_number(static_cast<uint64_t>(about.st_mtim.tv_nsec));
  }
  return digest.text();
}

std::string header_text(const std::string& digest, int64_t count, const Shape& map, DType element) {
  std::string header = fmt::format("{}{} {} {}x{}x{} {}", kMagic, digest, count, map[0], map[1], map[2], element);
  check(header.size() < kHeader, "feature cache: expected a header of less than {} bytes", kHeader);
  header.resize(kHeader, ' ');
  return header;
}

std::string_view bytes_of(const Tensor& x) { return {reinterpret_cast<const char*>(x.raw()), x.bytes()}; }

// Reads pictures on all threads and throws the error of the first one that has any.
std::vector<Image> read_all(std::span<const std::string> pictures, const FeatureCache::Read& read) {
  std::vector<Image> images(pictures.size());
  std::vector<std::exception_ptr> errors(pictures.size());
  parallel_for(std::ssize(pictures), 1, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      try {
        images[i] = read(pictures[i]);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  });
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  return images;
}

// Writes the maps of all pictures.
void compute(const std::string& path, const std::string& header, const FeatureExtractor& extractor,
             std::span<const std::string> pictures, const FeatureCache::Read& read, const FeatureCache::Done& done,
             DType element) {
  AtomicFile file(path);
  file.write(header);
  const int64_t total = std::ssize(pictures);
  for (int64_t begin = 0; begin < total; begin += kBatch) {
    const int64_t count = std::min(kBatch, total - begin);
    const std::vector<Image> images =
        read_all(pictures.subspan(static_cast<size_t>(begin), static_cast<size_t>(count)), read);
    file.write(bytes_of(to_device(cast(Var(extractor(images)), element).value(), Device::cpu())));
    if (done) done(begin + count, total);
  }
  file.write(header);
  file.commit();
}

}  // namespace

FeatureCache::FeatureCache(const std::string& path, const FeatureExtractor& extractor,
                           std::span<const std::string> pictures, const Read& read, const Done& done, DType element)
    : count_(std::ssize(pictures)), map_(extractor.map_shape()), element_(element) {
  check(element == DType::kBF16 || element == DType::kF32, "feature cache: expected bf16 or f32, got {}", element);
  map_bytes_ = map_.count() * static_cast<int64_t>(size_of(element));
  const std::string header = header_text(digest_of(extractor, pictures), count_, map_, element);
  if (open(path, header)) return;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder);
  compute(path, header, extractor, pictures, read, done, element);
  computed_ = true;
  check(open(path, header), "{}: cannot map the feature maps that were just written", path);
}

FeatureCache::~FeatureCache() {
  if (file_ != nullptr) ::munmap(file_, file_bytes_);
}

bool FeatureCache::open(const std::string& path, const std::string& header) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  struct stat about {};
  const size_t expected = 2 * kHeader + static_cast<size_t>(count_ * map_bytes_);
  void* data = MAP_FAILED;
  if (::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode) && static_cast<size_t>(about.st_size) == expected) {
    data = ::mmap(nullptr, expected, PROT_READ, MAP_SHARED, descriptor, 0);
  }
  ::close(descriptor);
  if (data == MAP_FAILED) return false;
  const auto* bytes = static_cast<const char*>(data);
  const bool ours = std::memcmp(bytes, header.data(), kHeader) == 0 &&
                    std::memcmp(bytes + expected - kHeader, header.data(), kHeader) == 0;
  if (!ours) {
    ::munmap(data, expected);
    return false;
  }
  file_ = data;
  file_bytes_ = expected;
  maps_ = static_cast<const std::byte*>(data) + kHeader;
  return true;
}

Tensor FeatureCache::maps(std::span<const int64_t> pictures, Device device) const {
  const int64_t elements = map_.count(), rows = std::ssize(pictures);
  std::vector<float> values(static_cast<size_t>(rows * elements));
  for (const int64_t picture : pictures) {
    check(picture >= 0 && picture < count_, "feature cache: expected a picture below {}, got {}", count_, picture);
  }
  parallel_for(rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const std::byte* from = map_at(pictures[static_cast<size_t>(row)]);
      float* to = &values[static_cast<size_t>(row * elements)];
      if (element_ == DType::kF32) {
        std::memcpy(to, from, static_cast<size_t>(map_bytes_));
        continue;
      }
      const auto* halves = reinterpret_cast<const uint16_t*>(from);
      for (int64_t i = 0; i < elements; ++i) to[i] = std::bit_cast<float>(static_cast<uint32_t>(halves[i]) << 16);
    }
  });
  return from_host(values, map_.prepended(rows), device);
}

}  // namespace fovea
