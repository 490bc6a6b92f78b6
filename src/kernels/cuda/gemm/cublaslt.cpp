// GEMM with cuBLASLt. cuBLASLt is column-major, so a row-major c = a b is computed as c^T = b^T a^T: our right factor
// is its left factor, and the transposition flags stay the same. The algorithm for each shape is selected once and
// cached. Reduction schemes that accumulate in place are excluded, so that sums have the same order in every run.
#include <cublasLt.h>

#include <array>
#include <iterator>
#include <map>
#include <mutex>
#include <span>

#include "kernels/cuda/gemm/gemm.h"
#include "tensor/cuda.h"

namespace fovea::cuda {

namespace {

constexpr size_t kWorkspace = size_t{64} << 20;

void require_blas(cublasStatus_t status, std::string_view what) {
  fovea::check(status == CUBLAS_STATUS_SUCCESS, "cuda: expected cuBLASLt to {}, got {}", what,
               cublasLtGetStatusString(status));
}

cudaDataType_t type_of(DType dtype) { return dtype == DType::kBF16 ? CUDA_R_16BF : CUDA_R_32F; }

// Returns the alignment of an address: the largest power of two that divides it, at most 256.
int64_t alignment_of(const void* data) {
  const auto address = reinterpret_cast<uintptr_t>(data) | 256;
  return static_cast<int64_t>(address & (~address + 1));
}

// All values that the selected algorithm may depend on.
using Key = std::array<int64_t, 22>;

Key key_of(const GemmArgs& x, const void* bias) {
  const auto kind = [](const Factor& f) { return static_cast<int64_t>(f.dtype) * 2 + (f.transposed ? 1 : 0); };
  return {x.m,
          x.n,
          x.k,
          x.batch,
          kind(x.a),
          x.a.row_stride,
          x.a.batch_stride,
          alignment_of(x.a.data),
          kind(x.b),
          x.b.row_stride,
          x.b.batch_stride,
          alignment_of(x.b.data),
          kind(x.c),
          x.c.row_stride,
          x.c.batch_stride,
          alignment_of(x.c.data),
          bias != nullptr ? alignment_of(bias) : 0,
          x.bias_stride,
          x.accumulate ? 1 : 0,
          x.precision == Precision::kF32 ? 0 : 1};
}

struct Plan {
  bool usable = false;
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;  // of our a, b and c, not of cuBLASLt's A and B
  cublasLtMatmulAlgo_t algorithm = {};
};

template <class V> void set(cublasLtMatmulDesc_t product, cublasLtMatmulDescAttributes_t name, const V& value) {
  require_blas(cublasLtMatmulDescSetAttribute(product, name, &value, sizeof value), "describe a product");
}
template <class V>
void set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t name, const V& value) {
  require_blas(cublasLtMatmulPreferenceSetAttribute(preference, name, &value, sizeof value), "take a preference");
}

cublasLtMatmulTile_t tile_of(const cublasLtMatmulHeuristicResult_t& result) {
  uint32_t tile = CUBLASLT_MATMUL_TILE_UNDEFINED;
  size_t bytes = 0;
  require_blas(
      cublasLtMatmulAlgoConfigGetAttribute(&result.algo, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile, sizeof tile, &bytes),
      "describe an algorithm");
  return static_cast<cublasLtMatmulTile_t>(tile);
}
bool is_large(cublasLtMatmulTile_t tile) {
  return tile == CUBLASLT_MATMUL_TILE_128x256 || tile == CUBLASLT_MATMUL_TILE_256x128 ||
         tile == CUBLASLT_MATMUL_TILE_192x192;
}

// `rows` and `columns` describe the stored matrix in row-major terms.
cublasLtMatrixLayout_t layout_of(const Factor& x, int64_t rows, int64_t columns, int64_t batch) {
  cublasLtMatrixLayout_t layout = nullptr;
  require_blas(cublasLtMatrixLayoutCreate(&layout, type_of(x.dtype), static_cast<uint64_t>(columns),
                                          static_cast<uint64_t>(rows), x.row_stride),
               "describe a matrix");
  const auto count = static_cast<int32_t>(batch);
  require_blas(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
               "describe a batch");
  require_blas(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &x.batch_stride,
                                                sizeof x.batch_stride),
               "describe a batch");
  return layout;
}

// The handle, cached plans and workspaces of one device. Never destroyed.
class Library {
 public:
  explicit Library(Device device) : device_(device) { require_blas(cublasLtCreate(&handle_), "start"); }

  bool gemm(cudaStream_t stream, const GemmArgs& x, const void* bias) {
    const std::lock_guard lock(mutex_);
    const auto [it, inserted] = plans_.try_emplace(key_of(x, bias));
    Plan& plan = it->second;
    if (inserted) create(plan, x, bias);
    if (!plan.usable) return false;
    if (bias != nullptr) set(plan.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    const float beta = x.accumulate ? 1.0f : 0.0f;
    void* c = const_cast<void*>(x.c.data);
    const cublasStatus_t status =
        cublasLtMatmul(handle_, plan.product, &x.alpha, x.b.data, plan.b, x.a.data, plan.a, &beta, c, plan.c, c, plan.c,
                       &plan.algorithm, workspace(), kWorkspace, stream);
    // The heuristic may return an algorithm that cuBLASLt then rejects; nothing has been computed in this case.
    plan.usable = status != CUBLAS_STATUS_NOT_SUPPORTED && status != CUBLAS_STATUS_INVALID_VALUE;
    if (!plan.usable) return false;
    require_blas(status, "multiply");
    return true;
  }

 private:
  // The main stream and the side stream run concurrently, so each has its own workspace.
  std::byte* workspace() {
    std::byte*& memory = workspaces_[on_side_stream() ? 1 : 0];
    if (memory == nullptr) memory = allocate(device_, kWorkspace);
    return memory;
  }
  void create(Plan& plan, const GemmArgs& x, const void* bias) const {
    const bool rounds = x.a.dtype == DType::kF32 && x.precision != Precision::kF32;
    require_blas(
        cublasLtMatmulDescCreate(&plan.product, rounds ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
        "describe a product");
    set(plan.product, CUBLASLT_MATMUL_DESC_TRANSA, x.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(plan.product, CUBLASLT_MATMUL_DESC_TRANSB, x.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (bias != nullptr) {
      set(plan.product, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set(plan.product, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type_of(x.c.dtype));
      set(plan.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
      if (x.bias_stride > 0) set(plan.product, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, x.bias_stride);
    }
    plan.a = x.a.transposed ? layout_of(x.a, x.k, x.m, x.batch) : layout_of(x.a, x.m, x.k, x.batch);
    plan.b = x.b.transposed ? layout_of(x.b, x.n, x.k, x.batch) : layout_of(x.b, x.k, x.n, x.batch);
    plan.c = layout_of(x.c, x.m, x.n, x.batch);

    cublasLtMatmulPreference_t preference = nullptr;
    require_blas(cublasLtMatmulPreferenceCreate(&preference), "take a preference");
    set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspace);
    set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, static_cast<uint32_t>(alignment_of(x.b.data)));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, static_cast<uint32_t>(alignment_of(x.a.data)));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, static_cast<uint32_t>(alignment_of(x.c.data)));
    set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, static_cast<uint32_t>(alignment_of(x.c.data)));
    cublasLtMatmulHeuristicResult_t found[8] = {};
    int count = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle_, plan.product, plan.b, plan.a, plan.c, plan.c,
                                                                 preference, std::size(found), found, &count);
    static_cast<void>(cublasLtMatmulPreferenceDestroy(preference));
    plan.usable = status == CUBLAS_STATUS_SUCCESS && count > 0 && found[0].state == CUBLAS_STATUS_SUCCESS;
    plan.algorithm = found[0].algo;
    // For small k the heuristic prefers the largest tiles; on an H200 smaller tiles took a tenth less time.
    constexpr int64_t kShort = 1024;
    if (!plan.usable || x.k > kShort || !is_large(tile_of(found[0]))) return;
    for (const auto& each : std::span(found).first(static_cast<size_t>(count))) {
      if (each.state != CUBLAS_STATUS_SUCCESS || tile_of(each) != CUBLASLT_MATMUL_TILE_128x128) continue;
      plan.algorithm = each.algo;
      return;
    }
  }

  Device device_;
  cublasLtHandle_t handle_ = nullptr;
  std::byte* workspaces_[2] = {};
  std::mutex mutex_;
  std::map<Key, Plan> plans_;
};

Library& library_of(Device device) {
  static std::mutex mutex;
  static std::array<Library*, 256> libraries = {};
  use(device);
  const std::lock_guard lock(mutex);
  Library*& library = libraries[device.index];
  if (library == nullptr) library = new Library(device);
  return *library;
}

}  // namespace

bool cublaslt_gemm(Stream& stream, const GemmArgs& x) {
  if (x.a.dtype != x.b.dtype || (x.a.dtype == DType::kF32 && x.c.dtype == DType::kBF16)) return false;
  const bool narrow = x.c.dtype == DType::kBF16;
  const void* bias = narrow ? static_cast<const void*>(x.rounded_bias) : x.bias;
  if (x.bias != nullptr && bias == nullptr) return false;
  return library_of(stream.device).gemm(static_cast<cudaStream_t>(stream.handle), x, bias);
}

}  // namespace fovea::cuda
