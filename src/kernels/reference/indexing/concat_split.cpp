// Concatenation of blocks of columns, and the inverse operation.
#include "kernels/reference/common/elements.h"
#include "kernels/reference/functions.h"

namespace fovea::reference {

namespace {

// Calls body(element of the piece, element of the concatenated tensor) for each element of the pieces that have a
// tensor.
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

}  // namespace fovea::reference
