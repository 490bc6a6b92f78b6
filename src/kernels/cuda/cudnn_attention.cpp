// Long unmasked attention through cuDNN, whose kernels use Hopper's wide products: about twice as fast as ours. It is
// one operation of cuDNN's backend interface (since 9.13). The library is looked for when it is first wanted; where
// there is none, or it refuses a shape, attention goes another way. Its backward pass is not used: it is either not
// the same bits on every run, or writes out all weights.
#include "kernels/cuda/dot_attention_ways.h"

#if __has_include(<cudnn_graph.h>)
#include <cudnn_graph.h>
#include <dlfcn.h>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/cuda/scratch.h"
#include "tensor/cuda.h"

#if CUDNN_VERSION >= 91300
#define FOVEA_CUDNN 1
#endif
#endif

namespace fovea::cuda {

#if defined(FOVEA_CUDNN)

namespace {

constexpr size_t kOldest = 91301;  // earlier ones do not know the operation, or not well

struct Refused {};  // by cuDNN, which is no error

void require_dnn(cudnnStatus_t status) {
  if (status != CUDNN_STATUS_SUCCESS) throw Refused();
}

// cuDNN's functions; null where the library is not installed.
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

  Functions() {
    void* library = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    complete_ = find(version, "cudnnGetVersion") && find(create, "cudnnCreate") && find(set_stream, "cudnnSetStream") &&
                find(make, "cudnnBackendCreateDescriptor") && find(destroy, "cudnnBackendDestroyDescriptor") &&
                find(set, "cudnnBackendSetAttribute") && find(get, "cudnnBackendGetAttribute") &&
                find(finalize, "cudnnBackendFinalize") && find(execute, "cudnnBackendExecute") && version() >= kOldest;
  }
  explicit operator bool() const { return complete_; }

 private:
  bool complete_ = false;
};

const Functions& functions() {
  static const Functions all;
  return all;
}

class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) { require_dnn(functions().make(type, &handle_)); }
  ~Descriptor() { static_cast<void>(functions().destroy(handle_)); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  template <class V>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const std::vector<V>& values) {
    require_dnn(functions().set(handle_, name, type, static_cast<int64_t>(values.size()), values.data()));
  }
  template <class V> void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const V& value) {
    require_dnn(functions().set(handle_, name, type, 1, &value));
  }
  void set(cudnnBackendAttributeName_t name, const Descriptor& value) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, value.handle_);
  }
  // How many there are of it: of one, or none.
  template <class V> int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, V& value) const {
    int64_t count = 0;
    require_dnn(functions().get(handle_, name, type, 1, &count, &value));
    return count;
  }
  void finalize() { require_dnn(functions().finalize(handle_)); }
  cudnnBackendDescriptor_t handle() const { return handle_; }

 private:
  cudnnBackendDescriptor_t handle_ = nullptr;
};
enum Id : int64_t { kQuery = 1, kKeys, kValues, kOut, kLse, kScale };

using Four = std::vector<int64_t>;

struct Problem {
  int64_t batch, heads, queries, keys, width;

  explicit Problem(const DotAttentionArgs& args)
      : batch(args.query.dim(1)),
        heads(args.heads),
        queries(args.query.dim(0)),
        keys(args.keys.dim(0)),
        width(args.query.dim(2) / args.heads) {}
  auto operator<=>(const Problem&) const = default;
};

// How cuDNN will compute a problem. It keeps all that it was described with.
class Plan {
 public:
  Plan(cudnnHandle_t handle, const Problem& x) {
    Descriptor& attention = make(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
    attention.set(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, sequence(kQuery, x, x.queries));
    attention.set(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, sequence(kKeys, x, x.keys));
    attention.set(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, sequence(kValues, x, x.keys));
    attention.set(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, sequence(kOut, x, x.queries));
    attention.set(
        CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC,
        tensor(kLse, CUDNN_DATA_FLOAT, {x.batch, x.heads, x.queries, 1}, {x.heads * x.queries, x.queries, 1, 1}));
    attention.set(CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC,
                  tensor(kScale, CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1}, true));
    attention.finalize();
    Descriptor& graph = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, attention);
    graph.finalize();
    Descriptor& heuristic = make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
    heuristic.finalize();

    // What it thinks best comes first.
    const Descriptor& choice = make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    cudnnBackendDescriptor_t chosen = choice.handle();
    if (heuristic.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, chosen) == 0) throw Refused();
    Descriptor& plan = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, choice);
    plan.finalize();
    plan.get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, workspace_);
  }

  void execute(cudnnHandle_t handle, Stream& stream, const DotAttentionArgs& args) const {
    Scratch scratch(stream);
    float scale = args.scale;
    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64,
             std::vector<int64_t>{kQuery, kKeys, kValues, kOut, kLse, kScale});
    pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
             std::vector<void*>{args.query.raw(), args.keys.raw(), args.values.raw(), args.out.raw(), args.lse.raw(),
                                &scale});
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
             static_cast<void*>(scratch.take<std::byte>(workspace_)));
    pack.finalize();
    require_dnn(functions().set_stream(handle, static_cast<cudaStream_t>(stream.handle)));
    require_dnn(functions().execute(handle, parts_.back()->handle(), pack.handle()));
  }

 private:
  Descriptor& make(cudnnBackendDescriptorType_t type) {
    return *parts_.emplace_back(std::make_unique<Descriptor>(type));
  }
  const Descriptor& tensor(Id id, cudnnDataType_t type, const Four& sizes, const Four& strides, bool by_value = false) {
    Descriptor& made = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, int64_t{id});
    made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
    made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, int64_t{16});
    made.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, sizes);
    made.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, strides);
    made.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, by_value);
    made.finalize();
    return made;
  }
  const Descriptor& sequence(Id id, const Problem& x, int64_t steps) {  // [steps,B,H*d], told as [B,H,steps,d]
    return tensor(id, CUDNN_DATA_BFLOAT16, {x.batch, x.heads, steps, x.width},
                  {x.heads * x.width, x.width, x.batch * x.heads * x.width, 1});
  }

  std::vector<std::unique_ptr<Descriptor>> parts_;  // the plan itself is the last
  int64_t workspace_ = 0;
};

// cuDNN's things of one device; never destroyed.
class Library {
 public:
  Library() {
    if (functions() && functions().create(&handle_) != CUDNN_STATUS_SUCCESS) handle_ = nullptr;
  }

  bool attend(Stream& stream, const DotAttentionArgs& args) {
    const std::lock_guard lock(mutex_);
    if (handle_ == nullptr) return false;
    const Problem problem(args);
    const auto [place, fresh] = plans_.try_emplace(problem);
    std::unique_ptr<Plan>& plan = place->second;  // null: it has none
    try {
      if (fresh) plan = std::make_unique<Plan>(handle_, problem);
      if (plan == nullptr) return false;
      plan->execute(handle_, stream, args);
      return true;
    } catch (const Refused&) {
      plan = nullptr;
      return false;
    }
  }

 private:
  cudnnHandle_t handle_ = nullptr;
  std::mutex mutex_;
  std::map<Problem, std::unique_ptr<Plan>> plans_;
};

Library& library_of(Device device) {
  static std::mutex mutex;
  static std::array<Library*, 256> libraries = {};
  use(device);
  const std::lock_guard lock(mutex);
  Library*& made = libraries[device.index];
  if (made == nullptr) made = new Library();
  return *made;
}

}  // namespace

bool attend_by_library(Stream& stream, const DotAttentionArgs& args) {
  constexpr int64_t kLong = 512;
  const int64_t width = args.query.dim(2) / args.heads;
  const auto aligned = [](const Tensor& x) { return reinterpret_cast<uintptr_t>(x.raw()) % 16 == 0; };
  const bool masked = args.mask.lengths || args.mask.bias || args.mask.causal;
  if (args.query.dtype() != DType::kBF16 || masked || args.dropout > 0.0f || args.query.dim(0) < kLong ||
      args.keys.dim(0) < kLong || width != args.values.dim(2) / args.heads || width % 16 != 0 || width > 128 ||
      args.query.size() == 0 || !aligned(args.query) || !aligned(args.keys) || !aligned(args.values) ||
      !aligned(args.out)) {
    return false;
  }
  return library_of(stream.device).attend(stream, args);
}

#else

bool attend_by_library(Stream&, const DotAttentionArgs&) { return false; }

#endif

}  // namespace fovea::cuda
