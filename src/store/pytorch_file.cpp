// pytorch_model.bin, as torch.save writes a state_dict: since PyTorch 1.6 a zip archive with a pickle of the tensors
// and a file for the elements of each, before that one file with several pickles and the elements at its end.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "store/elements.h"
#include "store/foreign_tensors.h"
#include "store/pickle.h"
#include "text/zip.h"

namespace fovea {

namespace {

constexpr size_t kMostPickle = size_t{16} << 20;
constexpr std::string_view kLegacyMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);
constexpr int64_t kLegacyVersion = 1001;

struct StorageType {
  std::string_view name;
  ElementType type;  // of integers only the size is right
  bool number;       // whether weights are stored so
};
constexpr StorageType kTypes[] = {
    {"torch.FloatStorage", ElementType::kF32, true},     {"torch.HalfStorage", ElementType::kF16, true},
    {"torch.BFloat16Storage", ElementType::kBF16, true}, {"torch.DoubleStorage", ElementType::kF64, true},
    {"torch.LongStorage", ElementType::kF64, false},     {"torch.IntStorage", ElementType::kI32, false},
    {"torch.ShortStorage", ElementType::kI16, false},    {"torch.CharStorage", ElementType::kI8, false},
    {"torch.ByteStorage", ElementType::kI8, false},      {"torch.BoolStorage", ElementType::kI8, false},
};

struct StoredTensor {
  std::string storage;
  const StorageType* type;
  int64_t elements, offset;  // of the storage; of the tensor in it
  std::vector<int64_t> shape, strides;
};

// The number of elements of a tensor. Error unless all of them are in its storage.
int64_t checked_count(const StoredTensor& tensor, const std::string& name) {
  constexpr int64_t kMost = int64_t{1} << 40;
  int64_t count = 1, last = tensor.offset;
  bool fits = tensor.shape.size() == tensor.strides.size() && tensor.shape.size() <= 8 && tensor.elements >= 0 &&
              tensor.elements <= kMost && tensor.offset >= 0 && tensor.offset <= tensor.elements;
  for (size_t i = 0; fits && i < tensor.shape.size(); ++i) {
    const int64_t size = tensor.shape[i], stride = tensor.strides[i];
    fits = size >= 0 && size <= kMost && stride >= 0 && stride <= kMost && (count == 0 || size <= kMost / count) &&
           (size <= 1 || stride <= kMost / (size - 1));
    if (!fits) break;
    count *= size;
    last += size > 1 ? (size - 1) * stride : 0;
  }
  check(fits && count <= tensor.elements && (count == 0 || last < tensor.elements),
        "{}: expected a tensor inside of its {} elements", name, tensor.elements);
  return count;
}

class PyTorchFile : public ForeignTensors {
 public:
  explicit PyTorchFile(std::string path) : path_(std::move(path)) {}
  const std::string& path() const override { return path_; }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : tensors_) names.push_back(name);
    return names;
  }
  const std::vector<int64_t>* shape(std::string_view name) const override {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : &found->second.shape;
  }
  std::vector<float> read(std::string_view name) const override {
    const auto found = tensors_.find(name);
    check(found != tensors_.end(), "{}: there is no tensor {}", path_, name);
    const StoredTensor& tensor = found->second;
    check(tensor.type->number, "{}: {}: expected floating-point numbers, got {}", path_, name, tensor.type->name);
    const size_t bytes = static_cast<size_t>(tensor.elements) * bytes_of(tensor.type->type);
    const std::string stored = read_storage(tensor.storage, bytes);
    std::vector<float> all(static_cast<size_t>(tensor.elements));
    widen_elements(tensor.type->type, reinterpret_cast<const std::byte*>(stored.data()), all);
    return gathered(tensor, std::move(all));
  }

 protected:
  // The elements of a storage. Error unless it has so many bytes.
  virtual std::string read_storage(const std::string& key, size_t bytes) const = 0;

  // Reads the tensors of a state_dict: a dictionary of names and tensors.
  void read_tensors(const Pickle& pickle) {
    check(pickle.root().kind == PickleValue::Kind::kMapping, "{}: expected a dictionary of tensors", path_);
    const std::vector<uint32_t>& items = pickle.root().items;
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      const std::string& name = pickle.text(pickle.value(items[i]));
      const PickleValue& value = pickle.value(items[i + 1]);
      const std::string place = fmt::format("{}: {}", path_, brief(name));
      check(value.kind == PickleValue::Kind::kTensor, "{}: expected a tensor", place);
      const PickleValue& storage = pickle.item(value, 0);
      check(storage.kind == PickleValue::Kind::kStorage && pickle.text(pickle.item(storage, 0)) == "storage",
            "{}: expected a tensor with a storage", place);
      const std::string& type = pickle.text(pickle.item(storage, 1));
      const auto* known =
          std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& t) { return t.name == type; });
      check(known != std::end(kTypes), "{}: expected a known type of storage, got {}", place, brief(type));
      StoredTensor tensor{.storage = pickle.text(pickle.item(storage, 2)),
                          .type = known,
                          .elements = pickle.integer(pickle.item(storage, 4)),
                          .offset = pickle.integer(pickle.item(value, 1)),
                          .shape = pickle.integers(pickle.item(value, 2)),
                          .strides = pickle.integers(pickle.item(value, 3))};
      checked_count(tensor, place);
      tensors_[name] = std::move(tensor);
    }
  }

  static std::vector<float> gathered(const StoredTensor& tensor, std::vector<float> all) {
    const int64_t count = checked_count(tensor, "tensor");
    std::vector<float> values(static_cast<size_t>(count));
    std::vector<int64_t> index(tensor.shape.size(), 0);
    int64_t at = tensor.offset;
    for (float& value : values) {
      value = all[static_cast<size_t>(at)];
      for (size_t axis = index.size(); axis > 0; --axis) {  // the next index, the last axis first
        const size_t a = axis - 1;
        at += tensor.strides[a];
        if (++index[a] < tensor.shape[a]) break;
        at -= tensor.strides[a] * tensor.shape[a];
        index[a] = 0;
      }
    }
    return values;
  }

  std::string path_;
  std::map<std::string, StoredTensor, std::less<>> tensors_;
};

class ZippedFile final : public PyTorchFile {
 public:
  explicit ZippedFile(const std::string& path)
      : PyTorchFile(path), archive_(std::make_shared<ZipArchive>(path, UnpackLimits{})) {
    constexpr std::string_view kPickle = "/data.pkl";
    for (const ZipEntry& entry : archive_->entries()) {
      if (entry.name.ends_with(kPickle)) folder_ = entry.name.substr(0, entry.name.size() - kPickle.size() + 1);
    }
    check(!folder_.empty(), "{}: expected an archive of PyTorch with a file data.pkl", path);
    if (const ZipEntry* order = find("byteorder")) {
      check(read_entry(*order, 16) == "little", "{}: expected little-endian numbers", archive_->name_of(*order));
    }
    const ZipEntry& pickle = *find("data.pkl");
    read_tensors(Pickle(read_entry(pickle, kMostPickle), archive_->name_of(pickle)));
  }

 private:
  const ZipEntry* find(const std::string& name) const {
    for (const ZipEntry& entry : archive_->entries()) {
      if (entry.name == folder_ + name) return &entry;
    }
    return nullptr;
  }

  std::string read_entry(const ZipEntry& entry, size_t most) const {
    // PyTorch does not compress, so a file is never larger than its archive.
    check(entry.packed == entry.unpacked && entry.unpacked <= most, "{}: expected at most {} bytes, not compressed",
          archive_->name_of(entry), most);
    std::string bytes(entry.unpacked, '\0');
    const ByteSource source = archive_->open(entry);
    size_t done = 0;
    while (const size_t got = source.read(bytes.data() + done, bytes.size() - done)) done += got;
    char more = 0;
    const bool ended = source.read(&more, 1) == 0;  // also compares the checksum
    check(ended && done == bytes.size(), "{}: expected {} bytes, got {}", source.name, bytes.size(), done);
    return bytes;
  }

  std::string read_storage(const std::string& key, size_t bytes) const override {
    const ZipEntry* entry = find("data/" + key);
    check(entry != nullptr, "{}: expected a file data/{} in the archive", path_, brief(key));
    check(entry->unpacked == bytes, "{}: expected {} bytes, got {}", archive_->name_of(*entry), bytes, entry->unpacked);
    return read_entry(*entry, bytes);
  }

  std::shared_ptr<ZipArchive> archive_;
  std::string folder_;  // with the slash
};

// Pickles of a magic number, a version, the machine, the tensors and the storages' keys; then for each key the number
// of its elements, and the elements.
class LegacyFile final : public PyTorchFile {
 public:
  explicit LegacyFile(const std::string& path) : PyTorchFile(path), file_(path, std::ios::binary) {
    size_ = std::filesystem::file_size(path);
    std::string head(std::min<uint64_t>(size_, kMostPickle), '\0');
    read_at(0, head.data(), head.size());
    std::string_view left = head;
    const Pickle magic = next(left), version = next(left), machine = next(left), tensors = next(left),
                 keys = next(left);
    check(magic.root().text == kLegacyMagic && version.root().integer == kLegacyVersion,
          "{}: expected a file that torch.save wrote", path);
    read_tensors(tensors);
    find_storages(keys, head.size() - left.size());
  }

 private:
  Pickle next(std::string_view& left) const {
    Pickle pickle(left, path_);
    left.remove_prefix(pickle.size());
    return pickle;
  }

  void find_storages(const Pickle& keys, uint64_t at) {
    std::map<std::string, size_t> widths;
    for (const auto& [name, tensor] : tensors_) {
      widths[tensor.storage] = bytes_of(tensor.type->type);
    }
    for (const uint32_t index : keys.root().items) {
      const std::string& key = keys.text(keys.value(index));
      const auto width = widths.find(key);
      check(width != widths.end(), "{}: expected storages of tensors only, got one of none", path_);
      uint64_t elements = 0;
      check(size_ - at >= sizeof elements, "{}: the file is truncated", path_);
      read_at(at, reinterpret_cast<char*>(&elements), sizeof elements);
      at += sizeof elements;
      check(elements <= (size_ - at) / width->second, "{}: the file is truncated: expected {} elements for storage {}",
            path_, elements, brief(key));
      places_[key] = {at, elements * width->second};
      at += elements * width->second;
    }
  }

  std::string read_storage(const std::string& key, size_t bytes) const override {
    const auto found = places_.find(key);
    check(found != places_.end() && found->second.second == bytes, "{}: expected {} bytes for storage {}", path_, bytes,
          brief(key));
    std::string stored(bytes, '\0');
    read_at(found->second.first, stored.data(), stored.size());
    return stored;
  }

  void read_at(uint64_t at, char* to, size_t bytes) const {
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(at));
    file_.read(to, static_cast<std::streamsize>(bytes));
    check(file_.gcount() == static_cast<std::streamsize>(bytes), "{}: cannot read {} bytes at {}", path_, bytes, at);
  }

  mutable std::ifstream file_;
  uint64_t size_ = 0;
  std::map<std::string, std::pair<uint64_t, size_t>> places_;  // of the storages: offset, bytes
};

}  // namespace

std::unique_ptr<ForeignTensors> open_pytorch(const std::string& path) {
  check(std::filesystem::is_regular_file(path), "{}: expected a file", path);
  char first[2] = {};
  std::ifstream(path, std::ios::binary).read(first, sizeof first);
  if (first[0] == 'P' && first[1] == 'K') return std::make_unique<ZippedFile>(path);
  return std::make_unique<LegacyFile>(path);
}

}  // namespace fovea
