// Concatenation of blocks of columns, and the inverse operation.
#include <algorithm>

#include "kernels/cuda/common/device_primitives.h"
#include "kernels/cuda/functions.h"

namespace fovea::cuda {

namespace {

// The pieces of one launch, which are passed as kernel parameters.
struct Pieces {
  static constexpr int kMax = 64;
  void* data[kMax];
  int64_t begin[kMax], width[kMax];
  int count = 0;
  bool packed = true;  // all pieces start and end at multiples of a pack
};

template <bool kConcat, int kCount, class T>
__global__ void pieces_kernel(const __grid_constant__ Pieces pieces, T* joined, int64_t outer, int64_t total,
                              bool accumulate) {
  T* part = static_cast<T*>(pieces.data[blockIdx.y]);
  const int64_t begin = pieces.begin[blockIdx.y], width = pieces.width[blockIdx.y];
  for (int64_t k = kCount * first_element(); k < outer * width; k += kCount * element_stride()) {
    const int64_t whole = outer == 1 ? begin + k : k / width * total + begin + k % width;
    const T* from = kConcat ? part + k : joined + whole;
    T* to = kConcat ? joined + whole : part + k;
    Pack<T, kCount> pack = load_pack<kCount>(from);
    if (accumulate) {
      const Pack<T, kCount> before = load_pack<kCount>(to);
      for (int i = 0; i < kCount; ++i) add(pack.x + i, load(before.x + i));
    }
    store_pack(to, pack);
  }
}

template <bool kConcat>
void move_pieces(Stream& stream, std::span<const Piece> pieces, const Tensor& joined, int64_t outer, bool accumulate) {
  int64_t total = 0, begin = 0;
  for (const Piece& piece : pieces) total += piece.width;
  with_type_of(joined, [&]<class T>(T) {
    Pieces batch;
    int64_t widest = 0;
    const auto flush = [&] {
      if (batch.count == 0) return;
      Grid grid = elements_grid(outer * widest);
      grid.blocks.y = static_cast<unsigned>(batch.count);
      const bool packed = batch.packed && total % kPack == 0 && is_packed(joined.raw());
      if (packed) grid.blocks.x = elements_grid(outer * widest / kPack).blocks.x;
      launch(stream, packed ? pieces_kernel<kConcat, kPack, T> : pieces_kernel<kConcat, 1, T>, grid, batch,
             joined.data<T>(), outer, total, accumulate);
      batch.count = 0;
      batch.packed = true;
      widest = 0;
    };
    for (const Piece& piece : pieces) {
      if (piece.tensor && piece.width > 0) {
        // Two pieces may accumulate into the same tensor, so they must not be part of the same launch.
        if (std::count(batch.data, batch.data + batch.count, piece.tensor.data<T>()) > 0) flush();
        batch.data[batch.count] = piece.tensor.data<T>();
        batch.begin[batch.count] = begin;
        batch.width[batch.count++] = piece.width;
        batch.packed = batch.packed && begin % kPack == 0 && piece.width % kPack == 0 && is_packed(piece.tensor.raw());
        widest = std::max(widest, piece.width);
        if (batch.count == Pieces::kMax) flush();
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
