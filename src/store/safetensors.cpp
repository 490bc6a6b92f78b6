#include "store/safetensors.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <functional>
#include <span>
#include <system_error>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "store/elements.h"
#include "tensor/arena.h"

namespace fovea {

namespace {

constexpr size_t kMaxHeader = 100'000'000;  // the limit of the format
constexpr size_t kLength = 8;

std::string_view name_of_dtype(DType dtype) {
  switch (dtype) {
    case DType::kF32: return "F32";
    case DType::kBF16: return "BF16";
    case DType::kI32: return "I32";
    case DType::kF64: return "F64";
  }
  fail("safetensors: no name for {}", dtype);
}

// The bytes of an element; 0 for an unknown dtype.
size_t bytes_of_dtype(std::string_view name) {
  if (name == "F64" || name == "I64" || name == "U64") return 8;
  if (name == "F32" || name == "I32" || name == "U32") return 4;
  if (name == "F16" || name == "BF16" || name == "I16" || name == "U16") return 2;
  if (name == "I8" || name == "U8" || name == "BOOL" || name == "F8_E4M3" || name == "F8_E5M2") return 1;
  return 0;
}

std::string reason() { return std::generic_category().message(errno); }

// The whole content of a file, mapped into memory; the file descriptor is closed.
std::pair<std::shared_ptr<const std::byte>, size_t> map_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  check(descriptor >= 0, "{}: cannot open: {}", path, reason());
  struct stat about {};
  const bool known = ::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode);
  const auto bytes = static_cast<size_t>(known ? about.st_size : 0);
  void* data = MAP_FAILED;
  if (bytes >= kLength) data = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const std::string why = reason();
  ::close(descriptor);
  check(known, "{}: expected a safetensors file, got something that is not a regular file", path);
  check(bytes >= kLength, "{}: expected a safetensors file, got {} bytes", path, bytes);
  check(data != MAP_FAILED, "{}: cannot map: {}", path, why);
  return {{static_cast<const std::byte*>(data), [data, bytes](const std::byte*) { ::munmap(data, bytes); }}, bytes};
}

using Sizes = std::vector<uint64_t>;
using Place = std::pair<size_t, size_t>;  // the range of a tensor's bytes: begin, end

// The value of a key in an entry of the header. `tensor` names the file and the tensor, for errors.
Sizes sizes_at(const Json& about, const char* key, const std::string& tensor) {
  const auto found = about.is_object() ? about.find(key) : about.end();
  check(found != about.end() && found->is_array(), "{}: expected a list {}", tensor, key);
  for (const Json& size : *found) {
    check(size.is_number_unsigned(), "{}: expected non-negative integers in {}", tensor, key);
  }
  return found->get<Sizes>();
}

std::map<std::string, std::string> texts_in(const Json& metadata, const std::string& path) {
  check(metadata.is_object(), "{}: expected an object as metadata, got {}", path, metadata.type_name());
  std::map<std::string, std::string> texts;
  for (const auto& item : metadata.items()) {
    check(item.value().is_string(), "{}: expected strings as metadata, got {} at {}", path, item.value().type_name(),
          item.key());
    texts[item.key()] = item.value().get<std::string>();
  }
  return texts;
}

// Whether a tensor of that shape takes that many bytes. It divides instead of multiplying, so that no product of
// hostile sizes can overflow.
bool fits(const Sizes& shape, size_t element_bytes, size_t bytes) {
  if (std::find(shape.begin(), shape.end(), 0u) != shape.end()) return bytes == 0;
  if (bytes % element_bytes != 0) return false;
  uint64_t left = bytes / element_bytes;
  for (const uint64_t size : shape) {
    if (left % size != 0) return false;
    left /= size;
  }
  return left == 1;
}

void check_side_by_side(std::vector<Place> places, size_t data_bytes, const std::string& path) {
  std::sort(places.begin(), places.end());
  size_t end = 0;
  for (const auto& [begin, next] : places) {
    check(begin == end, "{}: expected contiguous tensors, got a gap or an overlap at byte {}", path, begin);
    end = next;
  }
  check(end == data_bytes, "{}: expected {} bytes of tensors, got {}", path, end, data_bytes);
}

// A tensor to be written.
struct Written {
  std::string name;
  std::string_view dtype;
  std::vector<int64_t> shape;
  std::function<std::string()>
      bytes;  // computed when they are written, so that no second copy of the model is in memory
  size_t size;
};

void write_all(const std::string& path, const std::vector<Written>& tensors,
               const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  size_t at = 0;
  for (const Written& tensor : tensors) {
    header[tensor.name] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {at, at + tensor.size}}};
    at += tensor.size;
  }
  std::string text = header.dump();
  text.resize((text.size() + kLength + kAlignment - 1) / kAlignment * kAlignment - kLength, ' ');
  const uint64_t length = text.size();
  static_assert(std::endian::native == std::endian::little);
  AtomicFile file(path);
  file.write({reinterpret_cast<const char*>(&length), kLength});
  file.write(text);
  for (const Written& tensor : tensors) file.write(tensor.bytes());
  file.commit();
}

std::vector<int64_t> sizes_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

Written as_it_is(const NamedTensor& named) {
  return {named.name, name_of_dtype(named.tensor.dtype()), sizes_of(named.tensor.shape()),
          [tensor = named.tensor] {
            const Tensor host = to_device(tensor, Device::cpu());
            return std::string(reinterpret_cast<const char*>(host.raw()), host.bytes());
          },
          named.tensor.bytes()};
}

constexpr float kMostInt8 = 127.0f;

float scale_of(std::span<const float> row) {
  float most = 0.0f;
  for (const float x : row) most = std::max(most, std::abs(x));
  return most / kMostInt8;
}

// Quantises rows of f32 to 8 bits.
std::string packed_rows(const std::vector<float>& values, size_t columns) {
  std::string bytes(values.size(), '\0');
  for (size_t begin = 0; begin < values.size(); begin += columns) {
    const float scale = scale_of(std::span(values).subspan(begin, columns));
    for (size_t i = begin; i < begin + columns; ++i) {
      const float x = scale > 0.0f ? std::round(values[i] / scale) : 0.0f;
      bytes[i] = static_cast<char>(static_cast<int8_t>(std::clamp(x, -kMostInt8, kMostInt8)));
    }
  }
  return bytes;
}
std::string scales_of_rows(const std::vector<float>& values, size_t columns) {
  std::string bytes;
  for (size_t begin = 0; begin < values.size(); begin += columns) {
    const float scale = scale_of(std::span(values).subspan(begin, columns));
    bytes.append(reinterpret_cast<const char*>(&scale), sizeof scale);
  }
  return bytes;
}

constexpr std::string_view kScale = ".scale";

}  // namespace

void write_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<Written> all;
  for (const NamedTensor& named : tensors) all.push_back(as_it_is(named));
  write_all(path, all, metadata);
}

void write_packed_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                              const std::map<std::string, std::string>& metadata) {
  std::vector<Written> all;
  for (const NamedTensor& named : tensors) {
    const Tensor& x = named.tensor;
    if (x.dtype() != DType::kF32 || (x.rank() != 2 && x.rank() != 4) || x.size() == 0) {
      all.push_back(as_it_is(named));
      continue;
    }
    const auto rows = static_cast<size_t>(x.dim(0)), columns = static_cast<size_t>(x.size()) / rows;
    all.push_back({named.name, "I8", sizes_of(x.shape()),
                   [x, columns] { return packed_rows(to_host<float>(x), columns); }, rows * columns});
    all.push_back({named.name + std::string(kScale),
                   "F32",
                   {x.dim(0)},
                   [x, columns] { return scales_of_rows(to_host<float>(x), columns); },
                   rows * sizeof(float)});
  }
  write_all(path, all, metadata);
}

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path) {
  std::tie(map_, map_bytes_) = map_file(path);
  uint64_t length = 0;
  std::memcpy(&length, map_.get(), kLength);
  check(length <= kMaxHeader, "{}: expected a safetensors header of at most {} bytes, got {}", path, kMaxHeader,
        length);
  check(length <= map_bytes_ - kLength,
        "{}: expected a header of {} bytes, got a file of {} bytes (truncated, or not a safetensors file)", path,
        length, map_bytes_);
  parse({reinterpret_cast<const char*>(map_.get()) + kLength, static_cast<size_t>(length)},
        map_bytes_ - kLength - length);
}

void SafetensorsFile::parse(std::string_view header, size_t data_bytes) {
  const Json json = parse_json(header, path_ + ": safetensors header");
  check(json.is_object(), "{}: expected a JSON object as the safetensors header, got {}", path_, brief_value(json));
  const std::byte* data = map_.get() + kLength + header.size();
  std::vector<Place> places;
  for (const auto& item : json.items()) {
    const Json& about = item.value();
    if (item.key() == "__metadata__") {
      metadata_ = texts_in(about, path_);
      continue;
    }
    const std::string tensor = fmt::format("{}: {}", path_, item.key());
    const Sizes shape = sizes_at(about, "shape", tensor), offsets = sizes_at(about, "data_offsets", tensor);
    const auto dtype = about.find("dtype");
    check(dtype != about.end() && dtype->is_string() && bytes_of_dtype(dtype->get<std::string>()) != 0,
          "{}: expected a known dtype, got {}", tensor, dtype == about.end() ? "none" : brief_value(*dtype));
    check(offsets.size() == 2 && offsets[0] <= offsets[1] && offsets[1] <= data_bytes,
          "{}: expected data_offsets within {} bytes, got {} (is the file truncated?)", tensor, data_bytes,
          fmt::join(offsets, ", "));
    Entry entry{dtype->get<std::string>(),
                {shape.begin(), shape.end()},
                data + offsets[0],
                static_cast<size_t>(offsets[1] - offsets[0])};
    check(fits(shape, bytes_of_dtype(entry.dtype), entry.bytes),
          "{}: expected as many bytes as shape [{}] of {} takes, got {}", tensor, fmt::join(shape, ","), entry.dtype,
          entry.bytes);
    places.emplace_back(offsets[0], offsets[1]);
    entries_.emplace(item.key(), std::move(entry));
  }
  check_side_by_side(std::move(places), data_bytes, path_);
}

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

bool SafetensorsFile::has(std::string_view name, const Shape& shape) const {
  const auto found = entries_.find(name);
  return found != entries_.end() &&
         std::equal(shape.begin(), shape.end(), found->second.shape.begin(), found->second.shape.end());
}

const std::vector<int64_t>* SafetensorsFile::shape(std::string_view name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second.shape;
}

QuantisedMatrix SafetensorsFile::packed(std::string_view name, const Entry& entry) const {
  const auto scales = entries_.find(std::string(name) + std::string(kScale));
  check(
      scales != entries_.end() && scales->second.dtype == "F32" && scales->second.shape == std::vector{entry.shape[0]},
      "{}: {}: expected {}{} beside it, f32 [{}]", path_, name, name, kScale, entry.shape[0]);
  const int64_t rows = entry.shape[0];
  return {.rows = rows,
          .columns = static_cast<int64_t>(entry.bytes) / std::max<int64_t>(1, rows),
          .values = reinterpret_cast<const int8_t*>(entry.data),
          .scales = scales->second.data,
          .owner = map_};
}

void SafetensorsFile::read(std::string_view name, const Tensor& into) const {
  const auto found = entries_.find(name);
  check(found != entries_.end(), "{}: there is no tensor {}", path_, name);
  const Entry& entry = found->second;
  const Shape& shape = into.shape();
  check(std::equal(shape.begin(), shape.end(), entry.shape.begin(), entry.shape.end()),
        "{}: {}: expected shape {}, got [{}]", path_, name, shape, fmt::join(entry.shape, ","));
  if (entry.dtype == name_of_dtype(into.dtype())) {
    copy_memory(into.device(), into.raw(), Device::cpu(), entry.data, entry.bytes);
  } else {
    const bool half = entry.dtype == "BF16" || entry.dtype == "F16";
    check(into.dtype() == DType::kF32 && (half || (entry.dtype == "I8" && entry.shape.size() >= 2)),
          "{}: {}: expected {}, got {}", path_, name, name_of_dtype(into.dtype()), entry.dtype);
    const ArenaScope heap(nullptr);
    const bool direct = into.device().on_host() && into.buffer() != nullptr;  // neither on a card nor in an arena
    const Tensor values = direct ? into : empty(shape, DType::kF32, Device::cpu());
    if (half) {
      widen_elements(entry.dtype == "BF16" ? ElementType::kBF16 : ElementType::kF16, entry.data,
                     {values.data<float>(), static_cast<size_t>(values.size())});
    } else {
      values.buffer()->set_quantised(values.address(), packed(name, entry));
      if (direct) return;
    }
    if (!direct) copy_memory(into.device(), into.raw(), Device::cpu(), values.raw(), into.bytes());
  }
  into.contents_changed();
}

}  // namespace fovea
