// Long unmasked attention with cuDNN, whose kernels use the wide matrix instructions of Hopper. The forward pass is one
// operation; the backward pass is the sequence of operations that cuDNN recognises as the gradient of attention. cuDNN
// can either sum dquery in an unspecified order or write the gradients of the scores to memory first. The second way is
// selected, because the same arguments must give the same bits, as long as the workspace is large enough.
#include "kernels/cuda/attention/dot_attention_variants.h"
#include "kernels/cuda/common/cudnn.h"

#if defined(FOVEA_CUDNN)

#include <array>
#include <map>
#include <mutex>

#include "kernels/cuda/common/workspace.h"
#include "tensor/cuda.h"

#endif

namespace fovea::cuda {

#if defined(FOVEA_CUDNN)

namespace {

constexpr int64_t kLong = 512;                       // smallest number of queries and keys for which cuDNN is used
constexpr int64_t kMaxWorkspace = int64_t{4} << 30;  // bytes

enum Id : int64_t {
  kQuery = 1,
  kKeys,
  kValues,
  kOut,
  kLse,
  kScale,
  kOne,
  kDout,
  kAlong,
  kDquery,
  kDkeys,
  kDvalues,
  kFree
};

struct Problem {
  int64_t batch, heads, queries, keys, width;
  bool grad;

  template <class Args>
  Problem(const Args& args, bool of_grad)
      : batch(args.query.dim(1)),
        heads(args.heads),
        queries(args.query.dim(0)),
        keys(args.keys.dim(0)),
        width(args.query.dim(2) / args.heads),
        grad(of_grad) {}
  auto operator<=>(const Problem&) const = default;
};

// The tensors of a problem, described as [B,H,..,..]. Virtual tensors get ids of their own.
class Tensors {
 public:
  Tensors(CudnnGraph& graph, const Problem& x) : graph_(graph), x_(x) {}

  const Descriptor& sequence(Id id, int64_t steps) {  // [steps,B,H*d]
    return graph_.tensor(id, CUDNN_DATA_BFLOAT16, {x_.batch, x_.heads, steps, x_.width},
                         {x_.heads * x_.width, x_.width, x_.batch * x_.heads * x_.width, 1});
  }
  const Descriptor& turned_sequence(Id id, int64_t steps) {
    return graph_.tensor(id, CUDNN_DATA_BFLOAT16, {x_.batch, x_.heads, x_.width, steps},
                         {x_.heads * x_.width, x_.width, 1, x_.batch * x_.heads * x_.width});
  }
  const Descriptor& turned_back(int64_t steps) {
    return graph_.tensor(next_++, CUDNN_DATA_FLOAT, {x_.batch, x_.heads, steps, x_.width},
                         {x_.heads * x_.width, x_.width, x_.batch * x_.heads * x_.width, 1},
                         CudnnGraph::Storage::kVirtual);
  }
  const Descriptor& rows(int64_t id, CudnnGraph::Storage place = CudnnGraph::Storage::kMemory) {
    return graph_.tensor(id, CUDNN_DATA_FLOAT, {x_.batch, x_.heads, x_.queries, 1},
                         {x_.heads * x_.queries, x_.queries, 1, 1}, place);
  }
  const Descriptor& rows() { return rows(next_++, CudnnGraph::Storage::kVirtual); }
  const Descriptor& products() {  // dout * out
    return graph_.tensor(next_++, CUDNN_DATA_FLOAT, {x_.batch, x_.heads, x_.queries, x_.width},
                         {x_.heads * x_.queries * x_.width, x_.queries * x_.width, x_.heads * x_.width, 1},
                         CudnnGraph::Storage::kVirtual);
  }
  const Descriptor& cells() {
    return graph_.tensor(next_++, CUDNN_DATA_FLOAT, {x_.batch, x_.heads, x_.queries, x_.keys},
                         {x_.heads * x_.queries * x_.keys, x_.queries * x_.keys, x_.keys, 1},
                         CudnnGraph::Storage::kVirtual);
  }
  const Descriptor& turned_cells() {
    return graph_.tensor(next_++, CUDNN_DATA_BFLOAT16, {x_.batch, x_.heads, x_.keys, x_.queries},
                         {x_.heads * x_.queries * x_.keys, x_.queries * x_.keys, 1, x_.keys},
                         CudnnGraph::Storage::kVirtual);
  }
  const Descriptor& number(Id id) {
    return graph_.tensor(id, CUDNN_DATA_FLOAT, {1, 1, 1, 1}, {1, 1, 1, 1}, CudnnGraph::Storage::kScalar);
  }

 private:
  CudnnGraph& graph_;
  const Problem& x_;
  int64_t next_ = kFree;
};

void describe_forward(CudnnGraph& graph, const Problem& x) {
  Tensors tensors(graph, x);
  const Descriptor &query = tensors.sequence(kQuery, x.queries), &keys = tensors.sequence(kKeys, x.keys);
  const Descriptor &values = tensors.sequence(kValues, x.keys), &out = tensors.sequence(kOut, x.queries);
  const Descriptor &lse = tensors.rows(kLse), &scale = tensors.number(kScale);
  Descriptor& attention = graph.operation(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR);
  attention.set(CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, query);
  attention.set(CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, keys);
  attention.set(CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, values);
  attention.set(CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, out);
  attention.set(CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC, lse);
  attention.set(CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, scale);
  attention.finalize();
}

// The operations have the order and the redundant steps that cuDNN recognises (dot_attention_grad.cu has the
// equations).
void describe_backward(CudnnGraph& graph, const Problem& x) {
  Tensors tensors(graph, x);
  const Descriptor &query = tensors.sequence(kQuery, x.queries), &keys = tensors.turned_sequence(kKeys, x.keys);
  const Descriptor &values = tensors.turned_sequence(kValues, x.keys), &out = tensors.sequence(kOut, x.queries);
  const Descriptor &dout = tensors.sequence(kDout, x.queries), &dquery = tensors.sequence(kDquery, x.queries);
  const Descriptor &dkeys = tensors.sequence(kDkeys, x.keys), &dvalues = tensors.sequence(kDvalues, x.keys);
  const Descriptor &lse = tensors.rows(kLse), &along = tensors.rows(kAlong);
  const Descriptor &scale = tensors.number(kScale), &one = tensors.number(kOne);

  const Descriptor &products = tensors.products(), &sums = tensors.rows();
  graph.pointwise(CUDNN_POINTWISE_MUL, dout, &out, products);
  graph.sum(products, sums);
  graph.pointwise(CUDNN_POINTWISE_MUL, sums, &one, along);

  const Descriptor &raw = tensors.cells(), &scores = tensors.cells(), &logs = tensors.cells();
  const Descriptor &weights = tensors.cells(), &transposed_weights = tensors.turned_cells();
  graph.multiply(query, keys, raw);
  graph.pointwise(CUDNN_POINTWISE_MUL, raw, &scale, scores);
  graph.pointwise(CUDNN_POINTWISE_SUB, scores, &lse, logs);
  graph.pointwise(CUDNN_POINTWISE_EXP, logs, nullptr, weights);
  graph.reshape(weights, transposed_weights);
  graph.multiply(transposed_weights, dout, dvalues);

  const Descriptor &dweights = tensors.cells(), &less = tensors.cells(), &dscores = tensors.cells();
  const Descriptor &draw = tensors.cells(), &transposed_draw = tensors.turned_cells();
  graph.multiply(dout, values, dweights);
  graph.pointwise(CUDNN_POINTWISE_SUB, dweights, &along, less);
  graph.pointwise(CUDNN_POINTWISE_MUL, less, &weights, dscores);
  graph.pointwise(CUDNN_POINTWISE_MUL, dscores, &scale, draw);
  graph.reshape(draw, transposed_draw);
  graph.multiply(transposed_draw, query, dkeys);
  const Descriptor& keys_again = tensors.turned_back(x.keys);
  graph.reshape(keys, keys_again);
  graph.multiply(draw, keys_again, dquery);
}

// The handle and cached graphs of one device. Never destroyed.
class Library {
 public:
  Library() : handle_(cudnn_handle()) {}

  // `bind` returns the addresses of the tensors and may allocate some of them in the workspace.
  template <class Bind> bool execute(Stream& stream, const Problem& problem, Bind&& bind) {
    const std::lock_guard lock(mutex_);
    if (handle_ == nullptr) return false;
    const auto [it, inserted] = graphs_.try_emplace(problem);
    std::unique_ptr<CudnnGraph>& graph = it->second;  // null if cuDNN does not support it
    try {
      if (inserted) graph = planned(problem);
      if (graph == nullptr) return false;
      graph->execute(handle_, stream, bind());
      return true;
    } catch (const CudnnUnsupported&) {
      graph = nullptr;
      return false;
    }
  }

 private:
  std::unique_ptr<CudnnGraph> planned(const Problem& problem) const {
    auto graph = std::make_unique<CudnnGraph>();
    problem.grad ? describe_backward(*graph, problem) : describe_forward(*graph, problem);
    graph->plan(handle_);
    return graph->workspace() <= kMaxWorkspace ? std::move(graph) : nullptr;
  }

  cudnnHandle_t handle_;
  std::mutex mutex_;
  std::map<Problem, std::unique_ptr<CudnnGraph>> graphs_;
};

Library& library_of(Device device) {
  static std::mutex mutex;
  static std::array<Library*, 256> libraries = {};
  use(device);
  const std::lock_guard lock(mutex);
  Library*& library = libraries[device.index];
  if (library == nullptr) library = new Library();
  return *library;
}

bool is_aligned(const Tensor& x) { return reinterpret_cast<uintptr_t>(x.raw()) % 16 == 0; }

template <class Args> bool supports(const Args& args) {
  const int64_t width = args.query.dim(2) / args.heads;
  const bool masked = args.mask.lengths || args.mask.bias || args.mask.causal;
  return args.query.dtype() == DType::kBF16 && !masked && args.dropout == 0.0f && args.query.dim(0) >= kLong &&
         args.keys.dim(0) >= kLong && args.query.size() > 0 && width == args.values.dim(2) / args.heads &&
         width % 16 == 0 && width <= 128 && is_aligned(args.query) && is_aligned(args.keys) &&
         is_aligned(args.values) && is_aligned(args.out);
}

}  // namespace

bool attend_with_cudnn(Stream& stream, const DotAttentionArgs& args) {
  if (!supports(args)) return false;
  float scale = args.scale;
  return library_of(stream.device).execute(stream, Problem(args, false), [&] {
    return CudnnGraph::Bindings{{kQuery, args.query.raw()}, {kKeys, args.keys.raw()}, {kValues, args.values.raw()},
                                {kOut, args.out.raw()},     {kLse, args.lse.raw()},   {kScale, &scale}};
  });
}

bool attend_with_cudnn_grad(Stream& stream, const DotAttentionGradArgs& args) {
  if (!supports(args) || !is_aligned(args.dout) || !is_aligned(args.dquery) || !is_aligned(args.dkeys) ||
      !is_aligned(args.dvalues)) {
    return false;
  }
  Workspace workspace(stream);
  float scale = args.scale, one = 1.0f;
  // cuDNN overwrites its outputs. To accumulate, it writes to the workspace, and the result is added afterwards.
  bf16 *dquery = nullptr, *dkeys = nullptr, *dvalues = nullptr;
  const auto place = [&](const Tensor& ours, int64_t count) {
    return ours && !args.accumulate ? ours.data<bf16>() : workspace.allocate<bf16>(count);
  };
  const bool done = library_of(stream.device).execute(stream, Problem(args, true), [&] {
    dquery = place(args.dquery, args.query.size());
    dkeys = place(args.dkeys, args.keys.size());
    dvalues = place(args.dvalues, args.values.size());
    return CudnnGraph::Bindings{{kQuery, args.query.raw()},
                                {kKeys, args.keys.raw()},
                                {kValues, args.values.raw()},
                                {kOut, args.out.raw()},
                                {kLse, args.lse.raw()},
                                {kScale, &scale},
                                {kOne, &one},
                                {kDout, args.dout.raw()},
                                {kAlong, workspace.allocate<float>(args.lse.size())},
                                {kDquery, dquery},
                                {kDkeys, dkeys},
                                {kDvalues, dvalues}};
  });
  if (!done || !args.accumulate) return done;
  if (args.dquery) add_elements(stream, args.dquery.data<bf16>(), dquery, args.query.size());
  if (args.dkeys) add_elements(stream, args.dkeys.data<bf16>(), dkeys, args.keys.size());
  if (args.dvalues) add_elements(stream, args.dvalues.data<bf16>(), dvalues, args.values.size());
  return true;
}

#else

bool attend_with_cudnn(Stream&, const DotAttentionArgs&) { return false; }
bool attend_with_cudnn_grad(Stream&, const DotAttentionGradArgs&) { return false; }

#endif

}  // namespace fovea::cuda
