// The tensors of another program's model file, whatever its format: names, shapes and f32 elements.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

class ForeignTensors {
 public:
  virtual ~ForeignTensors() = default;
  virtual const std::string& path() const = 0;
  virtual std::vector<std::string> names() const = 0;
  // Null if there is no such tensor.
  virtual const std::vector<int64_t>* shape(std::string_view name) const = 0;
  // Its elements, converted to f32. Error if there is no such tensor or if it does not hold numbers.
  virtual std::vector<float> read(std::string_view name) const = 0;
};

std::unique_ptr<ForeignTensors> open_safetensors(const std::string& path);
// pytorch_model.bin, as torch.save writes it. Nothing in it is executed.
std::unique_ptr<ForeignTensors> open_pytorch(const std::string& path);

}  // namespace fovea
