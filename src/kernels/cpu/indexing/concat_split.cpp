// Concatenation of blocks of columns, and the inverse operation.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/indexing/concat_split.cpp"
#include <cstring>

#include "kernels/cpu/common/parallel_blocks.h"
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/functions.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

// Copies or adds n elements of `from`, starting at `from_at`, to `to`, starting at `to_at`.
struct CopyElements {
  const Tensor &from, &to;
  bool accumulate;

  void operator()(int64_t from_at, int64_t to_at, int64_t n) const {
    if (!accumulate) {
      const auto size = static_cast<int64_t>(size_of(to.dtype()));
      std::memcpy(to.raw() + to_at * size, from.raw() + from_at * size, static_cast<size_t>(n * size));
      return;
    }
    with_type_of(to, [&]<class T>(T) {
      const T* x = from.data<T>() + from_at;
      T* y = to.data<T>() + to_at;
      each_register(n, [&](int64_t i, auto lanes) { store(load(y + i, lanes) + load(x + i, lanes), y + i, lanes); });
    });
  }
};

// Calls body(piece, first element in the piece, first element in the concatenated tensor, n) for each block of the
// pieces that have a tensor.
template <class Body> void each_block_of_pieces(std::span<const Piece> pieces, int64_t outer, Body&& body) {
  int64_t total = 0, first = 0;
  for (const Piece& piece : pieces) total += piece.width;
  for (const Piece& piece : pieces) {
    if (piece.tensor) {
      each_block(outer, piece.width, [&](int64_t row, int64_t begin, int64_t end) {
        body(piece.tensor, row * piece.width + begin, row * total + first + begin, end - begin);
      });
    }
    first += piece.width;
  }
}

void concat(const ConcatArgs& args) {
  each_block_of_pieces(args.pieces, args.outer, [&](const Tensor& piece, int64_t at, int64_t joined_at, int64_t n) {
    CopyElements{piece, args.joined, args.accumulate}(at, joined_at, n);
  });
}

void split(const SplitArgs& args) {
  each_block_of_pieces(args.pieces, args.outer, [&](const Tensor& piece, int64_t at, int64_t joined_at, int64_t n) {
    CopyElements{args.joined, piece, args.accumulate}(joined_at, at, n);
  });
}

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {
FOVEA_DISPATCH(concat, ConcatArgs)
FOVEA_DISPATCH(split, SplitArgs)
}  // namespace fovea::cpu
#endif
