// A wrapper of cuDNN's backend API: a graph of operations on tensor descriptors, for which cuDNN finds a kernel once,
// and which is then executed with the addresses of the tensors. The library is loaded on first use. An operation that
// cuDNN does not support throws CudnnUnsupported, and the caller falls back to another implementation.
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

struct CudnnUnsupported {};

// Creates a cuDNN handle on the current device. Returns null if cuDNN is missing or too old.
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
  // Returns the number of values of the attribute: one or none.
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

// A graph of cuDNN operations. It owns all descriptors.
class CudnnGraph {
 public:
  // kVirtual tensors exist only inside the fused kernel; kScalar values are passed from the host.
  enum class Storage : uint8_t { kMemory, kVirtual, kScalar };
  using Sizes = std::vector<int64_t>;

  const Descriptor& tensor(int64_t id, cudnnDataType_t type, const Sizes& sizes, const Sizes& strides,
                           Storage storage = Storage::kMemory);
  Descriptor& operation(cudnnBackendDescriptorType_t type);  // the caller finalises it
  void multiply(const Descriptor& a, const Descriptor& b, const Descriptor& c);
  void pointwise(cudnnPointwiseMode_t mode, const Descriptor& x, const Descriptor* b, const Descriptor& y);
  void sum(const Descriptor& x, const Descriptor& y);
  void reshape(const Descriptor& x, const Descriptor& y);

  // Selects and compiles a kernel, which may take a second.
  void plan(cudnnHandle_t handle);
  int64_t workspace() const { return workspace_; }
  using Bindings = std::vector<std::pair<int64_t, void*>>;  // addresses of the tensors in memory and of the scalars
  void execute(cudnnHandle_t handle, Stream& stream, const Bindings& bindings) const;

 private:
  Descriptor& add_descriptor(cudnnBackendDescriptorType_t type);

  std::vector<std::unique_ptr<Descriptor>> descriptors_;  // after plan() the last is the execution plan
  std::vector<cudnnBackendDescriptor_t> operations_;
  int64_t workspace_ = 0;
};

}  // namespace fovea::cuda

#endif
