// cuDNN's backend interface, as far as we use it: a graph of operations on described tensors, for which cuDNN finds a
// kernel once, and which is then executed with the tensors' addresses. The library is looked for when it is first
// wanted. Whatever it does not do it refuses, which is no error: there are other ways.
#pragma once

#if __has_include(<cudnn_graph.h>)
#include <cudnn_graph.h>
#if CUDNN_VERSION >= 91501
#define FOVEA_CUDNN 1
#endif
#endif

#if defined(FOVEA_CUDNN)

#include <memory>
#include <utility>
#include <vector>

#include "kernels/kernels.h"

namespace fovea::cuda {

struct Refused {};  // thrown

// cuDNN's handle on the current device; null where there is no cuDNN, or one too old.
cudnnHandle_t cudnn_handle();

class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type);
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  template <class V>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const std::vector<V>& values) {
    set(name, type, static_cast<int64_t>(values.size()), values.data());
  }
  template <class V> void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const V& value) {
    set(name, type, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, const Descriptor& value) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, value.handle_);
  }
  // How many there are of it: one, or none.
  template <class V> int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, V& value) const {
    return get(name, type, 1, &value);
  }
  void finalize();
  cudnnBackendDescriptor_t handle() const { return handle_; }

 private:
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, const void* values);
  int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t most, void* values) const;

  cudnnBackendDescriptor_t handle_ = nullptr;
};

// Everything that was described is kept.
class CudnnGraph {
 public:
  enum class Place : uint8_t {
    kMemory,
    kNowhere,
    kNumber
  };  // kNowhere: between kernels' own steps; kNumber: on the host
  using Sizes = std::vector<int64_t>;

  const Descriptor& tensor(int64_t id, cudnnDataType_t type, const Sizes& sizes, const Sizes& strides,
                           Place place = Place::kMemory);
  Descriptor& operation(cudnnBackendDescriptorType_t type);  // to be finalized by who asked
  void multiply(const Descriptor& a, const Descriptor& b, const Descriptor& c);
  void pointwise(cudnnPointwiseMode_t mode, const Descriptor& x, const Descriptor* b, const Descriptor& y);
  void sum(const Descriptor& x, const Descriptor& y);
  void reshape(const Descriptor& x, const Descriptor& y);

  // Finds a kernel, which may take a second.
  void plan(cudnnHandle_t handle);
  int64_t workspace() const { return workspace_; }
  using Bindings = std::vector<std::pair<int64_t, void*>>;  // of tensors in memory, and of numbers
  void execute(cudnnHandle_t handle, Stream& stream, const Bindings& bindings) const;

 private:
  Descriptor& make(cudnnBackendDescriptorType_t type);

  std::vector<std::unique_ptr<Descriptor>> parts_;  // once planned, the last is the plan
  std::vector<cudnnBackendDescriptor_t> operations_;
  int64_t workspace_ = 0;
};

}  // namespace fovea::cuda

#endif
