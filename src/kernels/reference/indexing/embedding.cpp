// Embedding lookup and its gradient.
#include "kernels/reference/common/elements.h"
#include "kernels/reference/functions.h"

namespace fovea::reference {

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

}  // namespace fovea::reference
