// c[g] (+)= alpha * a[g] b[g] + bias: selects an implementation and converts the factors for it. cuBLASLt multiplies
// two bf16 or two f32 factors without conversion (in TF32 if the precision allows rounding). For mixed factors, the f32
// factor is rounded to bf16 if the precision allows it, else the bf16 factor is converted to f32.
#include <memory>

#include "kernels/cuda/common/device_primitives.h"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/functions.h"
#include "kernels/cuda/gemm/gemm.h"

namespace fovea::cuda {

namespace {

// ---- conversion --------------------------------------------------------------------------------

template <class From, class To>
__global__ void convert_kernel(const From* from, To* to, int64_t count, int64_t rows, int64_t columns,
                               int64_t row_stride, int64_t batch_stride) {
  for (int64_t i = first_element(); i < count; i += element_stride()) {
    const int64_t column = i % columns, row = i / columns % rows, g = i / columns / rows;
    store(to + i, load(from + g * batch_stride + row * row_stride + column));
  }
}

// Copies the stored matrices [rows, columns] densely into the workspace, converted from f32 to bf16 or vice versa.
Factor converted(Stream& stream, Workspace& workspace, const Factor& x, int64_t rows, int64_t columns, int64_t batch) {
  const bool shared = x.batch_stride == 0;
  const int64_t count = (shared ? 1 : batch) * rows * columns;
  Factor result = {.row_stride = columns, .batch_stride = shared ? 0 : rows * columns, .transposed = x.transposed};
  if (x.dtype == DType::kF32) {
    bf16* to = workspace.allocate<bf16>(count);
    result.data = to;
    result.dtype = DType::kBF16;
    launch(stream, convert_kernel<float, bf16>, elements_grid(count), static_cast<const float*>(x.data), to, count,
           rows, columns, x.row_stride, x.batch_stride);
  } else {
    float* to = workspace.allocate<float>(count);
    result.data = to;
    result.dtype = DType::kF32;
    launch(stream, convert_kernel<bf16, float>, elements_grid(count), static_cast<const bf16*>(x.data), to, count, rows,
           columns, x.row_stride, x.batch_stride);
  }
  return result;
}

// c (+)= product + bias, for a product that was computed in f32 and a c in bf16.
__global__ void add_bias_kernel(const float* product, const float* bias, int64_t bias_stride, bf16* c, int64_t count,
                                int64_t m, int64_t n, int64_t row_stride, int64_t batch_stride, bool accumulate) {
  for (int64_t i = first_element(); i < count; i += element_stride()) {
    const int64_t j = i % n, row = i / n % m, g = i / n / m;
    bf16* to = c + g * batch_stride + row * row_stride + j;
    float sum = product[i];
    if (bias != nullptr) sum += bias[g * bias_stride + j];
    if (accumulate) sum += load(to);
    store(to, sum);
  }
}

// ---- fallback ----------------------------------------------------------------------------------

constexpr int kTile = 16;

__device__ float load_any(const void* x, bool narrow, int64_t i) {
  return narrow ? load(static_cast<const bf16*>(x) + i) : load(static_cast<const float*>(x) + i);
}

__global__ void fallback_gemm_kernel(const __grid_constant__ GemmArgs x) {
  __shared__ float a[kTile][kTile + 1], b[kTile][kTile + 1];
  const bool a_narrow = x.a.dtype == DType::kBF16, b_narrow = x.b.dtype == DType::kBF16;
  const int64_t row = int64_t{blockIdx.x} * kTile + threadIdx.y, column = int64_t{blockIdx.y} * kTile + threadIdx.x;
  for (int64_t g = blockIdx.z; g < x.batch; g += gridDim.z) {
    float sum = 0.0f;
    for (int64_t l = 0; l < x.k; l += kTile) {
      const int64_t a_column = l + threadIdx.x, b_row = l + threadIdx.y;
      const int64_t a_at = x.a.transposed ? a_column * x.a.row_stride + row : row * x.a.row_stride + a_column;
      const int64_t b_at = x.b.transposed ? column * x.b.row_stride + b_row : b_row * x.b.row_stride + column;
      const bool a_there = row < x.m && a_column < x.k, b_there = b_row < x.k && column < x.n;
      a[threadIdx.y][threadIdx.x] = a_there ? load_any(x.a.data, a_narrow, g * x.a.batch_stride + a_at) : 0.0f;
      b[threadIdx.y][threadIdx.x] = b_there ? load_any(x.b.data, b_narrow, g * x.b.batch_stride + b_at) : 0.0f;
      __syncthreads();
      for (int i = 0; i < kTile; ++i) sum += a[threadIdx.y][i] * b[i][threadIdx.x];
      __syncthreads();
    }
    if (row >= x.m || column >= x.n) continue;
    const int64_t at = g * x.c.batch_stride + row * x.c.row_stride + column;
    sum *= x.alpha;
    if (x.bias != nullptr) sum += x.bias[g * x.bias_stride + column];
    void* c = const_cast<void*>(x.c.data);
    if (x.c.dtype == DType::kBF16) {
      bf16* to = static_cast<bf16*>(c) + at;
      store(to, x.accumulate ? load(to) + sum : sum);
    } else {
      float* to = static_cast<float*>(c) + at;
      store(to, x.accumulate ? load(to) + sum : sum);
    }
  }
}

// ---- bf16 copies of weights --------------------------------------------------------------------

class Bf16Copy : public Derived {
 public:
  Bf16Copy(Device device, int64_t count)
      : device_(device), data_(reinterpret_cast<bf16*>(allocate(device, static_cast<size_t>(count) * sizeof(bf16)))) {}
  ~Bf16Copy() override { release(device_, reinterpret_cast<std::byte*>(data_)); }
  Bf16Copy(const Bf16Copy&) = delete;
  Bf16Copy& operator=(const Bf16Copy&) = delete;

  bf16* data() const { return data_; }
  void refresh(const Buffer& buffer) override {
    if (version == buffer.version()) return;
    const auto count = static_cast<int64_t>(buffer.bytes() / sizeof(float));
    launch(fovea::stream(device_), convert_kernel<float, bf16>, elements_grid(count),
           reinterpret_cast<const float*>(buffer.data()), data_, count, int64_t{1}, count, count, count);
    version = buffer.version();
  }
  uint64_t version = 0;

 private:
  Device device_;
  bf16* data_;
};

}  // namespace

const bf16* bf16_copy(const Tensor& x) {
  Buffer* buffer = x.buffer();
  if (buffer == nullptr || x.dtype() != DType::kF32) return nullptr;
  const std::lock_guard lock(buffer->derived_mutex);
  if (!buffer->derived) {
    buffer->derived = std::make_unique<Bf16Copy>(x.device(), static_cast<int64_t>(buffer->bytes() / sizeof(float)));
  }
  auto& copy = static_cast<Bf16Copy&>(*buffer->derived);
  copy.refresh(*buffer);
  return copy.data() + (x.raw() - buffer->data()) / static_cast<int64_t>(sizeof(float));
}

bf16* bf16_copy_to_update(const Tensor& x) {
  Buffer* buffer = x.buffer();
  if (buffer == nullptr) return nullptr;
  const std::lock_guard lock(buffer->derived_mutex);
  if (!buffer->derived) return nullptr;
  auto& copy = static_cast<Bf16Copy&>(*buffer->derived);
  copy.version = buffer->version();
  return copy.data() + (x.raw() - buffer->data()) / static_cast<int64_t>(sizeof(float));
}

Factor weight_factor(const Tensor& weight, DType elements, Precision precision) {
  const bf16* narrow = elements == DType::kBF16 && precision != Precision::kF32 ? bf16_copy(weight) : nullptr;
  if (narrow != nullptr) return {.data = narrow, .dtype = DType::kBF16, .row_stride = weight.dim(1)};
  return {.data = weight.raw(), .dtype = weight.dtype(), .row_stride = weight.dim(1)};
}

void fallback_gemm(Stream& stream, const GemmArgs& args) {
  constexpr int64_t kMaxGridZ = 65535;
  const Grid grid = {dim3(to_unsigned(ceil_div(args.m, kTile)), to_unsigned(ceil_div(args.n, kTile)),
                          to_unsigned(std::min(args.batch, kMaxGridZ))),
                     dim3(kTile, kTile)};
  launch(stream, fallback_gemm_kernel, grid, args);
}

void gemm(Stream& stream, const GemmArgs& given) {
  if (given.m == 0 || given.n == 0 || given.batch == 0) return;
  if (given.k == 0) return fallback_gemm(stream, given);
  GemmArgs args = given;
  Workspace workspace(stream);
  if (args.a.dtype != args.b.dtype) {
    const DType wanted = args.precision == Precision::kF32 ? DType::kF32 : DType::kBF16;
    if (args.a.dtype != wanted) {
      const bool t = args.a.transposed;
      args.a = converted(stream, workspace, args.a, t ? args.k : args.m, t ? args.m : args.k, args.batch);
    } else {
      const bool t = args.b.transposed;
      args.b = converted(stream, workspace, args.b, t ? args.n : args.k, t ? args.k : args.n, args.batch);
    }
  }
  // cuBLASLt requires a bias of c's type. A bias that must not be rounded is added afterwards.
  const bool exact_bias = args.bias != nullptr && args.precision == Precision::kF32;
  if (args.c.dtype == DType::kBF16 && (args.a.dtype == DType::kF32 || exact_bias)) {
    const int64_t count = args.batch * args.m * args.n;
    float* product = workspace.allocate<float>(count);
    args.c = {.data = product, .dtype = DType::kF32, .row_stride = args.n, .batch_stride = args.m * args.n};
    args.bias = nullptr;
    args.accumulate = false;
    gemm(stream, args);
    return launch(stream, add_bias_kernel, elements_grid(count), product, given.bias, given.bias_stride,
                  static_cast<bf16*>(const_cast<void*>(given.c.data)), count, given.m, given.n, given.c.row_stride,
                  given.c.batch_stride, given.accumulate);
  }
  if (args.bias != nullptr && args.c.dtype == DType::kBF16 && args.rounded_bias == nullptr) {
    const int64_t count = args.bias_stride > 0 ? args.batch * args.n : args.n;
    bf16* bias = workspace.allocate<bf16>(count);
    launch(stream, convert_kernel<float, bf16>, elements_grid(count), args.bias, bias, count, int64_t{1}, count, count,
           count);
    args.rounded_bias = bias;
  }
  if (!skinny_gemm(stream, args) && !cublaslt_gemm(stream, args)) fallback_gemm(stream, args);
}

void matmul(Stream& stream, const MatmulArgs& args) {
  const bool rounds = args.precision != Precision::kF32;
  const auto factor = [&](const Matrix& x, const Matrix& other) {
    Factor result = {.data = x.tensor.raw(),
                     .dtype = x.tensor.dtype(),
                     .row_stride = x.row_stride,
                     .batch_stride = x.batch_stride,
                     .transposed = x.transposed};
    if (rounds && x.weight && result.dtype == DType::kF32 && other.tensor.dtype() == DType::kBF16) {
      if (const bf16* narrow = bf16_copy(x.tensor)) {
        result.data = narrow;
        result.dtype = DType::kBF16;
      }
    }
    result.data = static_cast<const std::byte*>(result.data) + x.offset * static_cast<int64_t>(size_of(result.dtype));
    return result;
  };
  GemmArgs product = {.a = factor(args.a, args.b),
                      .b = factor(args.b, args.a),
                      .c = factor(args.c, args.c),
                      .bias = args.bias.data<float>(),
                      .bias_stride = args.bias_stride(),
                      .m = args.m,
                      .n = args.n,
                      .k = args.k,
                      .batch = args.batch,
                      .alpha = args.alpha,
                      .accumulate = args.accumulate,
                      .precision = args.precision};
  // A bias in the same buffer as its weight has been rounded together with it.
  const bool same_buffer = args.bias && args.b.weight && args.bias.buffer() == args.b.tensor.buffer();
  if (same_buffer && rounds && args.c.tensor.dtype() == DType::kBF16) product.rounded_bias = bf16_copy(args.bias);
  gemm(stream, product);
}

}  // namespace fovea::cuda
