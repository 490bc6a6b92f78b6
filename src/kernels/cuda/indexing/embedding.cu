// Rows of an embedding table, and their gradient.
#include "kernels/cuda/common/device_primitives.h"
#include "kernels/cuda/functions.h"

namespace fovea::cuda {

namespace {

struct Picked {
  int64_t rows, height, width, tables;  // rows of each table that are picked, of those it has
  int64_t count() const { return tables * rows * width; }
};

// A thread has kCount columns of a row.
template <int kCount, class T, class Y>
__global__ void embedding_kernel(const Picked x, const T* table, const int32_t* ids, Y* y, float scale) {
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

constexpr int kScan = 256;              // threads
constexpr int kWindow = kScan * kWarp;  // ids looked at together

// Where among the ids of a window `id` is, in order. All threads of the block must call; returns how many there are.
__device__ int find_places(const int32_t* ids, int64_t begin, int64_t count, int32_t id, uint16_t* places) {
  __shared__ int before[kScan / kWarp + 1];
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  unsigned own = 0;           // of 32 ids that follow those of the thread before
  constexpr int kAtOnce = 8;  // reads
  for (int first = 0; first < kWarp; first += kAtOnce) {
    const int64_t i = begin + (warp * kWarp + first) * kWarp + lane;
    bool is[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) is[k] = i + k * kWarp < count && ids[i + k * kWarp] == id;
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const unsigned found = __ballot_sync(0xFFFFFFFFu, is[k]);
      if (lane == first + k) own = found;
    }
  }
  int at = __popc(own);
  for (int other = 1; other < kWarp; other *= 2) {
    const int lower = __shfl_up_sync(0xFFFFFFFFu, at, other);
    if (lane >= other) at += lower;
  }
  __syncthreads();  // what was read the last time has been read
  if (lane == kWarp - 1) before[warp + 1] = at;
  __syncthreads();
  if (threadIdx.x == 0) {
    before[0] = 0;
    for (int w = 0; w < kScan / kWarp; ++w) before[w + 1] += before[w];
  }
  __syncthreads();
  at += before[warp] - __popc(own);
  for (; own != 0; own &= own - 1) {
    places[at++] = static_cast<uint16_t>(threadIdx.x * kWarp + __ffs(static_cast<int>(own)) - 1);
  }
  __syncthreads();
  return before[kScan / kWarp];
}

// A block for each row of the table, or, when the ids are fewer, for each id that is the first of its kind: it
// finds the rows of dy that were read from there, shares them out to groups of threads in their order and adds up
// what these found, in theirs. A thread has kCount columns.
template <int kCount, class T, class D>
__global__ void embedding_grad_kernel(const int32_t* ids, const T* dy, D* dtable, int64_t count, int64_t width,
                                      float scale, bool by_table) {
  __shared__ uint16_t places[kWindow];
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
    const int found = find_places(ids, window, count, id, places);
    if (found == 0) continue;
    const int each = (found + groups - 1) / groups, last = (group + 1) * each;
    const int end = last < found ? last : found;
    for (int64_t pack = first; pack - first < packs; pack += kScan) {  // all threads go through it together
      const bool takes_part = group < groups && pack < packs;
      float sums[kCount] = {};
#pragma unroll 4
      for (int i = group * each; takes_part && i < end; ++i) {
        const Pack<T, kCount> row = load_pack<kCount>(dy + (window + places[i]) * width + pack * kCount);
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
  const Picked x{args.ids.size(), args.table.dim(0) / args.tables, args.table.dim(-1), args.tables};
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
