// Sums over the rows or columns of a matrix whose elements a device functor computes: float f(row, column). A long sum
// is split into pieces whose number depends on the sizes alone, and the partial sums are added in order.
#pragma once

#include "kernels/cuda/common/device_primitives.h"
#include "kernels/cuda/common/workspace.h"

namespace fovea::cuda {

// The output of sums: y = scale * sum, or y += scale * sum.
template <class Y> struct SumTo {
  Y* y;
  bool accumulate = true;
  float scale = 1.0f;

  __device__ void put(int64_t i, float sum) const { store(y + i, scale * sum + (accumulate ? load(y + i) : 0.0f)); }
};

// ---- row sums: y[row] --------------------------------------------------------------------------

template <int kTeam, class F, class Put>
__global__ void row_sums_kernel(int64_t rows, int64_t columns, int64_t piece, F f, Put to) {
  const int64_t row = team_row();
  if (row >= rows) return;
  const int64_t begin = int64_t{blockIdx.y} * piece, end = begin + piece < columns ? begin + piece : columns;
  float sum = 0.0f;
  for (int64_t i = begin + threadIdx.x; i < end; i += kTeam) sum += f(row, i);
  sum = Team<kTeam>::sum(sum);
  if (threadIdx.x == 0) to.put(row * gridDim.y + blockIdx.y, sum);
}

struct ReadPieces {
  const float* parts;
  int64_t pieces;
  __device__ float operator()(int64_t row, int64_t i) const { return parts[row * pieces + i]; }
};

template <class F, class Y> void row_sums(Stream& stream, int64_t rows, int64_t columns, F f, SumTo<Y> to) {
  constexpr int64_t kMaxPieces = 512, kLongPiece = 16384;
  const auto sum_up = [&](auto reader, auto out, int64_t count, int64_t pieces) {
    with_team(ceil_div(count, pieces), [&](auto team) {
      constexpr int kTeam = decltype(team)::value;
      Grid grid = rows_grid<kTeam>(rows);
      grid.blocks.y = to_unsigned(pieces);
      launch(stream, row_sums_kernel<kTeam, decltype(reader), decltype(out)>, grid, rows, count,
             ceil_div(count, pieces), reader, out);
    });
  };
  // With few long rows, one team per row would leave most of the device idle.
  const int64_t pieces = rows >= 256 ? 1 : std::clamp<int64_t>(columns / kLongPiece, 1, kMaxPieces);
  if (pieces == 1) return sum_up(f, to, columns, 1);
  Workspace workspace(stream);
  float* parts = workspace.allocate<float>(rows * pieces);
  sum_up(f, SumTo<float>{parts, false}, columns, pieces);
  sum_up(ReadPieces{parts, pieces}, to, pieces, 1);
}

// ---- column sums: y[outer, column] -------------------------------------------------------------

constexpr int kColumnRows = 16;        // threads of a block along y
constexpr int64_t kShortColumn = 256;  // fewest rows of a piece

// Calls f(outer * rows + row, column). The blocks of all columns come first in the grid's only axis, which may have
// more blocks than the others.
template <class F, class Put>
__global__ void column_sums_kernel(int64_t rows, int64_t columns, int64_t pieces, int64_t piece, F f, Put to) {
  __shared__ float sums[kColumnRows][kWarp];
  const int64_t across = (columns + kWarp - 1) / kWarp, group = blockIdx.x / across;
  const int64_t column = blockIdx.x % across * kWarp + threadIdx.x;
  const int64_t outer = group / pieces, which = group % pieces;
  const int64_t begin = which * piece, end = begin + piece < rows ? begin + piece : rows;
  float sum = 0.0f;
  if (column < columns) {
#pragma unroll 8
    for (int64_t row = begin + threadIdx.y; row < end; row += kColumnRows) sum += f(outer * rows + row, column);
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns) return;
  for (int i = 1; i < kColumnRows; ++i) sum += sums[i][threadIdx.x];
  to.put(group * columns + column, sum);
}

// Reads the partial sums [outer, pieces, columns].
struct ReadColumns {
  const float* parts;
  int64_t columns;
  __device__ float operator()(int64_t row, int64_t column) const { return parts[row * columns + column]; }
};

template <class F, class Put>
void column_sums(Stream& stream, int64_t outer, int64_t rows, int64_t columns, F f, Put to) {
  constexpr int64_t kShortPiece = kShortColumn, kEnoughBlocks = 528;
  const auto sum_up = [&](auto reader, auto out, int64_t count, int64_t piece) {
    const int64_t pieces = std::max<int64_t>(ceil_div(count, piece), 1);
    const Grid grid = {dim3(to_unsigned(outer * pieces * ceil_div(columns, kWarp))), dim3(kWarp, kColumnRows)};
    launch(stream, column_sums_kernel<decltype(reader), decltype(out)>, grid, count, columns, pieces, piece, reader,
           out);
  };
  const int64_t blocks = ceil_div(columns, kWarp) * outer;
  const int64_t max_pieces = std::max<int64_t>(1, kEnoughBlocks / std::max<int64_t>(blocks, 1));
  const int64_t pieces = std::clamp<int64_t>(rows / kShortPiece, 1, max_pieces);
  const int64_t piece = std::max<int64_t>(ceil_div(rows, pieces), 1);
  if (ceil_div(rows, piece) <= 1) return sum_up(f, to, rows, piece);
  Workspace workspace(stream);
  const int64_t count = ceil_div(rows, piece);
  float* parts = workspace.allocate<float>(outer * count * columns);
  sum_up(f, SumTo<float>{parts, false}, rows, piece);
  sum_up(ReadColumns{parts, columns}, to, count, count);
}

}  // namespace fovea::cuda
