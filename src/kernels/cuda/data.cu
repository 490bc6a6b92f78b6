// Moving data: joining and splitting columns, rows of an embedding table, dropout, rotary positions.
#include <algorithm>
#include <numeric>

#include "kernels/cuda/dropout.h"
#include "kernels/cuda/functions.h"
#include "kernels/cuda/sums.h"
#include "kernels/rotary.h"

namespace fovea::cuda {

namespace {

// ---- columns -----------------------------------------------------------------------------------

// As many pieces as one launch takes: they travel as its parameters.
struct Pieces {
  static constexpr int kMost = 64;
  void* data[kMost];
  int64_t begin[kMost], width[kMost];
  int count = 0;
  bool packed = true;  // all of them begin and end at packs
};

template <bool kJoins, int kCount, class T>
__global__ void pieces_kernel(const __grid_constant__ Pieces pieces, T* joined, int64_t outer, int64_t total,
                              bool accumulate) {
  T* part = static_cast<T*>(pieces.data[blockIdx.y]);
  const int64_t begin = pieces.begin[blockIdx.y], width = pieces.width[blockIdx.y];
  for (int64_t k = kCount * first_element(); k < outer * width; k += kCount * element_stride()) {
    const int64_t whole = outer == 1 ? begin + k : k / width * total + begin + k % width;
    const T* from = kJoins ? part + k : joined + whole;
    T* to = kJoins ? joined + whole : part + k;
    Pack<T, kCount> pack = load_pack<kCount>(from);
    if (accumulate) {
      const Pack<T, kCount> before = load_pack<kCount>(to);
      for (int i = 0; i < kCount; ++i) add(pack.x + i, load(before.x + i));
    }
    store_pack(to, pack);
  }
}

template <bool kJoins>
void move_pieces(Stream& stream, std::span<const Piece> pieces, const Tensor& joined, int64_t outer, bool accumulate) {
  int64_t total = 0, begin = 0;
  for (const Piece& piece : pieces) total += piece.width;
  with_type_of(joined, [&]<class T>(T) {
    Pieces some;
    int64_t widest = 0;
    const auto flush = [&] {
      if (some.count == 0) return;
      Grid grid = elements_grid(outer * widest);
      grid.blocks.y = static_cast<unsigned>(some.count);
      const bool packed = some.packed && total % kPack == 0 && is_packed(joined.raw());
      if (packed) grid.blocks.x = elements_grid(outer * widest / kPack).blocks.x;
      launch(stream, packed ? pieces_kernel<kJoins, kPack, T> : pieces_kernel<kJoins, 1, T>, grid, some,
             joined.data<T>(), outer, total, accumulate);
      some.count = 0;
      some.packed = true;
      widest = 0;
    };
    for (const Piece& piece : pieces) {
      if (piece.tensor && piece.width > 0) {
        // Two pieces may be one tensor that both are added to: one launch after the other.
        if (std::count(some.data, some.data + some.count, piece.tensor.data<T>()) > 0) flush();
        some.data[some.count] = piece.tensor.data<T>();
        some.begin[some.count] = begin;
        some.width[some.count++] = piece.width;
        some.packed = some.packed && begin % kPack == 0 && piece.width % kPack == 0 && is_packed(piece.tensor.raw());
        widest = std::max(widest, piece.width);
        if (some.count == Pieces::kMost) flush();
      }
      begin += piece.width;
    }
    flush();
  });
}

// ---- embedding ---------------------------------------------------------------------------------

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

// ---- dropout -----------------------------------------------------------------------------------

// y = base + what is kept of x; base may be y, or null for nothing, and gate null for no gate.
// Four elements a thread: they share a block of random words where the period does not cut them apart.
template <class T>
__global__ void dropout_kernel(const T* x, const T* gate, const T* base, T* y, int64_t count, int64_t period,
                               Dropping dropping) {
  const RandomSource& random = dropping.random;
  const uint64_t stream = random.stream();
  for (int64_t first = 4 * first_element(); first < count; first += 4 * element_stride()) {
    const int64_t place = first % period;
    const bool together = place % 4 == 0 && place + 4 <= period;
    RandomBits bits = {};
    if (together) bits = philox(random.seed, stream, static_cast<uint64_t>(place / 4));
    for (int k = 0; k < 4 && first + k < count; ++k) {
      const int64_t i = first + k;
      const uint32_t word =
          together ? bits.word[k] : random_word(random.seed, stream, static_cast<uint64_t>(i % period));
      const bool passes = dropping.keeps(word) && (gate == nullptr || load(gate + i) > 0.0f);
      const float value = passes ? load(x + i) * dropping.kept : 0.0f;
      store(y + i, base != nullptr ? load(base + i) + value : value);
    }
  }
}

// The same where packs are never cut apart: the period and the count are multiples of their size.
template <class T>
__global__ void packed_dropout_kernel(const T* x, const T* gate, const T* base, T* y, int64_t count, int64_t period,
                                      Dropping dropping) {
  for (int64_t i = kPack * first_element(); i < count; i += kPack * element_stride()) {
    const Pack<T> from = load_pack(x + i);
    Pack<T> to = {};
    if (base != nullptr) to = load_pack(base + i);
    Pack<T> gates = from;
    if (gate != nullptr && gate != x) gates = load_pack(gate + i);
    float factors[kPack];
    dropping.find(factors, period == count ? i : i % period);
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      const bool passes = gate == nullptr || load(gates.x + k) > 0.0f;
      const float value = passes ? kept_of(load(from.x + k), factors[k]) : 0.0f;
      store(to.x + k, base != nullptr ? load(to.x + k) + value : value);
    }
    store_pack(y + i, to);
  }
}

// ---- rotary ------------------------------------------------------------------------------------

// One thread a pair.
template <class T>
__global__ void rotary_kernel(const T* x, T* y, int64_t pairs, int64_t rows, int64_t heads, int64_t depth,
                              int64_t position, int64_t stride, bool back, bool accumulate) {
  const int64_t half = depth / 2;
  for (int64_t k = first_element(); k < pairs; k += element_stride()) {
    const int64_t i = k % half, head = k / half;  // of T*B*H
    const int64_t t = head / (rows * heads), low = head * depth + i, high = low + half;
    const Turn turn = rotary_turn(position + t * stride, i, depth, back);
    const float c = static_cast<float>(turn.cosine), s = static_cast<float>(turn.sine);
    const float a = load(x + low), b = load(x + high);
    const float new_low = a * c - b * s, new_high = a * s + b * c;
    store(y + low, accumulate ? load(y + low) + new_low : new_low);
    store(y + high, accumulate ? load(y + high) + new_high : new_high);
  }
}

}  // namespace

void concat(Stream& stream, const ConcatArgs& args) {
  move_pieces<true>(stream, args.pieces, args.joined, args.outer, args.accumulate);
}

void split(Stream& stream, const SplitArgs& args) {
  move_pieces<false>(stream, args.pieces, args.joined, args.outer, args.accumulate);
}

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

void dropout(Stream& stream, const DropoutArgs& args) {
  const int64_t count = args.x.size(), period = args.period > 0 ? args.period : count;
  with_type_of(args.x, [&]<class T>(T) {
    const T* base = args.accumulate ? args.y.data<T>() : args.base.data<T>();
    with_pack(std::gcd(count, period), {args.x.raw(), args.gate.raw(), base, args.y.raw()}, [&](auto pack) {
      constexpr bool kPacked = decltype(pack)::value == kPack;
      launch(stream, kPacked ? packed_dropout_kernel<T> : dropout_kernel<T>,
             elements_grid(ceil_div(count, kPacked ? kPack : 4)), args.x.data<T>(), args.gate.data<T>(), base,
             args.y.data<T>(), count, period, Dropping(args.rate, args.random));
    });
  });
}

void rotary(Stream& stream, const RotaryArgs& args) {
  const int64_t pairs = args.x.size() / 2, depth = args.x.dim(2) / args.heads;
  with_type_of(args.x, [&]<class T>(T) {
    launch(stream, rotary_kernel<T>, elements_grid(pairs), args.x.data<T>(), args.y.data<T>(), pairs, args.x.dim(1),
           args.heads, depth, args.position, args.stride, args.back, args.accumulate);
  });
}

}  // namespace fovea::cuda
