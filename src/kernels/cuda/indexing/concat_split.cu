// Concatenation of column blocks, and its inverse.
#include <algorithm>

#include "kernels/cuda/common/device_primitives.h"
#include "kernels/cuda/functions.h"

namespace fovea::cuda {

namespace {

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

}  // namespace

void concat(Stream& stream, const ConcatArgs& args) {
  move_pieces<true>(stream, args.pieces, args.joined, args.outer, args.accumulate);
}

void split(Stream& stream, const SplitArgs& args) {
  move_pieces<false>(stream, args.pieces, args.joined, args.outer, args.accumulate);
}

}  // namespace fovea::cuda
