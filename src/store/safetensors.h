// safetensors files: a length, a JSON header of names, shapes and byte ranges, then the elements
// (github.com/huggingface/safetensors). Reading maps the file and checks everything in the header before it is used;
// writing replaces the file atomically.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace fovea {

struct NamedTensor {
  std::string name;
  Tensor tensor;  // on any device
};

void write_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata);
// The same with f32 matrices, and convolutions of four axes, in a quarter of their size: each row (of the first axis)
// is stored in 8 bits, and the tensor `NAME.scale` has the f32 factor of each row. All other tensors are stored as they
// are.
void write_packed_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                              const std::map<std::string, std::string>& metadata);

class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);  // Error that names the file and what is wrong with it

  const std::string& path() const { return path_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  std::vector<std::string> names() const;
  bool has(std::string_view name, const Shape& shape) const;
  const std::vector<int64_t>* shape(std::string_view name) const;  // null if there is no such tensor
  // Reads the tensor of that name. Error unless it is there, with this shape; f32 is read from f32, bf16, f16 and
  // packed rows, anything else from its own dtype. Packed rows are not copied: a tensor on the host refers to the
  // mapped file.
  void read(std::string_view name, const Tensor& into) const;

 private:
  struct Entry {
    std::string dtype;
    std::vector<int64_t> shape;
    const std::byte* data;
    size_t bytes;
  };
  void parse(std::string_view header, size_t data_bytes);
  QuantisedMatrix packed(std::string_view name, const Entry& entry) const;

  std::string path_;
  std::shared_ptr<const std::byte> map_;  // the whole file
  size_t map_bytes_ = 0;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace fovea
