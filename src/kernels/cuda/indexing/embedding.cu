// Embedding lookup and its gradient.
#include "kernels/cuda/common/device_primitives.h"
#include "kernels/cuda/functions.h"

namespace fovea::cuda {

namespace {

struct Lookup {
  int64_t rows, height, width, tables;  // rows read from each table; rows, columns and number of the tables
  int64_t count() const { return tables * rows * width; }
};

// Each thread copies kCount columns of a row.
template <int kCount, class T, class Y>
__global__ void embedding_kernel(const Lookup x, const T* table, const int32_t* ids, Y* y, float scale) {
  const auto packs = static_cast<uint32_t>(x.width / kCount), rows = static_cast<uint32_t>(x.rows);
  for (int64_t k = first_element(); k < x.tables * x.rows * packs; k += element_stride()) {
    const int64_t row = k / packs, column = k % packs * kCount;
    const int64_t from = row / rows * x.height + ids[row % rows];
    const Pack<T, kCount> read = load_pack<kCount>(table + from * x.width + column);
    Pack<Y, kCount> written;
#pragma unroll
    for (int i = 0; i < kCount; ++i) store(written.x + i, scale * load(read.x + i));
    store_pack(y + row * x.width + column, written);
  }
}

constexpr int kScan = 256;              // threads of a block
constexpr int kWindow = kScan * kWarp;  // ids that a block compares in one pass

// Writes the positions of `id` in a window of ids, in ascending order, and returns their number. All threads of the
// block must call it.
__device__ int find_positions(const int32_t* ids, int64_t begin, int64_t count, int32_t id, uint16_t* positions) {
  __shared__ int before[kScan / kWarp + 1];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  unsigned own = 0;  // a bit for each of the 32 consecutive ids of this thread
  constexpr int kUnroll = 8;
  for (int first = 0; first < kWarp; first += kUnroll) {
    const int64_t i = begin + (warp * kWarp + first) * kWarp + lane;
    bool is[kUnroll];
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) is[k] = i + k * kWarp < count && ids[i + k * kWarp] == id;
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) {
      const unsigned found = __ballot_sync(0xFFFFFFFFu, is[k]);
      if (lane == first + k) own = found;
    }
  }
  int at = __popc(own);
  for (int other = 1; other < kWarp; other *= 2) {
    const int lower = __shfl_up_sync(0xFFFFFFFFu, at, other);
    if (lane >= other) at += lower;
  }
  __syncthreads();  // the reads of the previous call are finished
  if (lane == kWarp - 1) before[warp + 1] = at;
  __syncthreads();
  if (threadIdx.x == 0) {
    before[0] = 0;
    for (int w = 0; w < kScan / kWarp; ++w) before[w + 1] += before[w];
  }
  __syncthreads();
  at += before[warp] - __popc(own);
  for (; own != 0; own &= own - 1) {
    positions[at++] = static_cast<uint16_t>(threadIdx.x * kWarp + __ffs(static_cast<int>(own)) - 1);
  }
  __syncthreads();
  return before[kScan / kWarp];
}

// Each block computes one row of the table or, if there are fewer ids than rows, the row of one id, unless the id
// occurs earlier. It finds the rows of dy with this id, distributes them to groups of threads and adds up the partial
// sums of the groups, all in a fixed order. Each thread has kCount columns.
template <int kCount, class T, class D>
__global__ void embedding_grad_kernel(const int32_t* ids, const T* dy, D* dtable, int64_t count, int64_t width,
                                      float scale, bool by_table) {
  __shared__ uint16_t positions[kWindow];
  __shared__ float parts[kScan][kCount];
  __shared__ unsigned seen[kScan / kWarp];
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t own = blockIdx.x, begin = by_table ? 0 : own;
  const int32_t id = by_table ? static_cast<int32_t>(own) : ids[own];
  bool any = false;
#pragma unroll 8
  for (int64_t i = thread; i < begin; i += kScan) any = any || ids[i] == id;
  const unsigned word = __ballot_sync(0xFFFFFFFFu, any);
  if (thread % kWarp == 0) seen[thread / kWarp] = word;
  __syncthreads();
  for (const unsigned each : seen) {
    if (each != 0) return;
  }
  const int64_t packs = width / kCount;
  const int groups = packs < kScan ? static_cast<int>(kScan / packs) : 1;
  const int group = packs < kScan ? static_cast<int>(thread / packs) : 0;
  const int64_t first = packs < kScan ? thread % packs : thread;
  for (int64_t window = begin; window < count; window += kWindow) {
    const int found = find_positions(ids, window, count, id, positions);
    if (found == 0) continue;
    const int each = (found + groups - 1) / groups, last = (group + 1) * each;
    const int end = last < found ? last : found;
    for (int64_t pack = first; pack - first < packs;
         pack += kScan) {  // the loop contains barriers, so all threads take part
      const bool takes_part = group < groups && pack < packs;
      float sums[kCount] = {};
#pragma unroll 4
      for (int i = group * each; takes_part && i < end; ++i) {
        const Pack<T, kCount> row = load_pack<kCount>(dy + (window + positions[i]) * width + pack * kCount);
#pragma unroll
        for (int k = 0; k < kCount; ++k) sums[k] += load(row.x + k);
      }
#pragma unroll
      for (int k = 0; k < kCount; ++k) parts[thread][k] = sums[k];
      __syncthreads();
      if (group == 0 && takes_part) {
        for (int k = 0; k < kCount; ++k) {
          float sum = sums[k];
          for (int g = 1; g < groups; ++g) sum += parts[g * packs + pack][k];
          add(dtable + id * width + pack * kCount + k, scale * sum);
        }
      }
      __syncthreads();
    }
  }
}

}  // namespace

void embedding(Stream& stream, const EmbeddingArgs& args) {
  const Lookup x{args.ids.size(), args.table.dim(0) / args.tables, args.table.dim(-1), args.tables};
  with_type_of(args.table, [&]<class T>(T) {
    with_type_of(args.y, [&]<class Y>(Y) {
      with_pack(x.width, {args.table.raw(), args.y.raw()}, [&](auto pack) {
        constexpr int kCount = decltype(pack)::value;
        launch(stream, embedding_kernel<kCount, T, Y>, elements_grid(x.count() / kCount), x, args.table.data<T>(),
               args.ids.data<int32_t>(), args.y.data<Y>(), args.scale);
      });
    });
  });
}

void embedding_grad(Stream& stream, const EmbeddingGradArgs& args) {
  if (!args.dtable) return;
  const int64_t width = args.dtable.dim(-1), count = args.ids.size(), rows = args.dtable.dim(0);
  if (count == 0) return;
  const bool by_table = rows < count;
  const Grid grid = {dim3(to_unsigned(by_table ? rows : count)), dim3(kScan)};
  with_type_of(args.dy, [&]<class T>(T) {
    with_type_of(args.dtable, [&]<class D>(D) {
      with_pack(width, {args.dy.raw()}, [&](auto pack) {
        launch(stream, embedding_grad_kernel<decltype(pack)::value, T, D>, grid, args.ids.data<int32_t>(),
               args.dy.data<T>(), args.dtable.data<D>(), count, width, args.scale, by_table);
      });
    });
  });
}

}  // namespace fovea::cuda
