// Gather and scatter-add along an axis. Picks with equal indices are added in a fixed order, without atomics, so that
// the result is the same on every run.
#include "kernels/broadcast_index.h"
#include "kernels/cuda/common/device_primitives.h"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/functions.h"

namespace fovea::cuda {

namespace {

template <class T>
__global__ void gather_kernel(const T* whole, const int32_t* index, T* picked, int64_t count, GatherShape s,
                              bool accumulate) {
  for (int64_t at = first_element(); at < count; at += element_stride()) {
    const int64_t i = at % s.inner, k = at / s.inner % s.picks, o = at / s.inner / s.picks;
    const float x = load(whole + (o * s.count + index[index_position(s, o, k, i)]) * s.inner + i);
    store(picked + at, accumulate ? load(picked + at) + x : x);
  }
}

// For wide matrices: each thread has a column and adds its picks one after the other.
template <class T>
__global__ void scatter_columns_kernel(const T* picked, const int32_t* index, float* whole, GatherShape s) {
  for (int64_t at = first_element(); at < s.outer * s.inner; at += element_stride()) {
    const int64_t i = at % s.inner, o = at / s.inner;
    for (int64_t k = 0; k < s.picks; ++k) {
      const int64_t row = o * s.count + index[index_position(s, o, k, i)];
      whole[row * s.inner + i] += load(picked + (o * s.picks + k) * s.inner + i);
    }
  }
}

// For narrow matrices: each warp has a column and processes 32 picks at a time. Of the lanes with equal indices, the
// first adds the picks of all.
template <class T>
__global__ void scatter_warps_kernel(const T* picked, const int32_t* index, float* whole, GatherShape s) {
  const int64_t column = team_row();
  if (column >= s.outer * s.inner) return;
  const int64_t i = column % s.inner, o = column / s.inner;
  const int lane = static_cast<int>(threadIdx.x);
  for (int64_t first = 0; first < s.picks; first += kWarp) {
    const int64_t k = first + lane;
    const bool present = k < s.picks;
    const int32_t own = present ? index[index_position(s, o, k, i)] : -1;
    const float x = present ? load(picked + (o * s.picks + k) * s.inner + i) : 0.0f;
    int first_equal = lane;
    float sum = x;
    for (int distance = 1; distance < kWarp; ++distance) {
      const int32_t its = from_lane(own, distance);
      const float term = from_lane(x, distance);
      if (its != own) continue;
      sum += term;
      if ((lane ^ distance) < first_equal) first_equal = lane ^ distance;
    }
    if (present && first_equal == lane) whole[(o * s.count + own) * s.inner + i] += sum;
    __syncwarp();  // the next 32 picks may read these sums
  }
}

__global__ void add_sums_kernel(const float* sums, bf16* y, int64_t count) {
  for (int64_t i = first_element(); i < count; i += element_stride()) add(y + i, sums[i]);
}

template <class T> void scatter(Stream& stream, const ScatterAddArgs& args, float* whole) {
  const GatherShape& s = args.shape;
  const T* picked = args.picked.data<T>();
  const int32_t* index = args.index.data<int32_t>();
  if (s.inner >= kWarp) {
    launch(stream, scatter_columns_kernel<T>, elements_grid(s.outer * s.inner), picked, index, whole, s);
  } else {
    launch(stream, scatter_warps_kernel<T>, rows_grid<kWarp>(s.outer * s.inner), picked, index, whole, s);
  }
}

}  // namespace

void gather(Stream& stream, const GatherArgs& args) {
  const int64_t count = args.picked.size();
  with_type_of(args.whole, [&]<class T>(T) {
    launch(stream, gather_kernel<T>, elements_grid(count), args.whole.data<T>(), args.index.data<int32_t>(),
           args.picked.data<T>(), count, args.shape, args.accumulate);
  });
}

void scatter_add(Stream& stream, const ScatterAddArgs& args) {
  if (args.picked.size() == 0) return;
  if (args.whole.dtype() == DType::kF32) return scatter<float>(stream, args, args.whole.data<float>());
  // Sums of bf16 are computed in f32.
  const int64_t count = args.whole.size();
  Workspace workspace(stream);
  float* sums = workspace.allocate<float>(count);
  zero_memory(stream.device, reinterpret_cast<std::byte*>(sums), static_cast<size_t>(count) * sizeof(float));
  scatter<bf16>(stream, args, sums);
  launch(stream, add_sums_kernel, elements_grid(count), sums, args.whole.data<bf16>(), count);
}

}  // namespace fovea::cuda
