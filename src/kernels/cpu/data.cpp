// Moving data: joining and splitting columns, rows of an embedding table and their gradient.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/data.cpp"
#include <cstring>

#include "kernels/cpu/blocks.h"
#include "kernels/cpu/functions.h"
#include "kernels/cpu/simd.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

// n elements of `to` from element `to_at` become, or grow by, those of `from`.
struct Move {
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

// Calls body(piece, first element in the piece, first element in the joined, n) for every block of the pieces
// that are given.
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
    Move{piece, args.joined, args.accumulate}(at, joined_at, n);
  });
}

void split(const SplitArgs& args) {
  each_block_of_pieces(args.pieces, args.outer, [&](const Tensor& piece, int64_t at, int64_t joined_at, int64_t n) {
    Move{args.joined, piece, args.accumulate}(joined_at, at, n);
  });
}

void embedding(const EmbeddingArgs& args) {
  const int64_t rows = args.ids.size(), width = args.table.dim(-1), height = args.table.dim(0) / args.tables;
  const int32_t* ids = args.ids.data<int32_t>();
  const Floats scale(args.scale);
  with_type_of(args.y, [&]<class Y>(Y) {
    with_type_of(args.table, [&]<class P>(P) {
      each_block(args.tables * rows, width, [&](int64_t row, int64_t begin, int64_t end) {
        const P* from = args.table.data<P>() + (row / rows * height + ids[row % rows]) * width;
        Y* to = args.y.data<Y>() + row * width;
        each_register(begin, end, [&](int64_t i, auto lanes) { store(load(from + i, lanes) * scale, to + i, lanes); });
      });
    });
  });
}

// Threads share the columns, not the ids, so that each row of the table is added to in the order of the ids.
void embedding_grad(const EmbeddingGradArgs& args) {
  if (!args.dtable) return;
  constexpr int64_t kColumns = 16;
  const int64_t rows = args.ids.size(), width = args.dtable.dim(-1);
  const int32_t* ids = args.ids.data<int32_t>();
  const Floats scale(args.scale);
  const int64_t grain = kGrain / std::clamp<int64_t>(rows * kColumns, 1, kGrain);
  with_type_of(args.dy, [&]<class T>(T) {
    with_type_of(args.dtable, [&]<class P>(P) {
      parallel_for(divide_up(width, kColumns), grain, [&](int64_t first, int64_t last) {
        const int64_t begin = first * kColumns, end = std::min(width, last * kColumns);
        for (int64_t row = 0; row < rows; ++row) {
          const T* from = args.dy.data<T>() + row * width;
          P* to = args.dtable.data<P>() + ids[row] * width;
          each_register(begin, end, [&](int64_t i, auto lanes) {
            store(mul_add(load(from + i, lanes), scale, load(to + i, lanes)), to + i, lanes);
          });
        }
      });
    });
  });
}

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {
FOVEA_DISPATCH(concat, ConcatArgs)
FOVEA_DISPATCH(split, SplitArgs)
FOVEA_DISPATCH(embedding, EmbeddingArgs)
FOVEA_DISPATCH(embedding_grad, EmbeddingGradArgs)
}  // namespace fovea::cpu
#endif
