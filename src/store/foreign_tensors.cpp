#include "store/foreign_tensors.h"

#include "base/error.h"
#include "store/safetensors.h"
#include "tensor/arena.h"

namespace fovea {

namespace {

class SafetensorsTensors final : public ForeignTensors {
 public:
  explicit SafetensorsTensors(const std::string& path) : file_(path) {}
  const std::string& path() const override { return file_.path(); }
  std::vector<std::string> names() const override { return file_.names(); }
  const std::vector<int64_t>* shape(std::string_view name) const override { return file_.shape(name); }
  std::vector<float> read(std::string_view name) const override {
    const std::vector<int64_t>* shape = file_.shape(name);
    check(shape != nullptr, "{}: there is no tensor {}", path(), name);
    const ArenaScope heap(nullptr);
    const Tensor tensor = empty(Shape(std::span<const int64_t>(*shape)), DType::kF32, Device::cpu());
    file_.read(name, tensor);
    return to_host<float>(tensor);
  }

 private:
  SafetensorsFile file_;
};

}  // namespace

std::unique_ptr<ForeignTensors> open_safetensors(const std::string& path) {
  return std::make_unique<SafetensorsTensors>(path);
}

}  // namespace fovea
