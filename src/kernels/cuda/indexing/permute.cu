// Permutation of axes: elements are copied where rows stay contiguous, else matrices are transposed through tiles in
// shared memory, so that both reads and writes are coalesced.
#include "kernels/cuda/common/device_primitives.h"
#include "kernels/cuda/functions.h"
#include "kernels/permuted_axes.h"

namespace fovea::cuda {

namespace {

constexpr int kTile = 32, kTileRows = 8;  // columns of threads and of elements; rows of threads

template <class T> __device__ void put(T* y, float x, bool accumulate) { store(y, accumulate ? load(y) + x : x); }

template <class T>
__global__ void permute_rows_kernel(const T* x, T* y, int64_t count, const __grid_constant__ PermutedAxes axes,
                                    bool accumulate) {
  const int64_t width = axes.sizes[axes.last()];
  for (int64_t k = first_element(); k < count; k += element_stride()) {
    const int64_t column = k % width;
    put(y + k, load(x + axes.offsets(k / width, axes.last()).x + column), accumulate);
  }
}

// With i along the axis that is contiguous in x, and j along the one that is contiguous in y: y[i,j] = x[j,i]. A block
// has one tile of one of the matrices.
template <class T>
__global__ void transpose_kernel(const T* x, T* y, const __grid_constant__ PermutedAxes axes, int contiguous,
                                 bool accumulate) {
  __shared__ float tile[kTile][kTile + 1];
  const int64_t height = axes.sizes[contiguous], width = axes.sizes[axes.last()];
  const int64_t across = (width + kTile - 1) / kTile, down = (height + kTile - 1) / kTile;
  const int64_t left = blockIdx.x % across * kTile, top = blockIdx.x / across % down * kTile;
  const PermutedAxes::Offsets at = axes.offsets(blockIdx.x / across / down, contiguous);
  const int column = static_cast<int>(threadIdx.x);
  for (int row = static_cast<int>(threadIdx.y); row < kTile; row += kTileRows) {
    const int64_t i = top + column, j = left + row;
    if (i < height && j < width) tile[row][column] = load(x + at.x + j * axes.x_strides[axes.last()] + i);
  }
  __syncthreads();
  for (int row = static_cast<int>(threadIdx.y); row < kTile; row += kTileRows) {
    const int64_t i = top + row, j = left + column;
    if (i < height && j < width) put(y + at.y + i * axes.y_strides[contiguous] + j, tile[column][row], accumulate);
  }
}

}  // namespace

void permute(Stream& stream, const PermuteArgs& args) {
  const int64_t count = args.x.size();
  if (count == 0) return;
  const PermutedAxes axes(args);
  with_type_of(args.x, [&]<class T>(T) {
    if (axes.moves_rows()) {
      return launch(stream, permute_rows_kernel<T>, elements_grid(count), args.x.data<T>(), args.y.data<T>(), count,
                    axes, args.accumulate);
    }
    const int contiguous = axes.contiguous();
    const int64_t height = axes.sizes[contiguous], width = axes.sizes[axes.last()];
    const int64_t tiles = ceil_div(height, kTile) * ceil_div(width, kTile) * (count / (height * width));
    launch(stream, transpose_kernel<T>, Grid{dim3(to_unsigned(tiles)), dim3(kTile, kTileRows)}, args.x.data<T>(),
           args.y.data<T>(), axes, contiguous, args.accumulate);
  });
}

}  // namespace fovea::cuda
