#include "kernels/cuda/common/cudnn.h"

#if defined(FOVEA_CUDNN)

#include <dlfcn.h>

#include "kernels/cuda/common/workspace.h"

namespace fovea::cuda {

namespace {

constexpr size_t kMinVersion = 91501;

struct Functions {
  decltype(&cudnnGetVersion) version = nullptr;
  decltype(&cudnnCreate) create = nullptr;
  decltype(&cudnnSetStream) set_stream = nullptr;
  decltype(&cudnnBackendCreateDescriptor) make = nullptr;
  decltype(&cudnnBackendDestroyDescriptor) destroy = nullptr;
  decltype(&cudnnBackendSetAttribute) set = nullptr;
  decltype(&cudnnBackendGetAttribute) get = nullptr;
  decltype(&cudnnBackendFinalize) finalize = nullptr;
  decltype(&cudnnBackendExecute) execute = nullptr;
  bool usable = false;

  Functions() {
    void* library = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    usable = find(version, "cudnnGetVersion") && find(create, "cudnnCreate") && find(set_stream, "cudnnSetStream") &&
             find(make, "cudnnBackendCreateDescriptor") && find(destroy, "cudnnBackendDestroyDescriptor") &&
             find(set, "cudnnBackendSetAttribute") && find(get, "cudnnBackendGetAttribute") &&
             find(finalize, "cudnnBackendFinalize") && find(execute, "cudnnBackendExecute") && version() >= kMinVersion;
  }
};

const Functions& functions() {
  static const Functions all;
  return all;
}

void require_dnn(cudnnStatus_t status) {
  if (status != CUDNN_STATUS_SUCCESS) throw CudnnUnsupported();
}

}  // namespace

cudnnHandle_t cudnn_handle() {
  cudnnHandle_t handle = nullptr;
  if (!functions().usable || functions().create(&handle) != CUDNN_STATUS_SUCCESS) return nullptr;
  return handle;
}

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) { require_dnn(functions().make(type, &handle_)); }
Descriptor::~Descriptor() { static_cast<void>(functions().destroy(handle_)); }

void Descriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
                     const void* values) {
  require_dnn(functions().set(handle_, name, type, count, values));
}
int64_t Descriptor::get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t most,
                        void* values) const {
  int64_t count = 0;
  require_dnn(functions().get(handle_, name, type, most, &count, values));
  return count;
}
void Descriptor::finalize() { require_dnn(functions().finalize(handle_)); }

Descriptor& CudnnGraph::add_descriptor(cudnnBackendDescriptorType_t type) {
  return *descriptors_.emplace_back(std::make_unique<Descriptor>(type));
}

const Descriptor& CudnnGraph::tensor(int64_t id, cudnnDataType_t type, const Sizes& sizes, const Sizes& strides,
                                     Storage storage) {
  Descriptor& descriptor = add_descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  descriptor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
  descriptor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
  descriptor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, int64_t{16});
  descriptor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, sizes);
  descriptor.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides);
  descriptor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, storage == Storage::kVirtual);
  descriptor.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, storage == Storage::kScalar);
  descriptor.finalize();
  return descriptor;
}

Descriptor& CudnnGraph::operation(cudnnBackendDescriptorType_t type) {
  Descriptor& op = add_descriptor(type);
  operations_.push_back(op.handle());
  return op;
}

void CudnnGraph::multiply(const Descriptor& a, const Descriptor& b, const Descriptor& c) {
  Descriptor& settings = add_descriptor(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  settings.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  settings.finalize();
  Descriptor& op = operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  op.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, settings);
  op.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
  op.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
  op.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
  op.finalize();
}

void CudnnGraph::pointwise(cudnnPointwiseMode_t mode, const Descriptor& x, const Descriptor* b, const Descriptor& y) {
  Descriptor& settings = add_descriptor(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  settings.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
  settings.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  settings.finalize();
  Descriptor& op = operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  op.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, settings);
  op.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
  if (b != nullptr) op.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
  op.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  op.finalize();
}

void CudnnGraph::sum(const Descriptor& x, const Descriptor& y) {
  Descriptor& settings = add_descriptor(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  settings.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, CUDNN_REDUCE_TENSOR_ADD);
  settings.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  settings.finalize();
  Descriptor& op = operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  op.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, settings);
  op.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
  op.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
  op.finalize();
}

void CudnnGraph::reshape(const Descriptor& x, const Descriptor& y) {
  Descriptor& op = operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  op.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
  op.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y);
  op.finalize();
}

void CudnnGraph::plan(cudnnHandle_t handle) {
  Descriptor& graph = add_descriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, operations_);
  graph.finalize();
  Descriptor& heuristic = add_descriptor(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
  heuristic.finalize();
  // The heuristic returns its configurations best first.
  const Descriptor& choice = add_descriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  cudnnBackendDescriptor_t chosen = choice.handle();
  if (heuristic.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, chosen) == 0)
    throw CudnnUnsupported();
  Descriptor& plan = add_descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, choice);
  plan.finalize();
  plan.get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, workspace_);
}

void CudnnGraph::execute(cudnnHandle_t handle, Stream& stream, const Bindings& bindings) const {
  Workspace workspace(stream);
  std::vector<int64_t> ids;
  std::vector<void*> addresses;
  for (const auto& [id, address] : bindings) {
    ids.push_back(id);
    addresses.push_back(address);
  }
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, ids);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, addresses);
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
           static_cast<void*>(workspace.allocate<std::byte>(workspace_)));
  pack.finalize();
  require_dnn(functions().set_stream(handle, static_cast<cudaStream_t>(stream.handle)));
  require_dnn(functions().execute(handle, descriptors_.back()->handle(), pack.handle()));
}

}  // namespace fovea::cuda

#endif
