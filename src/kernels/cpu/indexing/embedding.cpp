// Embedding lookup and its gradient.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/indexing/embedding.cpp"
#include "kernels/cpu/common/parallel_blocks.h"
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/functions.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

// A table in 8 bits: only the rows that are looked up become f32.
void quantised_embedding(const EmbeddingArgs& args) {
  const int64_t rows = args.ids.size(), width = args.table.dim(-1);
  const int32_t* ids = args.ids.data<int32_t>();
  with_type_of(args.y, [&]<class Y>(Y) {
    for (int64_t row = 0; row < rows; ++row) {
      const QuantisedRow from = args.table.quantised_row(ids[row] * width, width);
      Y* to = args.y.data<Y>() + row * width;
      for (int64_t i = 0; i < width; ++i) to[i] = Y(from.scale * static_cast<float>(from.values[i]) * args.scale);
    }
  });
}

void embedding(const EmbeddingArgs& args) {
  const int64_t rows = args.ids.size(), width = args.table.dim(-1), height = args.table.dim(0) / args.tables;
  const int32_t* ids = args.ids.data<int32_t>();
  if (args.tables == 1 && args.table.quantised_row(0, width)) return quantised_embedding(args);
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

// Threads divide the columns, not the ids, so that each row of the table is accumulated in the order of the ids.
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
FOVEA_DISPATCH(embedding, EmbeddingArgs)
FOVEA_DISPATCH(embedding_grad, EmbeddingGradArgs)
}  // namespace fovea::cpu
#endif
