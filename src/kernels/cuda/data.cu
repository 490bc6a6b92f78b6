// Moving data: joining and splitting columns, rows of an embedding table, dropout, rotary positions.
#include <algorithm>
#include <numeric>

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

constexpr int kScan = 128;  // threads, and ids looked at together

// Which of kScan ids are `id`, a bit each. All threads of the block must call.
struct Matches {
  unsigned words[kScan / kWarp];
};
__device__ Matches matches(const int32_t* ids, int64_t begin, int64_t count, int32_t id) {
  __shared__ unsigned words[kScan / kWarp];
  const int64_t i = begin + threadIdx.x;
  const unsigned word = __ballot_sync(0xFFFFFFFFu, i < count && ids[i] == id);
  __syncthreads();  // the last ones have been read
  if (threadIdx.x % kWarp == 0) words[threadIdx.x / kWarp] = word;
  __syncthreads();
  Matches found;
  for (int w = 0; w < kScan / kWarp; ++w) found.words[w] = words[w];
  return found;
}

// A block for each row of the table, or, when the ids are fewer, for each id that is the first of its kind: it
// finds the rows of dy that were read from there and adds them in their order.
template <class T, class D>
__global__ void embedding_grad_kernel(const int32_t* ids, const T* dy, D* dtable, int64_t count, int64_t width,
                                      float scale, bool by_table) {
  const int64_t own = blockIdx.x;
  const int32_t id = by_table ? static_cast<int32_t>(own) : ids[own];
  for (int64_t begin = 0; !by_table && begin < own; begin += kScan) {
    const Matches before = matches(ids, begin, own, id);
    unsigned any = 0;
    for (const unsigned word : before.words) any |= word;
    if (any != 0) return;
  }
  for (int64_t begin = by_table ? 0 : own / kScan * kScan; begin < count; begin += kScan) {
    const Matches found = matches(ids, begin, count, id);
    unsigned any = 0;
    for (const unsigned word : found.words) any |= word;
    if (any == 0) continue;
    for (int64_t column = threadIdx.x; column < width; column += kScan) {
      float sum = 0.0f;
      for (int w = 0; w < kScan / kWarp; ++w) {
        for (unsigned left = found.words[w]; left != 0; left &= left - 1) {
          const int64_t row = begin + w * kWarp + __ffs(static_cast<int>(left)) - 1;
          sum += load(dy + row * width + column);
        }
      }
      add(dtable + id * width + column, scale * sum);
    }
  }
}

// ---- dropout -----------------------------------------------------------------------------------

struct Dropping {
  uint32_t threshold;  // 0: nothing is drawn
  float kept;
  explicit Dropping(const DropoutArgs& args)
      : threshold(args.random.step ? drop_threshold(args.rate) : 0), kept(1.0f / (1.0f - args.rate)) {}
};

// y = base + what is kept of x; base may be y, or null for nothing, and gate null for no gate.
// Four elements a thread: they share a block of random words where the period does not cut them apart.
template <class T>
__global__ void dropout_kernel(const T* x, const T* gate, const T* base, T* y, int64_t count, int64_t period,
                               Dropping dropping, RandomSource random) {
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
      const bool passes = word >= dropping.threshold && (gate == nullptr || load(gate + i) > 0.0f);
      const float value = passes ? load(x + i) * dropping.kept : 0.0f;
      store(y + i, base != nullptr ? load(base + i) + value : value);
    }
  }
}

// The same where packs are never cut apart: the period and the count are multiples of their size.
template <class T>
__global__ void packed_dropout_kernel(const T* x, const T* gate, const T* base, T* y, int64_t count, int64_t period,
                                      Dropping dropping, RandomSource random) {
  const uint64_t stream = random.stream();
  for (int64_t i = kPack * first_element(); i < count; i += kPack * element_stride()) {
    const auto place = static_cast<uint64_t>(period == count ? i : i % period) / 4;
    RandomBits bits[2] = {};
    if (dropping.threshold > 0) {
      bits[0] = philox(random.seed, stream, place);
      bits[1] = philox(random.seed, stream, place + 1);
    }
    const Pack<T> from = load_pack(x + i);
    Pack<T> to = {};
    if (base != nullptr) to = load_pack(base + i);
    Pack<T> gates = from;
    if (gate != nullptr && gate != x) gates = load_pack(gate + i);
    for (int k = 0; k < kPack; ++k) {
      const bool passes =
          bits[k / 4].word[k % 4] >= dropping.threshold && (gate == nullptr || load(gates.x + k) > 0.0f);
      const float value = passes ? load(from.x + k) * dropping.kept : 0.0f;
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
      launch(stream, embedding_grad_kernel<T, D>, grid, args.ids.data<int32_t>(), args.dy.data<T>(),
             args.dtable.data<D>(), count, width, args.scale, by_table);
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
             args.y.data<T>(), count, period, Dropping(args), RandomSource(args.random));
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
