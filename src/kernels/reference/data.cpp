// Moving data: joining and splitting columns, rows of an embedding table, dropout.
#include "kernels/reference/dropout.h"
#include "kernels/reference/elements.h"
#include "kernels/reference/functions.h"

namespace fovea::reference {

namespace {

// Calls body(of the piece, of the joined row) for every element of the pieces that are given.
template <class T, class Body>
void for_each_joined(std::span<const Piece> pieces, const Tensor& joined, int64_t outer, Body body) {
  int64_t total = 0, begin = 0;
  for (const Piece& piece : pieces) total += piece.width;
  const auto whole = view<T>(joined, outer, total);
  for (const Piece& piece : pieces) {
    const auto part = view<T>(piece.tensor, outer, piece.width);
    for (int64_t o = 0; part && o < outer; ++o)
      for (int64_t i = 0; i < piece.width; ++i) body(part(o, i), whole(o, begin + i));
    begin += piece.width;
  }
}

}  // namespace

void concat(Stream&, const ConcatArgs& args) {
  with_type_of(args.joined, [&]<class T>(T) {
    for_each_joined<T>(args.pieces, args.joined, args.outer,
                       [&](T& part, T& whole) { whole = args.accumulate ? whole + part : part; });
  });
}

void split(Stream&, const SplitArgs& args) {
  with_type_of(args.joined, [&]<class T>(T) {
    for_each_joined<T>(args.pieces, args.joined, args.outer,
                       [&](T& part, T& whole) { part = args.accumulate ? part + whole : whole; });
  });
}

void embedding(Stream&, const EmbeddingArgs& args) {
  const int64_t rows = args.ids.size(), width = args.table.dim(-1), height = args.table.dim(0) / args.tables;
  with_type_of(args.table, [&]<class T>(T) {
    const auto table = view<T>(args.table, args.tables, height, width), y = view<T>(args.y, args.tables, rows, width);
    const auto ids = view<int32_t>(args.ids, rows);
    for (int64_t k = 0; k < args.tables; ++k)
      for (int64_t n = 0; n < rows; ++n)
        for (int64_t i = 0; i < width; ++i) y(k, n, i) = static_cast<T>(args.scale) * table(k, ids(n), i);
  });
}

void embedding_grad(Stream&, const EmbeddingGradArgs& args) {
  if (!args.dtable) return;
  const int64_t rows = args.ids.size(), width = args.dtable.dim(-1);
  with_type_of(args.dtable, [&]<class T>(T) {
    const auto dtable = view<T>(args.dtable, args.dtable.dim(0), width), dy = view<T>(args.dy, rows, width);
    const auto ids = view<int32_t>(args.ids, rows);
    for (int64_t n = 0; n < rows; ++n)
      for (int64_t i = 0; i < width; ++i) dtable(ids(n), i) += static_cast<T>(args.scale) * dy(n, i);
  });
}

void dropout(Stream&, const DropoutArgs& args) {
  with_type_of(args.x, [&]<class T>(T) {
    const DropoutFactor<T> factor(args.rate, args.random);
    const T *x = args.x.data<T>(), *base = args.base.data<T>(), *gate = args.gate.data<T>();
    T* y = args.y.data<T>();
    const int64_t size = args.x.size(), period = args.period > 0 ? args.period : size;
    for (int64_t i = 0; i < size; ++i) {
      const T kept = gate == nullptr || gate[i] > 0 ? x[i] * factor(i % period) : T(0);
      y[i] = args.accumulate ? y[i] + kept : base != nullptr ? base[i] + kept : kept;
    }
  });
}

}  // namespace fovea::reference
